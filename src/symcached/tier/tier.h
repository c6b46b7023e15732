/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tiers: storage shared by several machines, asked after the local disk.  A
 * file that one machine has made is found there by the others.  There are
 * three types: a bucket of S3, a folder of a network file system, and another
 * SymCache server, which is only read.
 *
 * A tier is no source.  Whatever goes wrong with it is logged and counted and
 * never becomes a finding about a key: the sources are then asked as if there
 * were no tier.  A file from a tier is used only after its digest, and its MAC
 * if there is a key for that, were compared and sandboxed children have
 * unpacked and validated it.
 *
 * Reading and writing have a breaker each, since a store that has lost its
 * quorum may still answer reads.
 *
 *   tier.c              the tiers of the process, their breakers
 *   get.c               one read, from its question to a file that can be
 *                       published
 *   put.c               the queue of files to be stored, refreshed and removed
 *   outdated_objects.c  notes of files that are not to be read, and their
 *                       removal
 *   store_original.c    uploaded files, which are stored while somebody waits
 *   call.h              what a type does: s3.c, filesystem.c, symcache_peer.c
 *   object.h            names, metadata and MAC of objects
 *   tier_command.c      "symcached --tier", which lists and cleans; list.h
 */
#pragma once

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

/* Names that are in a folder: as many as anybody asks for, the first ones in
 * the order of their bytes. */
struct tier_names {
    char list[16][SYMCACHE_NAME_MAX + 1];
    size_t n;
};

struct tier_result {
    enum tier_outcome outcome;
    const char *place;  /* URL or path, without secrets */
    const char *detail; /* one line */
    bool is_tiers;      /* the failure: it is not this machine's */
    const char *url;    /* where a client gets it, if that was asked for */
    const struct tier_names *names; /* in a folder, if these were */
    uint64_t bytes;     /* received */
    unsigned ms;
    long status; /* of an HTTP answer, or 0 */
};

typedef void (*tier_done_fn)(void *arg, const struct tier_result *result);

/* Takes a reference of config.  NULL when out of memory. */
struct tiers *tiers_new(struct event_base *base, struct config *config);

/* Uses another configuration.  All breakers are closed: the operator may just
 * have fixed the fault that opened them. */
void tiers_configure(struct tiers *tiers, struct config *config);

/* Ends all that is being written; reads must have been cancelled before. */
void tiers_stop(struct tiers *tiers);

/*
 * Before tiers_stop(): takes nothing more, and goes on with what waits until
 * none of that can be stored.  done is then called, once and never from inside,
 * unless tiers_stop() comes first.
 */
void tiers_finish(struct tiers *tiers, void (*done)(void *arg), void *arg);

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

/* Has stores that are in no configuration, as those of guests, found by their
 * names; find returns NULL if there is none.  NULL: there are none. */
void tiers_find_stores(struct tiers *tiers,
                       const struct store_config *(*find)(void *arg,
                                                          const char *name),
                       void *arg);

/* Such a store goes: none of its files is stored any more. */
void tiers_leave(struct tiers *tiers, const struct store_config *store);

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

/* Is a file still being stored that was discarded since then, by clock_ms()?
 * What the tier has of it is removed when that ends. */
bool tiers_store_discarded(const struct tiers *tiers, uint64_t since);

/* Is the tier not to be read for the file? */
bool tiers_discarded(const struct store_config *store,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/*
 * Asks a tier, of a type with metadata, for an original that was uploaded; path
 * is that below "uploads.root".  It is left in fd, which must be an empty file,
 * with the digest of its metadata; nobody has looked yet at what it is.
 * config, of which tier is one, must live until the end.  done, the handle and
 * NULL are as above.
 */
struct tier_get *tiers_get_original(struct tiers *tiers,
                                    const struct config *config,
                                    struct tier_config *tier,
                                    const char *path, int fd,
                                    tier_done_fn done, void *arg);

/*
 * The same for a client that may get it at the tier, which must have
 * "redirect": only its metadata are read, and a hit has result->url.
 */
struct tier_get *tiers_locate_original(struct tiers *tiers,
                                       const struct config *config,
                                       struct tier_config *tier,
                                       const char *path, tier_done_fn done,
                                       void *arg);

/*
 * Lists a folder of originals: names without a slash, in no order, of which
 * some may be left out if they are many.  A hit has result->names.  fd is an
 * empty file for what the tier answers.
 */
struct tier_get *tiers_list_originals(struct tiers *tiers,
                                      const struct config *config,
                                      struct tier_config *tier,
                                      const char *folder, int fd,
                                      tier_done_fn done, void *arg);

/* A younger object may come from a machine that got no answer, or that died
 * before it told the others. */
#define TIER_RECENT_SECONDS 3600

enum tier_original_outcome {
    TIER_ORIGINAL_DONE,   /* stored, or removed */
    TIER_ORIGINAL_SAME,   /* the same was there */
    TIER_ORIGINAL_RECENT, /* the same, which is younger than that */
    TIER_ORIGINAL_OWN,    /* the same, and this machine has stored it last */
    TIER_ORIGINAL_OTHER,  /* another one was there, or another machine's, and
                             stays */
    TIER_ORIGINAL_ABSENT, /* there is nothing to remove */
    TIER_ORIGINAL_USED,   /* it was used too recently to be removed */
    TIER_ORIGINAL_FAILED, /* nobody knows; the same where it was to be stored,
                             or might be: */
    TIER_ORIGINAL_TOO_LARGE, /* for the store, or a proxy before it */
    TIER_ORIGINAL_FULL       /* the store is full, or a quota is used up, and if
                                others are left alone for that, so is this */
};

enum tier_original_mode {
    TIER_ORIGINAL_COMPARE, /* is the same there?  The caller reports failures */
    TIER_ORIGINAL_LOOK,   /* nothing is stored yet: may it be? */
    TIER_ORIGINAL_KEEP,   /* another one that is there stays */
    TIER_ORIGINAL_REPLACE /* or is replaced */
};

/* detail is one line, valid during the call. */
typedef void (*tier_original_fn)(void *arg,
                                 enum tier_original_outcome outcome,
                                 const char *detail);

struct tier_original;

/*
 * Stores the file that fd is open for as an original in the tier of
 * config->uploads, which must have one; path is as above.  When done says so,
 * it is durable there.  machine is this one, to which the object belongs then,
 * also if the same was there; or "".  A mere look, or comparison, calls the
 * same one of another machine TIER_ORIGINAL_OTHER.
 * config must live until the end.  done is called once, never from inside this
 * function, and the handle is then invalid.  Returns NULL with errno.
 */
struct tier_original *tiers_store_original(struct tiers *tiers,
                                           const struct config *config,
                                           const char *path, int fd,
                                           enum tier_original_mode mode,
                                           const char *machine,
                                           tier_original_fn done, void *arg);

/*
 * Removes an original from that tier; with unused_for, only if no machine has
 * taken it for so many seconds, and with a machine, only if it does not belong
 * to another one.
 */
struct tier_original *tiers_remove_original(struct tiers *tiers,
                                            const struct config *config,
                                            const char *path,
                                            unsigned unused_for,
                                            const char *machine,
                                            tier_original_fn done, void *arg);

/* done is not called any more.  What was sent may have happened. */
void tiers_original_cancel(struct tier_original *original);

/* Has the tier failed to store files in the last minutes, and none since? */
bool tiers_refuse_files(const struct tiers *tiers,
                        const struct tier_config *config);

/* The state of all tiers as an array; NULL when out of memory. */
cJSON *tiers_json(const struct tiers *tiers);

/* Appends the gauges of tiers. */
void tiers_print(const struct tiers *tiers, struct evbuffer *buf);

/* "symcached --tier", for an operator: it has the secrets that a tier needs.
 * Returns the exit code. */
int tier_command(int argc, char **argv, const struct source_type *const *types,
                 const char *default_config);
