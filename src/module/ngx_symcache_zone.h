
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Shared memory of the workers: the state of keys, for the time of
 * symcache_valid, counters, and the last requests that got no file.
 */


#ifndef _NGX_SYMCACHE_ZONE_H_INCLUDED_
#define _NGX_SYMCACHE_ZONE_H_INCLUDED_


#include "ngx_symcache.h"


/*
 * The counters with their names in JSON and Prometheus and their texts.  It is
 * one list so that no counter can be without a name.  The first ones are in the
 * order of ngx_symcache_status_e.
 */

#define NGX_SYMCACHE_COUNTERS(X)                                              \
    X(ABORTED, aborted, "client went away")                                   \
    X(HIT, hit, "sent from the store")                                        \
    X(STALE, stale, "sent from the store, a newer version is made")           \
    X(MISS, miss, "sent after the helper was asked")                          \
    X(HELD, held, "sent after waiting for the helper")                        \
    X(PENDING, pending, "told to ask again, a job runs")                      \
    X(ABSENT, absent, "known not to exist")                                   \
    X(NOT_MODIFIED, not_modified, "client has the newest version")            \
    X(BAD, bad, "no SymCache request")                                        \
    X(ERROR, error, "store or helper failed")                                 \
    X(ASKED, asked, "questions to the helper")                                \
    X(SHARED, shared, "requests that shared the question of another")         \
    X(FAILED, failed, "questions without a valid answer")                     \
    X(KNOWN, known, "requests that the zone answered or shortened")           \
    X(EVICTED, evicted, "keys pushed out of the zone")

#define NGX_SYMCACHE_STATUSES  10


typedef enum {
#define X(NAME, name, text)  NGX_SYMCACHE_COUNT_##NAME,
    NGX_SYMCACHE_COUNTERS(X)
#undef X
    NGX_SYMCACHE_COUNTS
} ngx_symcache_count_e;


typedef enum {
    NGX_SYMCACHE_KEY_UNKNOWN = 0,
    NGX_SYMCACHE_KEY_PRESENT,      /* versions on disk */
    NGX_SYMCACHE_KEY_ABSENT,       /* the helper has said so */
    NGX_SYMCACHE_KEY_PENDING       /* a job runs */
} ngx_symcache_key_e;


#define NGX_SYMCACHE_RECENT         16
#define NGX_SYMCACHE_RECENT_NAME    64
#define NGX_SYMCACHE_RECENT_REASON  96


/* a request that got no file, as the status page shows it */

typedef struct {
    time_t                  time;
    ngx_symcache_status_e   status;
    symcache_version_t      version;
    u_char                  name[NGX_SYMCACHE_RECENT_NAME + 1];
    u_char                  id[SYMCACHE_ID_TEXT_MAX + 1];
    u_char                  reason[NGX_SYMCACHE_RECENT_REASON + 1];
} ngx_symcache_recent_t;


typedef struct {
    ngx_str_t               name;
    size_t                  size;
    size_t                  free;
    ngx_uint_t              keys;
    ngx_uint_t              counters[NGX_SYMCACHE_COUNTS];
    ngx_uint_t              nrecent;
    ngx_symcache_recent_t   recent[NGX_SYMCACHE_RECENT];  /* newest first */
} ngx_symcache_report_t;


/*
 * A hash that tells the keys of one store from those of another, and also what
 * is absent for a location with a higher symcache_min_version.
 */
uint64_t ngx_symcache_zone_scope(ngx_str_t *root,
    ngx_symcache_loc_conf_t *conf);

/*
 * Looks the key up in the zone.  PRESENT also sets versions and nversions of
 * the context, PENDING its reply.  None of these functions does anything in a
 * location without a zone.
 */
ngx_symcache_key_e ngx_symcache_zone_lookup(ngx_symcache_ctx_t *ctx);

/*
 * Stores the context's versions if PRESENT, else the version asked for; ABSENT
 * for no longer than the helper's reply says.
 */
void ngx_symcache_zone_store(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid);

void ngx_symcache_zone_forget(ngx_symcache_ctx_t *ctx);

/*
 * A number that changes when the helper forgets what is absent in the store: by
 * a stat() each time, so that the next request of any worker sees it.  Read it
 * before asking the helper, and compare it afterwards: the helper can forget
 * while its answer is on the way.
 */
uint32_t ngx_symcache_zone_forgotten(ngx_symcache_ctx_t *ctx);

void ngx_symcache_zone_count(ngx_symcache_ctx_t *ctx,
    ngx_symcache_count_e counter);

/* Counts the end of a request, and remembers it if it got no file. */
void ngx_symcache_zone_done(ngx_symcache_ctx_t *ctx);

void ngx_symcache_zone_report(ngx_shm_zone_t *shm_zone,
    ngx_symcache_report_t *report);


/* ngx_symcache_recent.c */
void ngx_symcache_recent_fill(ngx_symcache_recent_t *recent,
    ngx_symcache_ctx_t *ctx);


#endif /* _NGX_SYMCACHE_ZONE_H_INCLUDED_ */
