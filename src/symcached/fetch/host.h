/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is known of a host, whichever sources and redirects lead to it: for
 * how long it wants to be left alone, whether it fails, and how many lookups
 * it is busy with.  Hosts are told apart by scheme, name and port.
 */
#ifndef SYMCACHED_HOST_H
#define SYMCACHED_HOST_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <stdbool.h>
#include "breaker.h"
#include "config.h"

#define HOST_REASON 128

struct hosts;
struct host;

struct hosts *hosts_new(void);
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

/* Lookups that a host is busy with; NULL when out of memory. */
struct host *host_enter(struct hosts *hosts, const char *origin);
void host_leave(struct host *host); /* NULL is allowed */
bool host_busy(const struct hosts *hosts, const char *origin,
               const struct limits_config *limits);

/* What is known of one host, as an object. */
cJSON *host_json(const struct hosts *hosts, const char *origin);

/* Appends symcached_hosts{state=}. */
void hosts_print(const struct hosts *hosts, struct evbuffer *buf);

#endif
