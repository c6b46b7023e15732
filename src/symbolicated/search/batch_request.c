/*
 * Copyright (C) the ngx_symcache authors
 */
#include "batch_request.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/percent.h"
#include "derived/derived.h"

#define LINE_MAX_BYTES 128 /* a longer one is nothing that symcached sends */

/* symcached answers in time, or else it hangs. */
#define PATIENCE_SECONDS 10

struct batch_request {
    struct symcached_client *client;
    batch_fn fn;
    void *arg;
    size_t open; /* keys that are not answered yet */
    size_t n;
    bool is_answered[BATCH_KEYS_MAX];
};

/* Gives all keys that are not answered yet the same answer. */
static void end_batch(struct batch_request *ask, struct batch_reply *replies,
                      size_t n, enum batch_answer answer)
{
    batch_fn fn = ask->fn;
    void *arg = ask->arg;
    size_t i;

    for (i = 0; i < ask->n; i++) {
        if (!ask->is_answered[i]) {
            replies[n++] = (struct batch_reply){.i = i, .answer = answer};
        }
    }
    batch_cancel(ask);
    fn(arg, replies, n, true);
}

static enum batch_answer judge_batch_status(unsigned status,
                                            const char *reason)
{
    switch (status) {
    case 200:
        return BATCH_FOUND;
    case 202:
        return BATCH_PENDING;
    case 304: /* nothing that is made here is in the open format */
    case 400: /* nor is there a file of such a key */
        return BATCH_ABSENT;
    case 404:
        return strcmp(reason, "malformed") == 0      ? BATCH_MALFORMED
               : strcmp(reason, "wrong-format") == 0 ? BATCH_UNSUPPORTED
                                                     : BATCH_ABSENT;
    default:
        return BATCH_FAILED;
    }
}

/* Reads "I STATUS SECONDS[ REASON]".  Returns false if it is not that, or is
 * about no key that is open. */
static bool read_batch_line(struct batch_request *ask, const char *line,
                            struct batch_reply *reply)
{
    char reason[LINE_MAX_BYTES + 1] = "";
    unsigned i, status, seconds;

    if (sscanf(line, "%4u %3u %9u %128s", &i, &status, &seconds, reason) < 3 ||
        i >= ask->n || ask->is_answered[i]) {
        return false;
    }
    ask->is_answered[i] = true;
    ask->open--;
    reply->i = i;
    reply->answer = judge_batch_status(status, reason);
    reply->valid = seconds;
    reply->status = status;
    snprintf(reply->reason, sizeof(reply->reason), "%s", reason);
    return true;
}

/* Reads the lines that have come.  Returns false if one is none. */
static bool read_batch_lines(struct batch_request *ask, struct evbuffer *in,
                             struct batch_reply *replies, size_t *n)
{
    bool is_good = true;
    char *line;

    while (is_good && ask->open > 0 &&
           (line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF)) != NULL) {
        is_good = read_batch_line(ask, line, &replies[*n]);
        *n += is_good;
        free(line);
    }
    return is_good &&
           (ask->open == 0 || evbuffer_get_length(in) <= LINE_MAX_BYTES);
}

static void on_batch_news(void *arg, enum symcached_client_news news,
                          struct evbuffer *body)
{
    struct batch_reply replies[BATCH_KEYS_MAX];
    struct batch_request *ask = arg;
    bool is_good = true;
    size_t n = 0;

    if (body != NULL) {
        is_good = read_batch_lines(ask, body, replies, &n);
    }
    if (news != EXCHANGE_BODY || !is_good || ask->open == 0) {
        end_batch(ask, replies, n,
                  news == EXCHANGE_NOBODY ? BATCH_NOBODY : BATCH_FAILED);
    } else if (n > 0) {
        ask->fn(ask->arg, replies, n, false);
    }
}

/* The versions that the readers of a kind know, as a query. */
static int add_batch_versions(struct evbuffer *body, symcache_kind_e kind)
{
    const struct derived_type *type = derived_type(kind);
    char text[SYMCACHE_VERSION_TEXT_MAX + 1];
    int rc;

    symcache_version_print(text, &type->newest);
    rc = evbuffer_add_printf(body, "?version=%s", text);
    if (rc >= 0 && type->oldest.major > 1) {
        rc = evbuffer_add_printf(body, "&exceeds=%u.65535.65535",
                                 type->oldest.major - 1u);
    }
    return rc;
}

/* Returns less than 0 without memory. */
static int add_batch_line(struct evbuffer *body, const struct batch_key *k)
{
    char plain[SYMCACHE_NAME_MAX + 1], encoded[3 * SYMCACHE_NAME_MAX + 1];
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    int rc;

    snprintf(plain, sizeof(plain), "%.*s", (int)k->name_size, k->name);
    percent_encode(encoded, plain);
    symcache_id_print(id, k->key);
    rc = evbuffer_add_printf(
        body, "/v1/%s/%s/%s/%s",
        symcache_kind_text((symcache_kind_e)k->key->kind), k->store, encoded,
        id);
    if (rc >= 0) {
        rc = add_batch_versions(body, (symcache_kind_e)k->key->kind);
    }
    if (rc >= 0 && k->hints != NULL) {
        rc = evbuffer_add_printf(body, "&%s", k->hints);
    }
    return rc < 0 ? rc : evbuffer_add(body, "\n", 1);
}

static struct symcached_client *send_batch_question(
    struct event_base *base, const struct symcached_client_address *address,
    struct batch_request *ask, const struct batch_key *keys, unsigned wait)
{
    struct evbuffer *body = evbuffer_new();
    struct symcached_client *client = NULL;
    int rc = body != NULL ? 0 : -1;
    char line[128];
    size_t i;

    for (i = 0; i < ask->n && rc >= 0; i++) {
        rc = add_batch_line(body, &keys[i]);
    }
    if (rc >= 0) {
        snprintf(line, sizeof(line), "POST /v1/lookups?wait=%u", wait);
        client = symcached_client_start(base, address, line, body,
                                        wait + PATIENCE_SECONDS, on_batch_news,
                                        ask);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
    return client;
}

struct batch_request *
batch_start(struct event_base *base,
            const struct symcached_client_address *address,
            const struct batch_key *keys, size_t n, unsigned wait, batch_fn fn,
            void *arg)
{
    struct batch_request *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    ask->n = ask->open = n;
    ask->fn = fn;
    ask->arg = arg;
    ask->client = send_batch_question(base, address, ask, keys, wait);
    if (ask->client == NULL) {
        batch_cancel(ask);
        return NULL;
    }
    return ask;
}

void batch_cancel(struct batch_request *ask)
{
    symcached_client_free(ask->client);
    free(ask);
}
