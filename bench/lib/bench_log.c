/* A driver's side of an event log, by the module's own scripts. */

#include "bench_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define BENCH_TOKEN  "bench"
#define BENCH_TTL    "3600000"


static void bench_log_names(bench_log_t *l, const char *prefix, const char *tenant, const char *run);
static void bench_log_chain(char *chain, size_t size, uint64_t n);


void
bench_log_script(bench_conn_t *redis, const char *path, char digest[48])
{
    char        *text;
    const char  *argv[3];

    text = bench_slurp(path);

    argv[0] = "SCRIPT";
    argv[1] = "LOAD";
    argv[2] = text;

    bench_redis(redis, digest, 48, 3, argv);
    free(text);
}


static void
bench_log_names(bench_log_t *l, const char *prefix, const char *tenant, const char *run)
{
    memset(l, 0, sizeof(bench_log_t));

    snprintf(l->rec, sizeof(l->rec), "%s%s:{r:%s}:rec", prefix, tenant, run);
    snprintf(l->log, sizeof(l->log), "%s%s:{r:%s}:log", prefix, tenant, run);
    snprintf(l->channel, sizeof(l->channel), "%s%s:n:%s", prefix, tenant, run);
}


void
bench_log_accept(bench_conn_t *redis, const char *digest, const char *prefix, const char *tenant, const char *run)
{
    char         started[1024], input[340], text[64];
    bench_log_t  l;
    const char  *argv[13];

    bench_log_names(&l, prefix, tenant, run);

    snprintf(input, sizeof(input), "%s%s:{r:%s}:input", prefix, tenant, run);
    snprintf(started, sizeof(started),
             "{\"type\":\"RUN_STARTED\",\"runId\":\"%s\",\"threadId\":\"bench\",\"timestamp\":1795963613505}", run);

    argv[0] = "EVALSHA";
    argv[1] = digest;
    argv[2] = "3";
    argv[3] = l.rec;
    argv[4] = l.log;
    argv[5] = input;
    argv[6] = BENCH_TOKEN;
    argv[7] = BENCH_TTL;
    argv[8] = l.channel;
    argv[9] = started;
    argv[10] = "";
    argv[11] = "threadId";
    argv[12] = "bench";

    bench_redis(redis, text, sizeof(text), 13, argv);

    if (strcmp(text, "OK") != 0) {
        bench_die("accept answered %s", text);
    }
}


void
bench_log_open(bench_log_t *l, bench_conn_t *redis, const char *path, const char *prefix, const char *tenant,
    const char *run)
{
    char         n[32];
    const char  *argv[3];

    bench_log_names(l, prefix, tenant, run);
    bench_log_script(redis, path, l->script);

    argv[0] = "HGET";
    argv[1] = l->rec;
    argv[2] = "n";
    bench_redis(redis, n, sizeof(n), 3, argv);

    l->n = strtoull(n, NULL, 10);

    argv[2] = "chain";
    bench_redis(redis, l->chain, sizeof(l->chain), 3, argv);

    if (l->n == 0 || l->chain[0] == '\0') {
        bench_die("there is no run %s", l->rec);
    }
}


/* the scripts compare chains, and never look at what they are made of */

static void
bench_log_chain(char *chain, size_t size, uint64_t n)
{
    snprintf(chain, size, "%064llu", (unsigned long long) n);
}


size_t
bench_log_append(bench_log_t *l, const char *json, char *out, size_t size)
{
    char         n[24], chain[72];
    size_t       len;
    const char  *argv[16];

    l->n++;
    snprintf(n, sizeof(n), "%llu", (unsigned long long) l->n);
    bench_log_chain(chain, sizeof(chain), l->n);

    argv[0] = "EVALSHA";
    argv[1] = l->script;
    argv[2] = "2";
    argv[3] = l->rec;
    argv[4] = l->log;
    argv[5] = BENCH_TOKEN;
    argv[6] = BENCH_TTL;
    argv[7] = l->channel;
    argv[8] = l->chain;
    argv[9] = chain;
    argv[10] = n;                   /* the position in a journal: grows, and nobody looks */
    argv[11] = n;
    argv[12] = n;
    argv[13] = "0";
    argv[14] = "0";
    argv[15] = json;

    len = bench_redis_print(out, size, 16, argv);
    memcpy(l->chain, chain, sizeof(chain));

    return len;
}
