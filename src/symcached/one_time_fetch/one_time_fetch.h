/*
 * Copyright (C) the ngx_symcache authors
 *
 * One-time fetches: of files that a client of symbolicated names, such as the
 * minidump of a crash, each into a file without a name.  Nothing is kept of
 * them: no key, no download, no negative entry; a log has no more than the
 * host.
 *
 * A URL from a client may lead anywhere.  So no private, loopback or
 * link-local address is connected to, unless the configuration of tenants
 * lists the host. Hosts and connections are not those of the operator's
 * sources: a client can neither use their credentials nor make them fail.
 */
#pragma once

#include "config/config.h"

struct event_base;
struct one_time_fetches;
struct one_time_fetch;

struct one_time_fetch_answer {
    int fd;             /* -1: there is no file; else taken over */
    const char *coding; /* its Content-Encoding, or "" */
    const char *error;  /* why there is none, as Symbolicator says it */
};

typedef void (*once_fn)(void *arg, const struct one_time_fetch_answer *answer);

struct one_time_fetches *one_time_fetch_new(struct event_base *base);
void one_time_fetch_free(
    struct one_time_fetches *fetches); /* no fetch may run; NULL is allowed */

/*
 * Fetches a file, with "Authorization: Bearer" if there is a token.  fn is
 * called once, and never from inside this function.  NULL without memory.
 */
struct one_time_fetch *one_time_fetch_start(struct one_time_fetches *fetches,
                                            const struct config *config,
                                            const char *url, const char *token,
                                            once_fn fn, void *arg);

/* fn is not called any more. */
void one_time_fetch_cancel(struct one_time_fetch *fetch);
