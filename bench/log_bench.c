/*
 * Makes runs whose claim this program holds for an hour, so that no worker
 * drives them, and fills their logs.
 *
 *     log_bench REDIS_PORT SCRIPTS PREFIX TENANT FIRST COUNT EVENTS
 *
 * Runs bench-<FIRST>, bench-<FIRST + 1>, ... get EVENTS chunks each, the last
 * of which holds "tok-<EVENTS - 1> ".
 */

#include "lib/bench_log.h"

#include <stdio.h>
#include <stdlib.h>


int
main(int argc, char **argv)
{
    char           accept[48], path[1024], run[64], json[512], text[64];
    size_t         len;
    unsigned       first, count, events, i, j;
    bench_log_t    log;
    bench_conn_t  *redis;

    static char    out[4096];

    if (argc != 8) {
        bench_die("usage: log_bench REDIS_PORT SCRIPTS PREFIX TENANT FIRST COUNT EVENTS");
    }

    redis = bench_open(atoi(argv[1]));
    snprintf(path, sizeof(path), "%s/accept-3.lua", argv[2]);
    bench_log_script(redis, path, accept);
    snprintf(path, sizeof(path), "%s/append_chunks-2.lua", argv[2]);

    first = (unsigned) atoi(argv[5]);
    count = (unsigned) atoi(argv[6]);
    events = (unsigned) atoi(argv[7]);

    for (i = first; i < first + count; i++) {
        snprintf(run, sizeof(run), "bench-%u", i);
        bench_log_accept(redis, accept, argv[3], argv[4], run);

        if (events == 0) {
            continue;
        }

        bench_log_open(&log, redis, path, argv[3], argv[4], run);

        for (j = 0; j < events; j++) {
            snprintf(json, sizeof(json), "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"timestamp\":1795963613505,"
                     "\"messageId\":\"msg_01XR8JIMo46jxsoxUqn0jHW2-0\",\"delta\":\"tok-%06u \"}", j);

            len = bench_log_append(&log, json, out, sizeof(out));
            bench_write(redis->fd, out, len);
            bench_redis_reply(redis, text, sizeof(text));
        }
    }

    return 0;
}
