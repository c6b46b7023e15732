/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fetches one HTTP object into one file: with libcurl's multi interface on the
 * event loop, with limits and retries, and with redirects that send
 * credentials to the source's own origin only.
 *
 * This knows nothing of layouts, keys or PDBs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "response.h"
#include "source_outcome.h"
#include "host.h"
#include "send.h"
#include "spnego.h"

struct event_base;
struct hosts;   /* The state of each host, see host.h. */
struct fetcher; /* Connections, and their hosts. */
struct fetch;

struct fetch_request {
    const char *url;
    const struct transport_config *transport;
    bool credentials; /* may be sent to the origin of url */
    const struct header_config
        *extra; /* headers of this request, for the same origin only */
    size_t nextra;
    bool may_be_empty;           /* an empty body is a file */
    bool takes_msfz; /* a compressed PDB is welcome */
    bool busy_file;              /* a 503 concerns the file and not the host */
    const struct limits_config *limits;
    const struct cache_config *cache; /* its min_free */
    int fd;                      /* receives the body; it is emptied first */
    int (*open)(void *arg);      /* if fd is -1: opens it when a body comes, see
                                    fetch_start(); or -1 with errno */
    uint64_t max;                /* bytes */
    unsigned seconds; /* time limit for everything, including retries */
};

struct fetch_result {
    enum source_outcome outcome; /* FOUND: a complete body with 200 */
    const char *detail;          /* one line, without secrets */
    uint64_t bytes;              /* received in all tries together */
    unsigned ms;
    unsigned retry_after;              /* that the server asked for, or 0 */
    long status; /* of the last answer, or 0 */
    int errnum;  /* why a connection failed, or 0 */
    const struct fetch_response *response; /* valid during the callback only */
};

typedef void (*fetch_done_fn)(void *arg, const struct fetch_result *result);

/* freed is called when a host may have room for another lookup; or it is NULL.
 * Returns NULL when out of memory. */
struct fetcher *fetcher_new(struct event_base *base, void (*freed)(void *arg),
                            void *arg);

/* No fetch may be running.  NULL is allowed. */
void fetcher_free(struct fetcher *fetcher);

struct hosts *fetcher_hosts(const struct fetcher *fetcher);

/* Closes the connections of former configurations that are not in use: a later
 * one has other transports. */
void fetcher_keep(struct fetcher *fetcher, const struct config *config);

/*
 * transport, limits, cache and extra must live until the end.  done is called
 * once, but never from inside this function; the fetch does not exist any more
 * then.  arg is also that of request->open.
 * Returns NULL when out of memory.
 */
struct fetch *fetch_start(struct fetcher *fetcher,
                          const struct fetch_request *request,
                          fetch_done_fn done, void *arg);

/* Is a body with status 200 arriving? */
bool fetch_receives(const struct fetch *fetch);

/* Has it waited for the first byte for limits->first_byte_patience? */
bool fetch_is_silent(const struct fetch *fetch);

/* Ends the fetch; done is not called any more. */
void fetch_cancel(struct fetch *fetch);

/*
 * Reads the keys of a bucket again, in a thread, when a store refuses them:
 * "@file" may name a file that another program renews.
 */

struct task;

/* Does a store refuse keys, perhaps because they were renewed?  code is the
 * <Code> of its answer. */
bool reload_keys_help(const struct transport_config *transport,
                      const char *code);

/* error is NULL, or why they could not be read.  Whether they are others now,
 * transport->renewals tells. */
typedef void (*reload_keys_done_fn)(void *arg, const char *error);

/*
 * transport must live until done, which is called once and never from inside.
 * Returns NULL with errno; task_cancel() ends it.
 */
struct task *reload_keys_start(struct event_base *base,
                               struct transport_config *transport,
                               reload_keys_done_fn done, void *arg);
