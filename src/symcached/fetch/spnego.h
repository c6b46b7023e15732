/*
 * Copyright (C) the ngx_symcache authors
 *
 * What tells a server by Kerberos who we are (RFC 4559).  GSS-API waits for
 * the KDC, for DNS and for the locks of credential caches: it runs in a child
 * process, never in the helper.
 */
#ifndef SYMCACHED_FETCH_SPNEGO_H
#define SYMCACHED_FETCH_SPNEGO_H

#include <stdbool.h>

struct event_base;
struct spnego;

struct spnego_result {
    char *header;       /* value of Authorization, of one request; secret */
    const char *detail; /* one line, if there is no header */
    bool timed_out;
};

/* The ticket is gone when this is called. */
typedef void (*spnego_done_fn)(void *arg, const struct spnego_result *result);

/*
 * Asks for what HTTP@host wants to see, as the principal of the environment.
 * For each host one is asked for at a time: what the KDC said to the first one
 * is in the credential cache for the next.  ms is the time for everything,
 * and done is called once, never from inside this function.  Returns NULL when
 * out of memory.
 */
struct spnego *spnego_start(struct event_base *base, const char *host,
                            unsigned ms, spnego_done_fn done, void *arg);

/* No callback comes afterwards. */
void spnego_cancel(struct spnego *spnego);

/* The child: main() of "symcached --spnego HTTP@host". */
int spnego_main(int argc, char **argv);

#endif
