/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs, as seen from other rooms.  A lookup is answered from what is on disk
 * and what is known to be absent.  If neither is an answer, a job makes the
 * file; each key of a store has at most one job, however many clients ask for
 * it.
 *
 * Knows nothing of connections.  job_state.h describes what a job does;
 * scheduler_ask() is in lookup_answer.c, scheduler_leave() in waiter.c.
 */
#pragma once

#include <cjson/cJSON.h>
#include "config/config.h"
#include "symcached/source/sources.h"
#include "symcached/source/tier_redirect.h"
#include "symcached/source/via_header.h"
#include "proto/answer.h"
#include "conversion_slots.h"

enum scheduler_answer_kind {
    SCHEDULER_HIT,          /* version is on disk */
    SCHEDULER_NOT_MODIFIED, /* nothing newer than the client has */
    SCHEDULER_ABSENT,  /* known for certain; reason, seconds it is valid */
    SCHEDULER_PENDING, /* a job runs; ask again in seconds */
    SCHEDULER_BUSY     /* cannot be told now; ask again in seconds */
};

struct scheduler_answer {
    enum scheduler_answer_kind kind;
    symcache_version_t version;
    const symcache_key_t *key; /* SCHEDULER_HIT */
    bool stale;         /* SCHEDULER_HIT, and a newer version can be made */
    const char *reason; /* one word */
    const char *text;   /* a sentence, or NULL */
    unsigned seconds;
};

typedef void (*scheduler_answer_fn)(void *arg,
                                    const struct scheduler_answer *answer);

struct scheduler;
struct tiers;
struct waiter;

/* Takes a reference of config; sources and tiers are the caller's, and live
 * longer.  NULL when out of memory. */
struct scheduler *scheduler_new(struct event_base *base,
                                struct sources *sources, struct tiers *tiers,
                                struct config *config);

/* From now on it shares the processors with others; turn must live until the
 * scheduler is stopped, and be left then by conversion_slot_leave(). */
void scheduler_share(struct scheduler *scheduler, struct conversion_slot *turn,
                     struct conversion_slots *turns,
                     struct conversion_slots_party *party);

/*
 * Makes the roots of config ready (folders, stale work, .transcoders) and
 * uses it from now on.  Returns 0, or -1 with a sentence in error; the
 * former configuration is then kept.  A full disk is no error:
 * scheduler_keep_stores() writes later what could not be written.
 */
int scheduler_configure(struct scheduler *scheduler, struct config *config,
                        char *error, size_t size);

/* Writes what is missing in the roots; for when there may be room again. */
void scheduler_keep_stores(struct scheduler *scheduler);

/*
 * What a lookup asks for; read by scheduler_ask() only.  A request that has
 * already passed through this helper starts no job and waits for none.  A job
 * uses the hints of the first request; if it makes no file, each waiter with
 * other hints gets a job of its own.
 */
struct scheduler_lookup {
    const struct store_config *store;
    const symcache_key_t *key;
    const char *name; /* the key's, as it was spelled */
    const symcache_ask_t *ask;
    const char *via;   /* a list (via_header.h), or "": a client asks itself */
    const char *hints; /* those of proto/hints.h, or "" */
    unsigned wait;     /* seconds at most */
};

/*
 * Either fn is called at once and NULL is returned, or fn is called later, when
 * the wait is over at the latest, and the waiter is valid until then.
 */
struct waiter *scheduler_ask(struct scheduler *scheduler,
                             const struct scheduler_lookup *lookup,
                             scheduler_answer_fn fn, void *arg);

/* Where a client gets an original by itself, see source/tier_redirect.h. */
struct tier_redirect *scheduler_redirect(struct scheduler *scheduler,
                                         const struct store_config *store,
                                         const symcache_key_t *key,
                                         tier_redirect_done_fn done, void *arg);

/* The client went away: fn is not called any more; the job goes on. */
void scheduler_leave(struct waiter *waiter);

/*
 * Begins or ends a drain, during which lookups that need a new job are
 * refused. Running jobs continue, for their waiters and for new requests, and
 * answers from disk or memory are still given.
 */
void scheduler_drain(struct scheduler *scheduler, bool drain);

/*
 * Ends all jobs: transcoders are killed, temporary files removed, waiters
 * answered.  Nothing new starts afterwards.
 */
void scheduler_stop(struct scheduler *scheduler);

/* Afterwards: calls done when nothing is left that can be stored in a tier. */
void scheduler_finish(struct scheduler *scheduler, void (*done)(void *arg),
                      void *arg);

/* Then: does not store the rest of that.  done is not called any more. */
void scheduler_give_up(struct scheduler *scheduler);

void scheduler_free(struct scheduler *scheduler); /* after scheduler_stop() */

/* What scheduler_new() got. */
struct tiers *scheduler_get_tiers(const struct scheduler *scheduler);

/* Of tiers_refuse_files(), about the tier of uploads, if there is one. */
bool scheduler_tier_refuses_uploads(const struct scheduler *scheduler);

/* The configuration that is in use. */
const struct config *scheduler_config(const struct scheduler *scheduler);

/*
 * What the pages of the socket show.  The objects are new and the caller's;
 * NULL when out of memory.
 */
cJSON *scheduler_json(const struct scheduler *scheduler);
cJSON *scheduler_sources(const struct scheduler *scheduler);
void scheduler_print_sources(const struct scheduler *scheduler,
                             struct evbuffer *buf);
cJSON *scheduler_tiers(const struct scheduler *scheduler);
cJSON *scheduler_missing(const struct scheduler *scheduler, time_t since);
cJSON *scheduler_misses(const struct scheduler *scheduler);
cJSON *scheduler_why(const struct scheduler *scheduler,
                     const struct store_config *store,
                     const symcache_key_t *key);

/*
 * Drops the negative entries of a name or, with has_id, of one key, and makes
 * jobs that run look again.  Returns the number of these entries; *errnum is 0,
 * or says why there may be more.
 */
unsigned scheduler_forget(struct scheduler *scheduler,
                          const struct store_config *store,
                          const symcache_key_t *key, bool has_id, int *errnum);

/*
 * The original of a key has changed: removes what the store and its tier have
 * that was made of another, of every kind, and the download; jobs that run
 * begin again.
 * Returns false while a job is just publishing what it made, or this process
 * lacks descriptors: then this must be called again.  Sets *is_made if a store
 * with a tier had something.
 */
bool scheduler_discard(struct scheduler *scheduler,
                       const struct store_config *store,
                       const symcache_key_t *key, bool *is_made);

/*
 * The transcoders of a store have been repaired: their former failures no
 * longer count, and failures in jobs that run now are not believed.  Drops the
 * malformed entries in memory since then, and returns their number.
 */
unsigned scheduler_forget_transcoders(struct scheduler *scheduler,
                                      const struct store_config *store,
                                      time_t since);

struct scheduler_gauges {
    unsigned long begun; /* jobs, since the start */
    unsigned queued;
    unsigned downloading;
    unsigned transcoding;
    unsigned waiters;
    unsigned failures; /* remembered in memory */
    unsigned missing;  /* modules without symbols */
    bool draining;
};

void scheduler_gauges(const struct scheduler *scheduler,
                      struct scheduler_gauges *gauges);
