/* Redis' own messages, nchan, an event log and a journal, as one thing. */

#include "bench_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define UUID  "74fe0f20-ae84-4c5f-b0d5-1c5e8e2f3a10"


static void
event_json(unsigned i, char *out, size_t size)
{
    snprintf(out, size, "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"timestamp\":1795963613505,"
             "\"messageId\":\"msg_01XR8JIMo46jxsoxUqn0jHW2-0\",\"delta\":\"tok-%06u \"}", i);
}


static size_t
print_pubsub(bench_target_t *t, unsigned i, char *out, size_t size)
{
    char         json[512];
    const char  *argv[3];

    (void) t;

    event_json(i, json, sizeof(json));
    argv[0] = "PUBLISH";
    argv[1] = "bench";
    argv[2] = json;

    return bench_redis_print(out, size, 3, argv);
}


static size_t
print_nchan(bench_target_t *t, unsigned i, char *out, size_t size)
{
    char  json[512];

    event_json(i, json, sizeof(json));

    return (size_t) snprintf(out, size, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             "Content-Length: %zu\r\n\r\n%s", t->publish_uri, strlen(json), json);
}


static size_t
print_log(bench_target_t *t, unsigned i, char *out, size_t size)
{
    char  json[512];

    event_json(i, json, sizeof(json));

    return bench_log_append(&t->log, json, out, size);
}


static size_t
print_journal(bench_target_t *t, unsigned i, char *out, size_t size)
{
    (void) t;

    return (size_t) snprintf(out, size,
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{\"type\":\"text_delta\",\"text\":\"tok-%06u \"}},\"session_id\":\"" UUID "\",\"parent_tool_use_id\":null,"
        "\"uuid\":\"" UUID "\",\"api_message_id\":\"msg_01XR8JIMo46jxsoxUqn0jHW2\"}\n", i);
}


static bench_conn_t *
view_pubsub(bench_target_t *t)
{
    const char    *argv[2];
    bench_conn_t  *c;

    c = bench_open(t->port);

    argv[0] = "SUBSCRIBE";
    argv[1] = "bench";
    bench_redis(c, NULL, 0, 2, argv);

    return c;
}


static bench_conn_t *
view_bare(bench_target_t *t)
{
    const char    *argv[2];
    bench_conn_t  *c;

    c = bench_open(t->port);

    argv[0] = "SUBSCRIBE";
    argv[1] = t->log.channel;
    bench_redis(c, NULL, 0, 2, argv);

    return c;
}


static void
await_bare(bench_target_t *t, bench_conn_t *viewer, const char *marker)
{
    char         from[32];
    size_t       len;
    const char  *argv[8];

    static char  out[1024];

    bench_await(viewer, "more ");

    snprintf(from, sizeof(from), "%llu-0", (unsigned long long) t->log.n);

    argv[0] = "EVALSHA";
    argv[1] = t->read_script;
    argv[2] = "2";
    argv[3] = t->log.rec;
    argv[4] = t->log.log;
    argv[5] = from;
    argv[6] = "1000";
    argv[7] = "1048576";

    len = bench_redis_print(out, sizeof(out), 8, argv);
    bench_write(t->reader->fd, out, len);
    bench_await(t->reader, marker);
}


static bench_conn_t *
view_nchan(bench_target_t *t)
{
    bench_conn_t  *c;

    c = bench_open(t->port);
    bench_get(c, t->view_uri);

    return c;
}


static bench_conn_t *
view_run(bench_target_t *t)
{
    bench_conn_t  *c;

    c = bench_open(t->port);
    bench_get(c, t->view_uri);
    bench_await(c, "RUN_STARTED");

    return c;
}


static void
open_pubsub(bench_target_t *t, char **field)
{
    t->port = atoi(field[0]);
    t->print = print_pubsub;
    t->view = view_pubsub;
    t->reply = bench_open(t->port);
    t->to = t->reply->fd;
}


static void
open_nchan(bench_target_t *t, char **field)
{
    t->port = atoi(field[0]);
    t->publish_uri = field[1];
    t->view_uri = field[2];
    t->print = print_nchan;
    t->view = view_nchan;
    t->reply = bench_open(t->port);
    t->to = t->reply->fd;
    t->http = 1;
}


static void
open_log(bench_target_t *t, char **field)
{
    t->port = atoi(field[0]);
    t->view_uri = field[1];
    t->print = print_log;
    t->view = view_run;
    t->reply = bench_open(atoi(field[2]));
    t->to = t->reply->fd;
    bench_log_open(&t->log, t->reply, field[3], field[4], field[5], field[6]);
}


static void
open_bare(bench_target_t *t, char **field)
{
    t->port = atoi(field[0]);
    t->print = print_log;
    t->view = view_bare;
    t->await = await_bare;
    t->reply = bench_open(t->port);
    t->reader = bench_open(t->port);
    t->to = t->reply->fd;
    bench_log_script(t->reply, field[2], t->read_script);
    bench_log_open(&t->log, t->reply, field[1], field[3], field[4], field[5]);
}


static void
open_journal(bench_target_t *t, char **field)
{
    t->port = atoi(field[0]);
    t->view_uri = field[1];
    t->print = print_journal;
    t->view = view_run;
    t->to = open(field[2], O_WRONLY | O_APPEND | O_CLOEXEC);

    if (t->to == -1) {
        bench_die("cannot open %s: %s", field[2], strerror(errno));
    }
}


void
bench_target_open(bench_target_t *t, char *word)
{
    char      *field[10], *p;
    size_t     i, n;

    static const struct {
        const char  *kind;
        size_t       fields;
        void       (*open)(bench_target_t *t, char **field);
    }  kinds[] = {
        { "pubsub", 1, open_pubsub },
        { "nchan", 3, open_nchan },
        { "log", 7, open_log },
        { "bare", 6, open_bare },
        { "journal", 3, open_journal }
    };

    memset(t, 0, sizeof(bench_target_t));
    n = 0;

    for (p = strtok(word, "|"); p != NULL && n < 10; p = strtok(NULL, "|")) {
        field[n++] = p;
    }

    for (i = 0; n > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, field[1]) == 0 && n == kinds[i].fields + 2) {
            t->name = field[0];
            kinds[i].open(t, field + 2);
            return;
        }
    }

    bench_die("what target is this: %s", word);
}


bench_conn_t *
bench_target_view(bench_target_t *t)
{
    return t->view(t);
}


void
bench_target_prepare(bench_target_t *t, unsigned i)
{
    t->len = t->print(t, i, t->out, sizeof(t->out));
}


void
bench_target_send(bench_target_t *t)
{
    bench_write(t->to, t->out, t->len);
}


void
bench_target_await(bench_target_t *t, bench_conn_t *viewer, unsigned i)
{
    char  marker[32];

    snprintf(marker, sizeof(marker), "tok-%06u ", i);

    if (t->await) {
        t->await(t, viewer, marker);

    } else {
        bench_await(viewer, marker);
    }
}


void
bench_target_answer(bench_target_t *t)
{
    char  text[64];

    if (t->http) {
        bench_response(t->reply);

    } else if (t->reply) {
        bench_redis_reply(t->reply, text, sizeof(text));

        if (t->log.script[0] != '\0' && strcmp(text, "OK") != 0) {
            bench_die("the append was answered %s", text);
        }
    }
}
