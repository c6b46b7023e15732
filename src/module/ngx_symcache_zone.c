
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The memory of a zone:
 *
 *   +-----------+---------------------------------------------------------+
 *   | slab pool | sh: one ngx_symcache_sh_t                               |
 *   | of nginx  |   buckets ---> chains of entries, by hash of the key    |
 *   |           |   queue -----> the latest first, the last goes first    |
 *   |           |   counters     atomic, without the lock                 |
 *   |           |   recent[16]   a ring of requests that got no file      |
 *   |           +---------------------------------------------------------+
 *   |           | buckets: a pointer for each 256 bytes of the zone       |
 *   |           +---------------------------------------------------------+
 *   |           | entries, 80 bytes and the PDB name each: 128 for names  |
 *   |           | up to 48 bytes, 256 for the others                      |
 *   |           |   next | scope | guid age | until | hash | what, n, ... |
 *   |           |   versions | retry_after | queue | name...              |
 *   +-----------+---------------------------------------------------------+
 *
 * A hit touches a bucket and the two cache lines of its entry, however many
 * keys there are.  It does not move the entry in the queue but marks it, and
 * what is marked when it comes to be the last gets a second turn.  A chain is
 * never longer than NGX_SYMCACHE_ZONE_CHAIN: who asks for keys with the same
 * hash pushes out his own.
 *
 * The mutex of the slab pool guards buckets, queue, entries and ring.  It is
 * taken in this file only; nothing is logged, hashed or allocated from
 * another pool while it is held.  A worker that dies with the lock leaves an
 * entry that cannot be found, or that is not filled, at worst: the bucket is
 * written after the entry and "what" last, and an unknown entry is no answer.
 * The layout may not change at a reload, and does not: module code is only
 * loaded by a new master process.
 */


#include "ngx_symcache_zone.h"


#define NGX_SYMCACHE_ZONE_EVICT   16
#define NGX_SYMCACHE_ZONE_TURNS   64
#define NGX_SYMCACHE_ZONE_CHAIN   16
#define NGX_SYMCACHE_ZONE_BUCKET  256


typedef struct ngx_symcache_entry_s  ngx_symcache_entry_t;


struct ngx_symcache_entry_s {
    ngx_symcache_entry_t   *next;        /* in the bucket */
    uint64_t                scope;
    u_char                  guid[16];
    uint32_t                age;
    uint32_t                until;       /* seconds */
    uint32_t                hash;
    u_char                  what;
    u_char                  n;
    u_char                  gzipped;     /* bits: versions with a sidecar */
    u_char                  used;        /* since it was put in front */

    union {
        symcache_version_t      versions[NGX_SYMCACHE_VERSIONS];

        struct {                         /* if not PRESENT */
            symcache_version_t  version;
            uint32_t            spelling;
        } asked;
    } u;

    uint16_t                retry_after;
    u_char                  name_len;
    ngx_queue_t             queue;
    u_char                  name[1];
};


typedef struct {
    ngx_symcache_entry_t  **buckets;
    ngx_uint_t              mask;        /* of buckets, a power of two */
    ngx_queue_t             queue;
    ngx_uint_t              keys;
    ngx_atomic_t            counters[NGX_SYMCACHE_COUNTS];
    ngx_uint_t              nrecent;
    ngx_symcache_recent_t   recent[NGX_SYMCACHE_RECENT];
} ngx_symcache_sh_t;


typedef struct {
    ngx_symcache_sh_t      *sh;
    ngx_slab_pool_t        *shpool;
} ngx_symcache_zone_ctx_t;


static ngx_int_t ngx_symcache_zone_init(ngx_shm_zone_t *shm_zone, void *data);
static uint32_t ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx);
static uint32_t ngx_symcache_zone_spelling(ngx_symcache_ctx_t *ctx);
static ngx_symcache_entry_t *ngx_symcache_zone_find(ngx_symcache_sh_t *sh,
    ngx_symcache_ctx_t *ctx, uint32_t hash);
static ngx_symcache_entry_t *ngx_symcache_zone_add(
    ngx_symcache_zone_ctx_t *zctx, ngx_symcache_ctx_t *ctx, uint32_t hash);
static ngx_symcache_entry_t *ngx_symcache_zone_alloc(
    ngx_symcache_zone_ctx_t *zctx, size_t size);
static ngx_symcache_entry_t *ngx_symcache_zone_last(ngx_symcache_sh_t *sh);
static void ngx_symcache_zone_evict(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e);
static void ngx_symcache_zone_remove(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e);
static void ngx_symcache_zone_remember(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_ctx_t *ctx);


char *
ngx_symcache_zone_declare(ngx_conf_t *cf, ngx_str_t *name, size_t size)
{
    ngx_shm_zone_t           *shm_zone;
    ngx_symcache_zone_ctx_t  *zctx;

    shm_zone = ngx_shared_memory_add(cf, name, size, &ngx_symcache_module);
    if (shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (shm_zone->data) {
        return "is duplicate";
    }

    zctx = ngx_pcalloc(cf->pool, sizeof(ngx_symcache_zone_ctx_t));
    if (zctx == NULL) {
        return NGX_CONF_ERROR;
    }

    shm_zone->init = ngx_symcache_zone_init;
    shm_zone->data = zctx;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_symcache_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_symcache_zone_ctx_t *old = data;

    size_t                    len, n;
    ngx_symcache_zone_ctx_t  *zctx;

    zctx = shm_zone->data;

    if (old) {
        zctx->sh = old->sh;
        zctx->shpool = old->shpool;
        return NGX_OK;
    }

    zctx->shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (shm_zone->shm.exists) {
        zctx->sh = zctx->shpool->data;
        return NGX_OK;
    }

    zctx->sh = ngx_slab_calloc(zctx->shpool, sizeof(ngx_symcache_sh_t));
    if (zctx->sh == NULL) {
        return NGX_ERROR;
    }

    for (n = 1; n <= shm_zone->shm.size / NGX_SYMCACHE_ZONE_BUCKET / 2; n *= 2)
    {
        /* void */
    }

    zctx->sh->mask = n - 1;
    zctx->sh->buckets = ngx_slab_calloc(zctx->shpool,
                                        n * sizeof(ngx_symcache_entry_t *));
    if (zctx->sh->buckets == NULL) {
        return NGX_ERROR;
    }

    ngx_queue_init(&zctx->sh->queue);

    zctx->shpool->data = zctx->sh;

    len = sizeof(" in symcache_zone \"\"") + shm_zone->shm.name.len;

    zctx->shpool->log_ctx = ngx_slab_alloc(zctx->shpool, len);
    if (zctx->shpool->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(zctx->shpool->log_ctx, " in symcache_zone \"%V\"%Z",
                &shm_zone->shm.name);

    /* a full zone is normal: the key that was not used for longest goes */

    zctx->shpool->log_nomem = 0;

    return NGX_OK;
}


uint64_t
ngx_symcache_zone_scope(ngx_str_t *root, ngx_str_t *store)
{
    uint32_t  a, b;

    ngx_crc32_init(a);
    ngx_crc32_update(&a, root->data, root->len);
    ngx_crc32_update(&a, (u_char *) "", 1);
    ngx_crc32_update(&a, store->data, store->len);
    ngx_crc32_final(a);

    b = ngx_murmur_hash2(root->data, root->len)
        ^ ngx_murmur_hash2(store->data, store->len);

    return (uint64_t) a << 32 | b;
}


/*
 * GUIDs are random, but for those of modules that have none: then both ends of
 * the name tell keys apart.
 */

static uint32_t
ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx)
{
    uint64_t         n[4];
    symcache_key_t  *key;

    key = &ctx->asked.key;

    ngx_memcpy(n, key->guid, 16);

    n[2] = 0;
    n[3] = 0;

    if (key->name_len >= 8) {
        ngx_memcpy(&n[2], key->name, 8);
        ngx_memcpy(&n[3], key->name + key->name_len - 8, 8);

    } else {
        ngx_memcpy(&n[2], key->name, key->name_len);
    }

    n[2] = (n[2] ^ (n[3] << 1) ^ key->age) * 0x9e3779b97f4a7c15;
    n[0] = (n[0] ^ n[1] ^ (n[2] >> 32)) * 0x9e3779b97f4a7c15;

    return (uint32_t) (n[0] >> 32);
}


/* of the name as the client has it: some sources tell cases apart */

static uint32_t
ngx_symcache_zone_spelling(ngx_symcache_ctx_t *ctx)
{
    return ngx_crc32_short((u_char *) ctx->asked.name,
                           ctx->asked.key.name_len);
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
    uint32_t                  hash, spelling;
    ngx_symcache_key_e        what;
    ngx_symcache_entry_t     *e;
    ngx_symcache_zone_ctx_t  *zctx;

    if (ctx->conf->zone == NULL) {
        return NGX_SYMCACHE_KEY_UNKNOWN;
    }

    zctx = ctx->conf->zone->data;
    hash = ngx_symcache_zone_hash(ctx);
    spelling = 0;
    what = NGX_SYMCACHE_KEY_UNKNOWN;

    ngx_shmtx_lock(&zctx->shpool->mutex);

    e = ngx_symcache_zone_find(zctx->sh, ctx, hash);

    if (e && (int32_t) (e->until - (uint32_t) ngx_time()) > 0) {

        what = e->what;

        if (what == NGX_SYMCACHE_KEY_PRESENT) {
            ngx_memcpy(ctx->versions, e->u.versions, sizeof(e->u.versions));
            ctx->nversions = e->n;
            ctx->gzipped = e->gzipped;

        } else if (symcache_version_cmp(&e->u.asked.version, &ctx->ask.version)
                   != 0)
        {
            /* it is about another version */

            what = NGX_SYMCACHE_KEY_UNKNOWN;

        } else if (what == NGX_SYMCACHE_KEY_PENDING) {
            ctx->reply.code = NGX_SYMCACHE_REPLY_PENDING;
            ctx->reply.retry_after = e->retry_after;

        } else {
            spelling = e->u.asked.spelling;
        }

        /* not written in vain: other workers have the line, too */

        if (!e->used) {
            e->used = 1;
        }
    }

    ngx_shmtx_unlock(&zctx->shpool->mutex);

    if (what == NGX_SYMCACHE_KEY_ABSENT
        && spelling != ngx_symcache_zone_spelling(ctx))
    {
        /* it may be there as it is spelled now */

        return NGX_SYMCACHE_KEY_UNKNOWN;
    }

    return what;
}


void
ngx_symcache_zone_store(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid)
{
    uint32_t                  hash, spelling;
    ngx_symcache_entry_t     *e;
    ngx_symcache_zone_ctx_t  *zctx;

    if (ctx->conf->zone == NULL || valid == 0) {
        return;
    }

    if (what == NGX_SYMCACHE_KEY_PRESENT
        && (ctx->nversions == 0 || ctx->nversions > NGX_SYMCACHE_VERSIONS))
    {
        return;
    }

    zctx = ctx->conf->zone->data;
    hash = ngx_symcache_zone_hash(ctx);
    spelling = ngx_symcache_zone_spelling(ctx);

    ngx_shmtx_lock(&zctx->shpool->mutex);

    e = ngx_symcache_zone_find(zctx->sh, ctx, hash);

    if (e == NULL) {
        e = ngx_symcache_zone_add(zctx, ctx, hash);
    }

    if (e) {
        e->what = NGX_SYMCACHE_KEY_UNKNOWN;
        ngx_memory_barrier();

        e->until = (uint32_t) (ngx_time() + valid);
        e->u.asked.version = ctx->ask.version;
        e->u.asked.spelling = spelling;
        e->retry_after = ngx_min(ctx->reply.retry_after, 65535);
        e->n = 0;
        e->gzipped = 0;

        if (what == NGX_SYMCACHE_KEY_PRESENT) {
            ngx_memcpy(e->u.versions, ctx->versions, sizeof(e->u.versions));
            e->n = ctx->nversions;
            e->gzipped = ctx->gzipped;
        }

        ngx_memory_barrier();
        e->what = what;
    }

    ngx_shmtx_unlock(&zctx->shpool->mutex);
}


/* the lock is held */

static ngx_symcache_entry_t *
ngx_symcache_zone_add(ngx_symcache_zone_ctx_t *zctx, ngx_symcache_ctx_t *ctx,
    uint32_t hash)
{
    ngx_uint_t              i;
    symcache_key_t         *key;
    ngx_symcache_entry_t   *e, **bucket;

    key = &ctx->asked.key;

    e = ngx_symcache_zone_alloc(zctx, offsetof(ngx_symcache_entry_t, name)
                                      + key->name_len);
    if (e == NULL) {
        return NULL;
    }

    e->hash = hash;
    e->scope = ctx->scope;
    ngx_memcpy(e->guid, key->guid, 16);
    e->age = key->age;
    e->what = NGX_SYMCACHE_KEY_UNKNOWN;
    e->until = 0;
    e->used = 0;
    e->name_len = (u_char) key->name_len;
    ngx_memcpy(e->name, key->name, key->name_len);

    ngx_queue_insert_head(&zctx->sh->queue, &e->queue);
    zctx->sh->keys++;

    bucket = &zctx->sh->buckets[hash & zctx->sh->mask];
    e->next = *bucket;

    ngx_memory_barrier();

    *bucket = e;

    for (i = 1; e->next && i < NGX_SYMCACHE_ZONE_CHAIN; i++) {
        e = e->next;
    }

    if (e->next) {
        ngx_symcache_zone_evict(zctx, e->next);
    }

    return *bucket;
}


/* the lock is held */

static ngx_symcache_entry_t *
ngx_symcache_zone_alloc(ngx_symcache_zone_ctx_t *zctx, size_t size)
{
    ngx_uint_t             i;
    ngx_symcache_entry_t  *e, *last;

    e = ngx_slab_alloc_locked(zctx->shpool, size);

    /* an entry of the same size is free then, or the page of several is */

    for (i = 0; e == NULL && i < NGX_SYMCACHE_ZONE_EVICT; i++) {

        last = ngx_symcache_zone_last(zctx->sh);

        if (last == NULL) {
            break;
        }

        ngx_symcache_zone_evict(zctx, last);

        e = ngx_slab_alloc_locked(zctx->shpool, size);
    }

    return e;
}


/* the lock is held; the next to go, or NULL */

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
ngx_symcache_zone_evict(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e)
{
    ngx_symcache_zone_remove(zctx, e);

    (void) ngx_atomic_fetch_add(
                     &zctx->sh->counters[NGX_SYMCACHE_COUNT_EVICTED], 1);
}


/* the lock is held */

static void
ngx_symcache_zone_remove(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e)
{
    ngx_uint_t              i;
    ngx_symcache_entry_t  **p;

    p = &zctx->sh->buckets[e->hash & zctx->sh->mask];

    for (i = 0; *p && *p != e && i <= NGX_SYMCACHE_ZONE_CHAIN; i++) {
        p = &(*p)->next;
    }

    if (*p == e) {
        *p = e->next;
    }

    ngx_queue_remove(&e->queue);
    ngx_slab_free_locked(zctx->shpool, e);
    zctx->sh->keys--;
}


void
ngx_symcache_zone_forget(ngx_symcache_ctx_t *ctx)
{
    uint32_t                  hash;
    ngx_symcache_entry_t     *e;
    ngx_symcache_zone_ctx_t  *zctx;

    if (ctx->conf->zone == NULL) {
        return;
    }

    zctx = ctx->conf->zone->data;
    hash = ngx_symcache_zone_hash(ctx);

    ngx_shmtx_lock(&zctx->shpool->mutex);

    e = ngx_symcache_zone_find(zctx->sh, ctx, hash);

    if (e) {
        ngx_symcache_zone_remove(zctx, e);
    }

    ngx_shmtx_unlock(&zctx->shpool->mutex);
}


void
ngx_symcache_zone_count(ngx_symcache_ctx_t *ctx, ngx_symcache_count_e counter)
{
    ngx_symcache_zone_ctx_t  *zctx;

    if (ctx->conf->zone) {
        zctx = ctx->conf->zone->data;
        (void) ngx_atomic_fetch_add(&zctx->sh->counters[counter], 1);
    }
}


void
ngx_symcache_zone_done(ngx_symcache_ctx_t *ctx)
{
    if (ctx->conf->zone == NULL) {
        return;
    }

    /* the statuses are the first counters, none of them is an abort */

    ngx_symcache_zone_count(ctx, (ngx_symcache_count_e) ctx->status);

    if (ctx->parsed
        && (ctx->status == NGX_SYMCACHE_ABSENT
            || ctx->status == NGX_SYMCACHE_ERROR))
    {
        ngx_symcache_zone_remember(ctx->conf->zone->data, ctx);
    }
}


static void
ngx_symcache_zone_remember(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_ctx_t *ctx)
{
    ngx_symcache_recent_t  recent, *last;

    ngx_symcache_recent_fill(&recent, ctx);

    ngx_shmtx_lock(&zctx->shpool->mutex);

    last = &zctx->sh->recent[zctx->sh->nrecent % NGX_SYMCACHE_RECENT];
    *last = recent;
    zctx->sh->nrecent++;

    ngx_shmtx_unlock(&zctx->shpool->mutex);
}


void
ngx_symcache_zone_report(ngx_shm_zone_t *shm_zone,
    ngx_symcache_report_t *report)
{
    ngx_uint_t                i, n;
    ngx_symcache_sh_t        *sh;
    ngx_symcache_zone_ctx_t  *zctx;

    zctx = shm_zone->data;
    sh = zctx->sh;

    report->name = shm_zone->shm.name;
    report->size = shm_zone->shm.size;

    for (i = 0; i < NGX_SYMCACHE_COUNTS; i++) {
        report->counters[i] = sh->counters[i];
    }

    ngx_shmtx_lock(&zctx->shpool->mutex);

    report->keys = sh->keys;
    report->free = zctx->shpool->pfree * ngx_pagesize;
    n = sh->nrecent;
    report->nrecent = ngx_min(n, NGX_SYMCACHE_RECENT);

    for (i = 0; i < report->nrecent; i++) {
        report->recent[i] = sh->recent[(n - 1 - i) % NGX_SYMCACHE_RECENT];
    }

    ngx_shmtx_unlock(&zctx->shpool->mutex);
}
