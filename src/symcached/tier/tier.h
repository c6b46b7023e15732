/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tiers: places behind the disk that several machines share, where a file that
 * one of them has made is found by the others.  There are three types: a bucket
 * of S3, a folder of a network file system, and another SymCache server, which
 * is only read.
 *
 * A tier is no source.  Whatever goes wrong with it is logged and counted and
 * never becomes a finding about a key: the sources are then asked as if there
 * were no tier.  Nothing that comes out of it is believed before its digest,
 * and its MAC if there is a key for that, were compared and it was unpacked and
 * validated in sandboxed children.
 *
 * Reading and writing have a breaker each, since a store that has lost its
 * quorum may still answer reads.
 *
 *   tier.c     the tiers of the process, their breakers
 *   get.c      one read, from its question to a file that can be published
 *   put.c      the queue of files to be stored, refreshed and removed
 *   discard.c  notes of files that are not to be read, and their removal
 *   call.h     what a type does: s3.c, filesystem.c, symcache.c
 *   object.h   names, metadata and MAC of objects
 */
#ifndef SYMCACHED_TIER_H
#define SYMCACHED_TIER_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>
#include "config/config.h"
#include "proto/key.h"
#include "proto/version.h"

struct event_base;
struct tiers;
struct tier_get;
struct workdir;

enum tier_outcome {
    TIER_HIT,     /* the file is there, checked */
    TIER_ABSENT,  /* the tier has none */
    TIER_REFUSED, /* it has one that is not to be used */
    TIER_FAILED   /* nobody knows */
};

struct tier_result {
    enum tier_outcome outcome;
    const char *place;  /* URL or path, without secrets */
    const char *detail; /* one line */
    uint64_t bytes;     /* received */
    unsigned ms;
    long status; /* of an HTTP answer, or 0 */
};

typedef void (*tier_done_fn)(void *arg, const struct tier_result *result);

/* Takes a reference of config.  NULL when out of memory. */
struct tiers *tiers_new(struct event_base *base, struct config *config);

/* Uses another configuration.  All breakers are closed: it may be that somebody
 * has just mended what opened them. */
void tiers_configure(struct tiers *tiers, struct config *config);

/* Ends all that is being written; reads must have been cancelled before. */
void tiers_stop(struct tiers *tiers);
void tiers_free(struct tiers *tiers);

/*
 * Asks the tier of a store, which must have one, for a file of a version, which
 * is left in `file`, an absolute path that does not exist yet in a folder of
 * its own, with its provenance.  config and store must live until the end.
 * done is called once, never from inside this function, and the handle is then
 * invalid.  NULL when out of memory.
 */
struct tier_get *tiers_get(struct tiers *tiers, const struct config *config,
                           const struct store_config *store,
                           const symcache_key_t *key,
                           const symcache_version_t *version,
                           const char *file, tier_done_fn done, void *arg);

/* done is not called any more. */
void tiers_get_cancel(struct tier_get *get);

/*
 * A file was published: stores it in the tier of its store, if there is one,
 * when its turn comes.  replace: over what the tier may have.  workdir is the
 * store's, and must live longer than tiers.
 */
void tiers_put(struct tiers *tiers, const struct store_config *store,
               struct workdir *workdir, const symcache_key_t *key,
               const symcache_version_t *version, bool replace);

/*
 * A file of the store is in use: refreshes its object, if half of its life is
 * over, or stores it, if it is not known to be in the tier.
 */
void tiers_used(struct tiers *tiers, const struct store_config *store,
                struct workdir *workdir, const symcache_key_t *key,
                const symcache_version_t *version);

/*
 * The original of a key has changed: whatever the tier of the store has of this
 * file is not read from now on, also by the next process, until it is removed
 * or replaced there, which is done when its turn comes.
 */
void tiers_discard(struct tiers *tiers, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version);

/* Is the tier not to be read for the file? */
bool tiers_discarded(const struct store_config *store,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/* An array of what is known of each tier; NULL when out of memory. */
cJSON *tiers_json(const struct tiers *tiers);

/* Appends the gauges of tiers. */
void tiers_print(const struct tiers *tiers, struct evbuffer *buf);

#endif
