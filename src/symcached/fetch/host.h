/*
 * Copyright (C) the ngx_symcache authors
 *
 * The state of a host, shared by all sources and redirects that lead to it:
 * whether it asked for a pause, whether it fails, and how many lookups use it.
 * Hosts are told apart by scheme, name and port.
 *
 * A directory also counts as a host, under the path in the configuration,
 * because a network share can be as slow as a server, or hang.  A process that
 * looks into a directory that hangs cannot always be killed; it counts until
 * it is gone.
 */
#pragma once

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "base/breaker.h"
#include "config/config.h"

#define HOST_REASON 256
#define HOST_ADDRESS 46 /* of IPv6, with a NUL */
#define HOST_AVOIDED 4

struct event_base;
struct hosts;
struct host;
struct host_slot;

/* A request that waits for the first byte of its answer. */
struct host_wait {
    LIST_ENTRY(host_wait) entry;
    struct host *host; /* NULL: it does not wait */
    const struct limits_config *limits;
    uint64_t since; /* milliseconds */
    bool silent;    /* it has waited for limits->first_byte_patience */
};

/* freed is called when a host may have room for another lookup; or it is NULL.
 */
struct hosts *hosts_new(struct event_base *base, void (*freed)(void *arg),
                        void *arg);
void hosts_free(struct hosts *hosts); /* no request may be running */

/*
 * Asks whether a request may be made.  Returns the host, which is then given
 * to host_end(); *probe is set if this request decides whether the host works
 * again.  Returns NULL with the reason, and the seconds until the host may be
 * asked, if not.
 */
struct host *host_begin(struct hosts *hosts, const char *origin,
                        const struct limits_config *limits, bool *probe,
                        char *reason, unsigned *seconds);

/* The body of a file has begun to arrive, as the answer to the request that
 * decides: others need not wait for its end. */
void host_receives(struct host *host, const struct limits_config *limits);

/* The request has ended; detail is for the log. */
void host_end(struct host *host, const struct limits_config *limits,
              enum breaker_end end, bool probe, const char *detail);

/*
 * host_waits(): a request was sent.  When it has had no first byte for
 * limits->first_byte_patience, and no other one has had one meanwhile, the host
 * is left alone like one that failed, until a first byte comes.  host_heard():
 * it has come.  host_unheard(): the request has ended, with one or without.
 * limits and wait must live until then.
 */
void host_waits(struct host *host, const struct limits_config *limits,
                struct host_wait *wait);
void host_heard(struct host_wait *wait);
void host_unheard(struct host_wait *wait);

/*
 * Forgets the hosts to which no source of config leads: those of former
 * sources, and those of redirects of which nothing special is known.
 */
void hosts_keep(struct hosts *hosts, const struct config *config);

/* The host answered 429 or 503 with Retry-After. */
void host_wants_pause(struct host *host, unsigned seconds);

/*
 * A request of which nothing else is to be known: the host is not forgotten
 * until host_unuse().  Returns NULL when out of memory.
 */
struct host *host_use(struct hosts *hosts, const char *origin);
void host_unuse(struct host *host);

/* Connections to an address got no answer; of more than HOST_AVOIDED the first
 * is forgotten. */
void host_avoid(struct host *host, const char *address);
void host_avoid_none(struct host *host);
bool host_avoids(const struct host *host, const char *address);

/*
 * A lookup begins to use the host; own is true if it belongs to one of the
 * host's own sources.  Returns NULL when out of memory.
 */
struct host_slot *host_enter(struct hosts *hosts, const char *origin, bool own);

/*
 * host_slot_share(): a process of the lookup has begun.  host_slot_gone(): it
 * is gone, which may be long after the lookup has left.  The slot is free when
 * neither is left.
 */
void host_slot_share(struct host_slot *slot);
void host_slot_gone(void *slot);

/* The lookup leaves; slot may be NULL. */
void host_leave(struct host_slot *slot);

/*
 * Does the host have as many lookups as it may have?  Slow lookups do not
 * count up to a number, so that quick ones need not wait for them.  A host is
 * not busy either when only stuck processes use it: host_begin() then gives
 * the reason.
 */
bool host_busy(const struct hosts *hosts, const char *origin,
               const struct limits_config *limits);

/* Returns the state of one host as an object. */
cJSON *host_json(const struct hosts *hosts, const char *origin);

/* Appends symcached_hosts{state=}. */
void hosts_print(const struct hosts *hosts, struct evbuffer *buf);
