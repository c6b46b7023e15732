/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fetch.h"

#include <stdlib.h>
#include <string.h>
#include "base/task.h"

#define SECONDS 2

struct renew {
    struct transport_config *transport; /* for the loop only */
    struct bucket_keys written;
    struct bucket_keys keys;
    bool read;
    char error[512];
    reload_keys_done_fn done;
    void *arg;
};

static void run(void *arg)
{
    struct renew *renew = arg;

    renew->read = config_keys_read(&renew->written, &renew->keys, renew->error,
                                   sizeof(renew->error)) == 0;
}

static void done(void *arg, bool late)
{
    struct renew *renew = arg;

    if (!late && renew->read) {
        config_keys_use(renew->transport, &renew->keys);
    }
    renew->done(renew->arg, late           ? "its file does not answer"
                            : !renew->read ? renew->error
                                           : NULL);
}

static void drop(void *arg)
{
    struct renew *renew = arg;

    config_keys_clear(&renew->written);
    config_keys_clear(&renew->keys);
    free(renew);
}

static const struct task_calls calls = {run, done, drop};

/* Files that are renewed one after the other give a new key with a former
 * secret or token for a moment, which stores call a wrong signature. */
bool reload_keys_help(const struct transport_config *transport,
                      const char *code)
{
    static const char *const codes[] = {
        "AccessDenied", /* Garage says so of unknown keys */
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "XAdminUserNotFound", /* versitygw */
    };
    size_t i;

    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (strcmp(code, codes[i]) == 0) {
            return transport->sigv4 != NULL;
        }
    }
    return false;
}

struct task *reload_keys_start(struct event_base *base,
                               struct transport_config *transport,
                               reload_keys_done_fn fn, void *arg)
{
    struct renew *renew = calloc(1, sizeof(*renew));
    size_t i;

    if (renew == NULL) {
        return NULL;
    }
    renew->transport = transport;
    renew->done = fn;
    renew->arg = arg;
    for (i = 0; i < TRANSPORT_WRITTEN; i++) {
        if (transport->written[i] != NULL) {
            renew->written.text[i] = strdup(transport->written[i]);
        }
    }
    return task_start(base, SECONDS, &calls, renew);
}
