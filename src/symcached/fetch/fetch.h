/*
 * Copyright (C) the ngx_symcache authors
 *
 * One HTTP object into one file: libcurl multi on the event loop, with limits,
 * retries and redirects that keep credentials, and nothing else, at home.
 *
 * Knows nothing of layouts, keys or PDBs.
 */
#ifndef SYMCACHED_FETCH_H
#define SYMCACHED_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "answer.h"
#include "outcome.h"
#include "host.h"
#include "spnego.h"

struct event_base;
struct hosts;   /* what is known of each, see host.h */
struct fetcher; /* connections; one for the process */
struct fetch;

struct fetch_request {
    const char *url;
    const struct transport_config *transport;
    bool credentials; /* may be sent to the url's own origin */
    const struct header_config *extra; /* of this request, same origin */
    size_t nextra;
    bool busy_file;              /* 503 is about the file, not the host */
    const struct config *config; /* limits, cache.min_free */
    int fd;                      /* gets the body; empty, or to be emptied */
    uint64_t max;                /* bytes */
    unsigned seconds;            /* for everything, retries included */
};

struct fetch_result {
    enum source_outcome outcome; /* FOUND: a whole body with 200 came */
    const char *detail;          /* one line, without secrets */
    uint64_t bytes;              /* received, all tries */
    unsigned ms;
    unsigned retry_after;              /* seconds the server asked for, or 0 */
    const struct fetch_answer *answer; /* during the callback only */
};

typedef void (*fetch_done_fn)(void *arg, const struct fetch_result *result);

struct fetcher *fetcher_new(struct event_base *base, struct hosts *hosts);
void fetcher_free(struct fetcher *fetcher); /* no fetch may be running */

/*
 * The transport and config must live until the end.  done is called once,
 * never from inside this function, and the fetch is gone afterwards.  Returns
 * NULL when out of memory.
 */
struct fetch *fetch_start(struct fetcher *fetcher,
                          const struct fetch_request *request,
                          fetch_done_fn done, void *arg);

/* Is a body with 200 coming? */
bool fetch_receives(const struct fetch *fetch);

/* No callback comes afterwards. */
void fetch_cancel(struct fetch *fetch);

#endif
