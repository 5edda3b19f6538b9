/*
 * From "an event is given away" to "a viewer's socket has it".
 *
 *     latency_bench EVENTS GAP_US TARGET...       (targets: lib/bench_target.h)
 *
 * Each target gets EVENTS events, and the targets take turns event by event,
 * so that whatever else the machine does hits all of them alike.  The clock
 * starts before the write that gives the event away, and stops when the read
 * of the viewer's connection returns with it.  Prints for each target
 *
 *     <name> <p50 us> <p90 us> <p99 us>
 */

#include "lib/bench_target.h"

#include <stdio.h>
#include <stdlib.h>


#define TARGETS_MAX  16
#define WARM_UP      20             /* events that do not count */


static uint64_t
once(bench_target_t *t, bench_conn_t *viewer, unsigned i)
{
    uint64_t  start, taken;

    bench_target_prepare(t, i);

    start = bench_now();
    bench_target_send(t);
    bench_target_await(t, viewer, i);
    taken = bench_now() - start;

    bench_target_answer(t);

    return taken;
}


static void
report(const char *name, uint64_t *taken, unsigned n)
{
    qsort(taken, n, sizeof(uint64_t), bench_compare);

    printf("%s %.1f %.1f %.1f\n", name, (double) taken[n / 2] / 1e3, (double) taken[n * 9 / 10] / 1e3,
           (double) taken[n * 99 / 100] / 1e3);
}


int
main(int argc, char **argv)
{
    int            targets, j;
    unsigned       events, gap, i;
    uint64_t      *taken[TARGETS_MAX];
    bench_conn_t  *viewer[TARGETS_MAX];

    static bench_target_t  target[TARGETS_MAX];

    targets = argc - 3;

    if (targets < 1 || targets > TARGETS_MAX || (events = (unsigned) atoi(argv[1])) == 0) {
        bench_die("usage: latency_bench EVENTS GAP_US TARGET...");
    }

    gap = (unsigned) atoi(argv[2]);

    for (j = 0; j < targets; j++) {
        bench_target_open(&target[j], argv[j + 3]);
        viewer[j] = bench_target_view(&target[j]);
        taken[j] = calloc(events, sizeof(uint64_t));

        if (taken[j] == NULL) {
            bench_die("out of memory");
        }
    }

    for (i = 0; i < events + WARM_UP; i++) {
        for (j = 0; j < targets; j++) {
            bench_sleep_us(gap);
            taken[j][i < WARM_UP ? 0 : i - WARM_UP] = once(&target[j], viewer[j], i);
        }
    }

    for (j = 0; j < targets; j++) {
        report(target[j].name, taken[j], events);
    }

    return 0;
}
