
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the workers know of keys: it is looked up, stored, forgotten, and
 * evicted for newer keys.  Counters, and the last requests that got no file.
 */


#include "ngx_symcache_memory.h"


#define NGX_SYMCACHE_ZONE_EVICT  16
#define NGX_SYMCACHE_ZONE_TURNS  64
#define NGX_SYMCACHE_ZONE_CHAIN  16
#define NGX_SYMCACHE_ZONE_MIX    0x9e3779b97f4a7c15

/* bytes of an id that an entry has: of guid and age */

#define NGX_SYMCACHE_ZONE_ID     20


static ngx_inline uint32_t ngx_symcache_zone_now(void);
static uint32_t ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx);
static ngx_inline uint64_t ngx_symcache_zone_mix(uint64_t hash, uint64_t n);
static uint32_t ngx_symcache_zone_spelling(ngx_symcache_ctx_t *ctx,
    uint32_t forgotten);
static ngx_uint_t ngx_symcache_zone_holds(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e what, uint32_t spelling);
static ngx_inline ngx_symcache_memory_t *ngx_symcache_zone_memory(
    ngx_symcache_ctx_t *ctx);
static ngx_symcache_entry_t *ngx_symcache_zone_find(ngx_symcache_sh_t *sh,
    ngx_symcache_ctx_t *ctx, uint32_t hash);
static void ngx_symcache_zone_fill(ngx_symcache_entry_t *e,
    ngx_symcache_ctx_t *ctx, uint32_t spelling);
static ngx_symcache_entry_t *ngx_symcache_zone_add(
    ngx_symcache_memory_t *zone, ngx_symcache_ctx_t *ctx, uint32_t hash);
static ngx_symcache_entry_t *ngx_symcache_zone_alloc(
    ngx_symcache_memory_t *zone, size_t size);
static ngx_symcache_entry_t *ngx_symcache_zone_last(ngx_symcache_sh_t *sh);
static void ngx_symcache_zone_evict(ngx_symcache_memory_t *zone,
    ngx_symcache_entry_t *e);
static void ngx_symcache_zone_remove(ngx_symcache_memory_t *zone,
    ngx_symcache_entry_t *e);
static void ngx_symcache_zone_remember(ngx_symcache_memory_t *zone,
    ngx_symcache_ctx_t *ctx);


uint64_t
ngx_symcache_zone_scope(ngx_str_t *root, ngx_symcache_loc_conf_t *conf)
{
    u_char    *min;
    uint32_t   a, b;

    min = (u_char *) conf->min_version;

    ngx_crc32_init(a);
    ngx_crc32_update(&a, root->data, root->len);
    ngx_crc32_update(&a, (u_char *) "", 1);
    ngx_crc32_update(&a, conf->store.data, conf->store.len);
    ngx_crc32_update(&a, min, sizeof(symcache_version_t));
    ngx_crc32_final(a);

    b = ngx_murmur_hash2(root->data, root->len)
        ^ ngx_murmur_hash2(conf->store.data, conf->store.len)
        ^ ngx_murmur_hash2(min, sizeof(symcache_version_t));

    return (uint64_t) a << 32 | b;
}


/*
 * GUIDs are random only as a rule: some builds count them up, and modules that
 * have none all have zeros.  So each bit of the key must change each bit of the
 * hash; otherwise all keys would be in a few long chains.
 */

static uint32_t
ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx)
{
    size_t           i;
    uint64_t         hash, n[2];
    symcache_key_t  *key;

    key = &ctx->asked.key;

    ngx_memcpy(n, key->guid, 16);

    hash = ngx_symcache_zone_mix(0, n[0]);
    hash = ngx_symcache_zone_mix(hash, n[1]);
    hash = ngx_symcache_zone_mix(hash, (uint64_t) key->age << 32
                                       | key->name_len);

    for (i = 0; i + 8 < key->name_len; i += 8) {
        ngx_memcpy(n, key->name + i, 8);
        hash = ngx_symcache_zone_mix(hash, n[0]);
    }

    /* the last 8 bytes, some of which may have been mixed in already */

    if (i) {
        ngx_memcpy(n, key->name + key->name_len - 8, 8);

    } else {
        n[0] = 0;
        ngx_memcpy(n, key->name, key->name_len);
    }

    hash = ngx_symcache_zone_mix(hash, n[0]);

    return (uint32_t) (hash * NGX_SYMCACHE_ZONE_MIX >> 32);
}


/* The factor is the golden ratio's fraction, as in Fibonacci hashing. */

static ngx_inline uint64_t
ngx_symcache_zone_mix(uint64_t hash, uint64_t n)
{
    hash = (hash ^ n) * NGX_SYMCACHE_ZONE_MIX;

    return hash ^ hash >> 32;
}


/*
 * The value for which an absence holds: a hash of the name in the client's
 * case, as some sources tell cases apart and have a file under another
 * spelling, and of what the helper had forgotten when it was asked.
 */

static uint32_t
ngx_symcache_zone_spelling(ngx_symcache_ctx_t *ctx, uint32_t forgotten)
{
    return forgotten ^ ngx_crc32_short((u_char *) ctx->asked.name,
                                       ctx->asked.key.name_len);
}


uint32_t
ngx_symcache_zone_forgotten(ngx_symcache_ctx_t *ctx)
{
    u_char           *p, name[NGX_MAX_PATH + 1];
    uint64_t          state[4];
    ngx_file_info_t   fi;

    if (ctx->root.len >= NGX_MAX_PATH - sizeof(SYMCACHE_FORGOTTEN_FILE)) {
        return 0;
    }

    p = ngx_cpymem(name, ctx->root.data, ctx->root.len);
    *p++ = '/';
    ngx_memcpy(p, SYMCACHE_FORGOTTEN_FILE, sizeof(SYMCACHE_FORGOTTEN_FILE));

    if (ngx_file_info(name, &fi) == NGX_FILE_ERROR) {
        return 0;
    }

    state[0] = ngx_file_uniq(&fi);
    state[1] = ngx_file_size(&fi);
    state[2] = fi.st_mtim.tv_sec;
    state[3] = fi.st_mtim.tv_nsec;

    return ngx_murmur_hash2((u_char *) state, sizeof(state));
}


/*
 * Seconds of the monotonic clock, which all workers share.  On 32-bit systems
 * it wraps early.  Then the rest of an entry's time is longer than
 * symcache_valid can be, and the entry counts as expired.
 */

static ngx_inline uint32_t
ngx_symcache_zone_now(void)
{
    return (uint32_t) (ngx_current_msec / 1000);
}


/*
 * The zone in which the key may be, or NULL.  An entry has room for all ids but
 * build ids of more than the usual 20 bytes.
 */

static ngx_inline ngx_symcache_memory_t *
ngx_symcache_zone_memory(ngx_symcache_ctx_t *ctx)
{
    if (ctx->conf->zone == NULL
        || ctx->asked.key.build_len > NGX_SYMCACHE_ZONE_ID)
    {
        return NULL;
    }

    return ctx->conf->zone->data;
}


static ngx_inline ngx_uint_t
ngx_symcache_zone_counts(ngx_symcache_entry_t *e)
{
    return e->until - ngx_symcache_zone_now() - 1 < SYMCACHE_WAIT_MAX;
}


static ngx_symcache_entry_t *
ngx_symcache_zone_find(ngx_symcache_sh_t *sh, ngx_symcache_ctx_t *ctx,
    uint32_t hash)
{
    ngx_uint_t             i;
    symcache_key_t        *key;
    ngx_symcache_entry_t  *e;

    key = &ctx->asked.key;
    e = sh->buckets[hash & sh->mask];

    for (i = 0; e && i < NGX_SYMCACHE_ZONE_CHAIN; i++) {

        if (e->hash == hash
            && e->scope == ctx->scope
            && e->age == key->age
            && e->kind == key->kind
            && e->id_type == key->id_type
            && e->build_len == key->build_len
            && e->name_len == key->name_len
            && ngx_memcmp(e->guid, key->guid, 16) == 0
            && ngx_memcmp(e->name, key->name, key->name_len) == 0)
        {
            return e;
        }

        e = e->next;
    }

    return NULL;
}


ngx_symcache_key_e
ngx_symcache_zone_lookup(ngx_symcache_ctx_t *ctx)
{
    uint32_t                hash, spelling;
    ngx_symcache_key_e      what;
    ngx_symcache_entry_t   *e;
    ngx_symcache_memory_t  *zone;

    zone = ngx_symcache_zone_memory(ctx);
    if (zone == NULL) {
        return NGX_SYMCACHE_KEY_UNKNOWN;
    }

    hash = ngx_symcache_zone_hash(ctx);
    spelling = 0;
    what = NGX_SYMCACHE_KEY_UNKNOWN;

    ngx_symcache_memory_lock(zone);

    e = ngx_symcache_zone_find(zone->sh, ctx, hash);

    if (e && ngx_symcache_zone_counts(e)) {

        what = e->what;

        if (what == NGX_SYMCACHE_KEY_PRESENT) {
            ngx_memcpy(ctx->versions, e->u.versions, sizeof(e->u.versions));
            ctx->nversions = e->n;
            ctx->gzipped = e->gzipped;

        } else if (symcache_version_cmp(&e->u.asked.version, &ctx->ask.version)
                   != 0)
        {
            /* the entry is about another version */

            what = NGX_SYMCACHE_KEY_UNKNOWN;

        } else if (what == NGX_SYMCACHE_KEY_PENDING) {
            ctx->reply.code = NGX_SYMCACHE_REPLY_PENDING;
            ctx->reply.retry_after = e->retry_after;

        } else {
            spelling = e->u.asked.spelling;
        }

        /* a write would take the cache line away from the other workers */

        if (!e->used) {
            e->used = 1;
        }
    }

    ngx_symcache_memory_unlock(zone);

    return ngx_symcache_zone_holds(ctx, what, spelling)
           ? what : NGX_SYMCACHE_KEY_UNKNOWN;
}


static ngx_uint_t
ngx_symcache_zone_holds(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    uint32_t spelling)
{
    if (what == NGX_SYMCACHE_KEY_PRESENT) {
        return 1;
    }

    if (ctx->hints[0] != '\0') {

        /* with what the client says beyond the key, it may be found */

        return 0;
    }

    /* under this spelling, or by now, it may be there */

    return what != NGX_SYMCACHE_KEY_ABSENT
           || spelling
              == ngx_symcache_zone_spelling(ctx,
                                            ngx_symcache_zone_forgotten(ctx));
}


void
ngx_symcache_zone_store(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid)
{
    uint32_t                hash, spelling;
    ngx_symcache_entry_t   *e;
    ngx_symcache_memory_t  *zone;

    if (what == NGX_SYMCACHE_KEY_ABSENT && ctx->reply.valid) {

        /* the helper may look for it again after this time */

        valid = ngx_min(valid, ctx->reply.valid);
    }

    zone = ngx_symcache_zone_memory(ctx);
    if (zone == NULL || valid == 0) {
        return;
    }

    if (what != NGX_SYMCACHE_KEY_PRESENT && ctx->hints[0] != '\0') {

        /* it does not count for clients with other hints */

        return;
    }

    if (what == NGX_SYMCACHE_KEY_PRESENT
        && (ctx->nversions == 0 || ctx->nversions > NGX_SYMCACHE_VERSIONS))
    {
        return;
    }

    hash = ngx_symcache_zone_hash(ctx);
    spelling = ngx_symcache_zone_spelling(ctx, ctx->forgotten);

    ngx_symcache_memory_change(zone);

    e = ngx_symcache_zone_find(zone->sh, ctx, hash);

    if (e == NULL) {
        e = ngx_symcache_zone_add(zone, ctx, hash);

    } else if (what == NGX_SYMCACHE_KEY_PENDING
               && e->what == NGX_SYMCACHE_KEY_ABSENT
               && e->u.asked.spelling == spelling
               && ngx_symcache_zone_counts(e)
               && symcache_version_cmp(&e->u.asked.version, &ctx->ask.version)
                  == 0)
    {
        /*
         * No request asks while this entry counts, so another answer has come
         * in the meantime: the job has ended since it was called running.
         */

        e = NULL;
    }

    if (e) {
        e->what = what;
        e->until = ngx_symcache_zone_now() + (uint32_t) valid;
        ngx_symcache_zone_fill(e, ctx, spelling);
    }

    ngx_symcache_memory_changed(zone);
}


/* the lock is held */

static void
ngx_symcache_zone_fill(ngx_symcache_entry_t *e, ngx_symcache_ctx_t *ctx,
    uint32_t spelling)
{
    e->n = 0;
    e->gzipped = 0;
    e->retry_after = ngx_min(ctx->reply.retry_after, 65535);

    if (e->what == NGX_SYMCACHE_KEY_PRESENT) {
        ngx_memcpy(e->u.versions, ctx->versions, sizeof(e->u.versions));
        e->n = ctx->nversions;
        e->gzipped = ctx->gzipped;
        return;
    }

    e->u.asked.version = ctx->ask.version;
    e->u.asked.spelling = spelling;
}


/* the lock is held */

static ngx_symcache_entry_t *
ngx_symcache_zone_add(ngx_symcache_memory_t *zone, ngx_symcache_ctx_t *ctx,
    uint32_t hash)
{
    ngx_uint_t              i;
    symcache_key_t         *key;
    ngx_symcache_entry_t   *e, **bucket;

    key = &ctx->asked.key;

    e = ngx_symcache_zone_alloc(zone, offsetof(ngx_symcache_entry_t, name)
                                      + key->name_len);
    if (e == NULL) {
        return NULL;
    }

    e->hash = hash;
    e->scope = ctx->scope;
    ngx_memcpy(e->guid, key->guid, 16);
    e->age = key->age;
    e->kind = key->kind;
    e->id_type = key->id_type;
    e->build_len = key->build_len;
    e->what = NGX_SYMCACHE_KEY_UNKNOWN;
    e->until = 0;
    e->used = 0;
    e->name_len = (u_char) key->name_len;
    ngx_memcpy(e->name, key->name, key->name_len);

    ngx_queue_insert_head(&zone->sh->queue, &e->queue);
    zone->sh->keys++;

    bucket = &zone->sh->buckets[hash & zone->sh->mask];
    e->next = *bucket;
    *bucket = e;

    for (i = 1; e->next && i < NGX_SYMCACHE_ZONE_CHAIN; i++) {
        e = e->next;
    }

    if (e->next) {
        ngx_symcache_zone_evict(zone, e->next);
    }

    return *bucket;
}


/* the lock is held */

static ngx_symcache_entry_t *
ngx_symcache_zone_alloc(ngx_symcache_memory_t *zone, size_t size)
{
    ngx_uint_t             i;
    ngx_symcache_entry_t  *e, *last;

    e = ngx_slab_alloc_locked(zone->shpool, size);

    /* each eviction frees an entry of this size, or a part of a page */

    for (i = 0; e == NULL && i < NGX_SYMCACHE_ZONE_EVICT; i++) {

        last = ngx_symcache_zone_last(zone->sh);

        if (last == NULL) {
            break;
        }

        ngx_symcache_zone_evict(zone, last);

        e = ngx_slab_alloc_locked(zone->shpool, size);
    }

    return e;
}


/* the next entry to evict, or NULL; the lock is held */

static ngx_symcache_entry_t *
ngx_symcache_zone_last(ngx_symcache_sh_t *sh)
{
    ngx_uint_t             turns;
    ngx_symcache_entry_t  *e;

    for (turns = 0; !ngx_queue_empty(&sh->queue); turns++) {

        e = ngx_queue_data(ngx_queue_last(&sh->queue), ngx_symcache_entry_t,
                           queue);

        if (!e->used || turns == NGX_SYMCACHE_ZONE_TURNS) {
            return e;
        }

        e->used = 0;

        ngx_queue_remove(&e->queue);
        ngx_queue_insert_head(&sh->queue, &e->queue);
    }

    return NULL;
}


/* the lock is held */

static void
ngx_symcache_zone_evict(ngx_symcache_memory_t *zone, ngx_symcache_entry_t *e)
{
    ngx_symcache_zone_remove(zone, e);

    (void) ngx_atomic_fetch_add(
                     &zone->sh->counters[NGX_SYMCACHE_COUNT_EVICTED], 1);
}


/* the lock is held */

static void
ngx_symcache_zone_remove(ngx_symcache_memory_t *zone, ngx_symcache_entry_t *e)
{
    ngx_uint_t              i;
    ngx_symcache_entry_t  **p;

    p = &zone->sh->buckets[e->hash & zone->sh->mask];

    for (i = 0; *p && *p != e && i <= NGX_SYMCACHE_ZONE_CHAIN; i++) {
        p = &(*p)->next;
    }

    if (*p == e) {
        *p = e->next;
    }

    ngx_queue_remove(&e->queue);
    ngx_slab_free_locked(zone->shpool, e);
    zone->sh->keys--;
}


void
ngx_symcache_zone_forget(ngx_symcache_ctx_t *ctx)
{
    uint32_t                hash;
    ngx_symcache_entry_t   *e;
    ngx_symcache_memory_t  *zone;

    zone = ngx_symcache_zone_memory(ctx);
    if (zone == NULL) {
        return;
    }

    hash = ngx_symcache_zone_hash(ctx);

    ngx_symcache_memory_change(zone);

    e = ngx_symcache_zone_find(zone->sh, ctx, hash);

    if (e) {
        ngx_symcache_zone_remove(zone, e);
    }

    ngx_symcache_memory_changed(zone);
}


void
ngx_symcache_zone_count(ngx_symcache_ctx_t *ctx, ngx_symcache_count_e counter)
{
    ngx_symcache_memory_t  *zone;

    if (ctx->conf->zone) {
        zone = ctx->conf->zone->data;
        (void) ngx_atomic_fetch_add(&zone->sh->counters[counter], 1);
    }
}


void
ngx_symcache_zone_done(ngx_symcache_ctx_t *ctx)
{
    if (ctx->conf->zone == NULL) {
        return;
    }

    /* the statuses are the first counters; NONE counts aborted requests */

    ngx_symcache_zone_count(ctx, (ngx_symcache_count_e) ctx->status);

    if (ctx->parsed
        && (ctx->status == NGX_SYMCACHE_ABSENT
            || ctx->status == NGX_SYMCACHE_ERROR))
    {
        ngx_symcache_zone_remember(ctx->conf->zone->data, ctx);
    }
}


static void
ngx_symcache_zone_remember(ngx_symcache_memory_t *zone,
    ngx_symcache_ctx_t *ctx)
{
    ngx_symcache_recent_t  recent, *last;

    ngx_symcache_recent_fill(&recent, ctx);

    ngx_symcache_memory_lock(zone);

    last = &zone->sh->recent[zone->sh->nrecent % NGX_SYMCACHE_RECENT];
    *last = recent;
    zone->sh->nrecent++;

    ngx_symcache_memory_unlock(zone);
}


void
ngx_symcache_zone_report(ngx_shm_zone_t *shm_zone,
    ngx_symcache_report_t *report)
{
    ngx_uint_t              i, n;
    ngx_symcache_sh_t      *sh;
    ngx_symcache_memory_t  *zone;

    zone = shm_zone->data;
    sh = zone->sh;

    report->name = shm_zone->shm.name;
    report->size = shm_zone->shm.size;

    for (i = 0; i < NGX_SYMCACHE_COUNTS; i++) {
        report->counters[i] = sh->counters[i];
    }

    ngx_symcache_memory_lock(zone);

    report->keys = sh->keys;
    report->free = zone->shpool->pfree * ngx_pagesize;
    n = sh->nrecent;
    report->nrecent = ngx_min(n, NGX_SYMCACHE_RECENT);

    for (i = 0; i < report->nrecent; i++) {
        report->recent[i] = sh->recent[(n - 1 - i) % NGX_SYMCACHE_RECENT];
    }

    ngx_symcache_memory_unlock(zone);
}
