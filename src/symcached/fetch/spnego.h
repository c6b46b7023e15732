/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes the header that authenticates us to a server by Kerberos (RFC 4559).
 * GSS-API waits for the KDC, for DNS and for locks of credential caches, so it
 * runs in a child process and never in the helper.
 */
#pragma once

#include <stdbool.h>

struct event_base;
struct spnego;

struct spnego_result {
    char *header;       /* value of Authorization for one request; a secret */
    const char *detail; /* one line of reason if there is no header */
    bool timed_out;
};

/* The struct spnego does not exist any more when this is called. */
typedef void (*spnego_done_fn)(void *arg, const struct spnego_result *result);

/*
 * Asks for a token for HTTP@host, as the principal of the environment.  For
 * each host, one child process runs at a time: the answer of the KDC to the
 * first is in the credential cache for those that follow.  ms is the time
 * limit for everything.  done is called once, but never from inside this
 * function.  Returns NULL when out of memory.
 */
struct spnego *spnego_start(struct event_base *base, const char *host,
                            unsigned ms, spnego_done_fn done, void *arg);

/* done is not called any more. */
void spnego_cancel(struct spnego *spnego);

/* The child: main() of "symcached --spnego HTTP@host". */
int spnego_main(int argc, char **argv);
