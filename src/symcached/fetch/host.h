/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is known of a host, whichever sources and redirects lead to it: for
 * how long it wants to be left alone, whether it fails, and how many lookups
 * it is busy with.  Hosts are told apart by scheme, name and port.
 *
 * A directory is one as well, with the path that the configuration gives: a
 * share may be as slow as a server, or hang.  A process that looks into one
 * that hangs cannot always be ended, and counts until it is gone.
 */
#ifndef SYMCACHED_FETCH_HOST_H
#define SYMCACHED_FETCH_HOST_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <stdbool.h>
#include "base/breaker.h"
#include "config/config.h"

#define HOST_REASON 128

struct event_base;
struct hosts;
struct host;
struct visit;

/* freed is called when a host may be free for one lookup more. */
struct hosts *hosts_new(struct event_base *base, void (*freed)(void *arg),
                        void *arg);
void hosts_free(struct hosts *hosts); /* no request may be running */

/*
 * May a request be made?  Returns the host, to be given to host_end(), with
 * *probe set if much depends on it; or NULL with the reason and the seconds
 * until it may be asked.
 */
struct host *host_begin(struct hosts *hosts, const char *origin,
                        const struct limits_config *limits, bool *probe,
                        char *reason, unsigned *seconds);

/* A request ended; detail is for the log. */
void host_end(struct host *host, const struct limits_config *limits,
              enum breaker_end end, bool probe, const char *detail);

/*
 * Forgets what no source of config leads to: the hosts of former sources, and
 * of redirects those of which there is nothing to say.
 */
void hosts_keep(struct hosts *hosts, const struct config *config);

/* 429 or 503 with Retry-After. */
void host_wants_pause(struct host *host, unsigned seconds);

/*
 * Begins a visit, of a lookup that the host is busy with; own: of one of its
 * own sources.  NULL when out of memory.
 */
struct visit *host_enter(struct hosts *hosts, const char *origin, bool own);

/*
 * A process of the lookup begins, and is gone, which may be long after the
 * lookup has left: the visit ends when all have.
 */
void visit_share(struct visit *visit);
void visit_gone(void *visit);

/* The lookup leaves; NULL is allowed. */
void host_leave(struct visit *visit);

/*
 * Has it as many lookups as it may have?  Some that are slow do not count: who
 * is quick shall not wait for them.  Nor is it busy when nothing but processes
 * that do not end keep it so: then host_begin() tells of it.
 */
bool host_busy(const struct hosts *hosts, const char *origin,
               const struct limits_config *limits);

/* What is known of one host, as an object. */
cJSON *host_json(const struct hosts *hosts, const char *origin);

/* Appends symcached_hosts{state=}. */
void hosts_print(const struct hosts *hosts, struct evbuffer *buf);

#endif
