/*
 * Fills an nchan channel: publish_bench PORT PUBLISH_URI EVENTS
 */

#include "lib/bench_target.h"

#include <stdio.h>
#include <stdlib.h>


int
main(int argc, char **argv)
{
    char      word[1024];
    unsigned  i, events;

    static bench_target_t  target;

    if (argc != 4) {
        bench_die("usage: publish_bench PORT PUBLISH_URI EVENTS");
    }

    snprintf(word, sizeof(word), "n|nchan|%s|%s|/", argv[1], argv[2]);
    bench_target_open(&target, word);
    events = (unsigned) atoi(argv[3]);

    for (i = 0; i < events; i++) {
        bench_target_prepare(&target, i);
        bench_target_send(&target);
        bench_target_answer(&target);
    }

    return 0;
}
