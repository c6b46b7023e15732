
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The memory of a zone:
 *
 *   +-----------+---------------------------------------------------------+
 *   | slab pool | sh: one ngx_symcache_sh_t                               |
 *   | of nginx  |   rbtree ----> by hash, then by the whole key           |
 *   |           |   queue -----> most recently used first, the last goes  |
 *   |           |   counters     atomic, without the lock                 |
 *   |           |   recent[16]   a ring of requests that got no file      |
 *   |           +---------------------------------------------------------+
 *   |           | entries, 112 bytes and the PDB name each: 128 for names |
 *   |           | up to 16 bytes, 256 for most others                     |
 *   |           |   node | queue | scope | guid age | until | versions |  |
 *   |           |   version | retry_after | what | n | gzipped | name...   |
 *   +-----------+---------------------------------------------------------+
 *
 * The mutex of the slab pool guards tree, queue, entries and ring.  It is
 * taken in this file only; nothing is logged, hashed or allocated from
 * another pool while it is held.  A worker that dies with the lock leaves an
 * entry that is linked but not filled at worst: "what" is written last, and
 * an unknown entry is no answer.  The layout may not change at a reload, and
 * does not: module code is only loaded by a new master process.
 */


#include "ngx_symcache_zone.h"


#define NGX_SYMCACHE_ZONE_EVICT  16


typedef struct {
    ngx_rbtree_node_t       node;
    ngx_queue_t             queue;
    uint64_t                scope;
    u_char                  guid[16];
    uint32_t                age;
    uint32_t                until;       /* seconds */
    symcache_version_t      versions[NGX_SYMCACHE_VERSIONS];
    symcache_version_t      version;     /* asked for: ABSENT, PENDING */
    uint16_t                retry_after;
    u_char                  what;
    u_char                  n;
    u_char                  gzipped;     /* bits: versions with a sidecar */
    u_char                  name_len;
    u_char                  name[1];
} ngx_symcache_entry_t;


typedef struct {
    ngx_rbtree_t            rbtree;
    ngx_rbtree_node_t       sentinel;
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
static char *ngx_symcache_zone_declare(ngx_conf_t *cf, ngx_str_t *name,
    ngx_str_t *size);
static void ngx_symcache_zone_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_int_t ngx_symcache_zone_cmp(ngx_symcache_entry_t *e,
    uint64_t scope, u_char *guid, uint32_t age, u_char *name, size_t len);
static uint32_t ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx);
static ngx_symcache_entry_t *ngx_symcache_zone_find(ngx_symcache_sh_t *sh,
    ngx_symcache_ctx_t *ctx, uint32_t hash);
static ngx_symcache_entry_t *ngx_symcache_zone_add(
    ngx_symcache_zone_ctx_t *zctx, ngx_symcache_ctx_t *ctx, uint32_t hash);
static void ngx_symcache_zone_remove(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e);
static void ngx_symcache_zone_remember(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_ctx_t *ctx);


char *
ngx_symcache_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    u_char     *p;
    ngx_str_t  *value, name, size;

    value = cf->args->elts;

    p = (u_char *) ngx_strchr(value[1].data, ':');

    if (p) {
        name.data = value[1].data;
        name.len = p - name.data;
        size.data = p + 1;
        size.len = value[1].data + value[1].len - size.data;

        if (cf->cmd_type != NGX_HTTP_MAIN_CONF) {
            return "takes a size in \"http\" only";
        }

        return ngx_symcache_zone_declare(cf, &name, &size);
    }

    if (slcf->zone != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    if (ngx_strcmp(value[1].data, "off") == 0) {
        slcf->zone = NULL;
        return NGX_CONF_OK;
    }

    slcf->zone = ngx_shared_memory_add(cf, &value[1], 0, &ngx_symcache_module);

    return slcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_symcache_zone_declare(ngx_conf_t *cf, ngx_str_t *name, ngx_str_t *size)
{
    ssize_t                   n;
    ngx_shm_zone_t           *shm_zone;
    ngx_symcache_zone_ctx_t  *zctx;

    if (name->len == 0) {
        return "needs a name";
    }

    n = ngx_parse_size(size);

    if (n == NGX_ERROR) {
        return "has an invalid size";
    }

    if (n < (ssize_t) (8 * ngx_pagesize)) {
        return "is too small, a zone has at least eight memory pages";
    }

    shm_zone = ngx_shared_memory_add(cf, name, n, &ngx_symcache_module);
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

    size_t                    len;
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

    zctx->shpool->data = zctx->sh;

    ngx_rbtree_init(&zctx->sh->rbtree, &zctx->sh->sentinel,
                    ngx_symcache_zone_insert);
    ngx_queue_init(&zctx->sh->queue);

    len = sizeof(" in symcache_zone \"\"") + shm_zone->shm.name.len;

    zctx->shpool->log_ctx = ngx_slab_alloc(zctx->shpool, len);
    if (zctx->shpool->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(zctx->shpool->log_ctx, " in symcache_zone \"%V\"%Z",
                &shm_zone->shm.name);

    /* a full zone is normal: the least recently used key goes */

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


static void
ngx_symcache_zone_insert(ngx_rbtree_node_t *temp, ngx_rbtree_node_t *node,
    ngx_rbtree_node_t *sentinel)
{
    ngx_rbtree_node_t     **p;
    ngx_symcache_entry_t   *e, *t;

    e = (ngx_symcache_entry_t *) node;

    for ( ;; ) {

        if (node->key != temp->key) {
            p = (node->key < temp->key) ? &temp->left : &temp->right;

        } else {
            t = (ngx_symcache_entry_t *) temp;
            p = (ngx_symcache_zone_cmp(t, e->scope, e->guid, e->age, e->name,
                                       e->name_len)
                 < 0)
                ? &temp->left : &temp->right;
        }

        if (*p == sentinel) {
            break;
        }

        temp = *p;
    }

    *p = node;
    node->parent = temp;
    node->left = sentinel;
    node->right = sentinel;
    ngx_rbt_red(node);
}


/* the key given, compared with that of the entry */

static ngx_int_t
ngx_symcache_zone_cmp(ngx_symcache_entry_t *e, uint64_t scope, u_char *guid,
    uint32_t age, u_char *name, size_t len)
{
    ngx_int_t  rc;

    if (scope != e->scope) {
        return scope < e->scope ? -1 : 1;
    }

    if (age != e->age) {
        return age < e->age ? -1 : 1;
    }

    rc = ngx_memcmp(guid, e->guid, 16);
    if (rc) {
        return rc;
    }

    return ngx_memn2cmp(name, e->name, len, e->name_len);
}


static uint32_t
ngx_symcache_zone_hash(ngx_symcache_ctx_t *ctx)
{
    /* GUIDs are random, but a client chooses them: the name is in it, too */

    return ngx_murmur_hash2(ctx->asked.key.guid, 16)
           ^ ngx_murmur_hash2((u_char *) ctx->asked.key.name,
                              ctx->asked.key.name_len);
}


static ngx_symcache_entry_t *
ngx_symcache_zone_find(ngx_symcache_sh_t *sh, ngx_symcache_ctx_t *ctx,
    uint32_t hash)
{
    ngx_int_t              rc;
    ngx_rbtree_node_t     *node, *sentinel;
    ngx_symcache_entry_t  *e;

    node = sh->rbtree.root;
    sentinel = sh->rbtree.sentinel;

    while (node != sentinel) {

        if (hash != node->key) {
            node = (hash < node->key) ? node->left : node->right;
            continue;
        }

        e = (ngx_symcache_entry_t *) node;

        rc = ngx_symcache_zone_cmp(e, ctx->scope, ctx->asked.key.guid,
                                   ctx->asked.key.age,
                                   (u_char *) ctx->asked.key.name,
                                   ctx->asked.key.name_len);
        if (rc == 0) {
            return e;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


ngx_symcache_key_e
ngx_symcache_zone_lookup(ngx_symcache_ctx_t *ctx)
{
    uint32_t                  hash;
    ngx_symcache_key_e        what;
    ngx_symcache_entry_t     *e;
    ngx_symcache_zone_ctx_t  *zctx;

    if (ctx->conf->zone == NULL) {
        return NGX_SYMCACHE_KEY_UNKNOWN;
    }

    zctx = ctx->conf->zone->data;
    hash = ngx_symcache_zone_hash(ctx);
    what = NGX_SYMCACHE_KEY_UNKNOWN;

    ngx_shmtx_lock(&zctx->shpool->mutex);

    e = ngx_symcache_zone_find(zctx->sh, ctx, hash);

    if (e && (int32_t) (e->until - (uint32_t) ngx_time()) > 0) {

        what = e->what;

        if (what == NGX_SYMCACHE_KEY_PRESENT) {
            ngx_memcpy(ctx->versions, e->versions, sizeof(e->versions));
            ctx->nversions = e->n;
            ctx->gzipped = e->gzipped;

        } else if (symcache_version_cmp(&e->version, &ctx->ask.version) != 0) {

            /* it is about another version */

            what = NGX_SYMCACHE_KEY_UNKNOWN;

        } else if (what == NGX_SYMCACHE_KEY_PENDING) {
            ctx->reply.code = NGX_SYMCACHE_REPLY_PENDING;
            ctx->reply.retry_after = e->retry_after;
        }

        ngx_queue_remove(&e->queue);
        ngx_queue_insert_head(&zctx->sh->queue, &e->queue);
    }

    ngx_shmtx_unlock(&zctx->shpool->mutex);

    return what;
}


void
ngx_symcache_zone_store(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid)
{
    uint32_t                  hash;
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

    ngx_shmtx_lock(&zctx->shpool->mutex);

    e = ngx_symcache_zone_find(zctx->sh, ctx, hash);

    if (e == NULL) {
        e = ngx_symcache_zone_add(zctx, ctx, hash);
    }

    if (e) {
        e->what = NGX_SYMCACHE_KEY_UNKNOWN;
        ngx_memory_barrier();

        e->until = (uint32_t) (ngx_time() + valid);
        e->version = ctx->ask.version;
        e->retry_after = ngx_min(ctx->reply.retry_after, 65535);
        e->n = 0;
        e->gzipped = 0;

        if (what == NGX_SYMCACHE_KEY_PRESENT) {
            ngx_memcpy(e->versions, ctx->versions, sizeof(e->versions));
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
    size_t                 size;
    ngx_uint_t             i;
    ngx_symcache_entry_t  *e, *last;

    size = offsetof(ngx_symcache_entry_t, name) + ctx->asked.key.name_len;

    e = ngx_slab_alloc_locked(zctx->shpool, size);

    /* an entry of the same size is free then, or the page of several is */

    for (i = 0; e == NULL && i < NGX_SYMCACHE_ZONE_EVICT; i++) {

        if (ngx_queue_empty(&zctx->sh->queue)) {
            return NULL;
        }

        last = ngx_queue_data(ngx_queue_last(&zctx->sh->queue),
                              ngx_symcache_entry_t, queue);

        ngx_symcache_zone_remove(zctx, last);
        (void) ngx_atomic_fetch_add(
                     &zctx->sh->counters[NGX_SYMCACHE_COUNT_EVICTED], 1);

        e = ngx_slab_alloc_locked(zctx->shpool, size);
    }

    if (e == NULL) {
        return NULL;
    }

    e->node.key = hash;
    e->scope = ctx->scope;
    ngx_memcpy(e->guid, ctx->asked.key.guid, 16);
    e->age = ctx->asked.key.age;
    e->what = NGX_SYMCACHE_KEY_UNKNOWN;
    e->until = 0;
    e->name_len = (u_char) ctx->asked.key.name_len;
    ngx_memcpy(e->name, ctx->asked.key.name, ctx->asked.key.name_len);

    ngx_rbtree_insert(&zctx->sh->rbtree, &e->node);
    ngx_queue_insert_head(&zctx->sh->queue, &e->queue);
    zctx->sh->keys++;

    return e;
}


/* the lock is held */

static void
ngx_symcache_zone_remove(ngx_symcache_zone_ctx_t *zctx,
    ngx_symcache_entry_t *e)
{
    ngx_queue_remove(&e->queue);
    ngx_rbtree_delete(&zctx->sh->rbtree, &e->node);
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
    size_t                 i, len;
    ngx_symcache_recent_t  recent, *last;

    /* cleared: a page shows what is behind a NUL to nobody */

    ngx_memzero(&recent, sizeof(ngx_symcache_recent_t));

    recent.time = ngx_time();
    recent.status = ctx->status;
    recent.version = ctx->ask.version;

    symcache_id_print((char *) recent.id, &ctx->asked.key);

    len = ngx_min(ctx->asked.key.name_len, NGX_SYMCACHE_RECENT_NAME);

    /* not in the middle of a character */

    while (len && len < ctx->asked.key.name_len
           && (ctx->asked.key.name[len] & 0xc0) == 0x80)
    {
        len--;
    }

    ngx_memcpy(recent.name, ctx->asked.key.name, len);

    len = ngx_min(ctx->reason.len, NGX_SYMCACHE_RECENT_REASON);

    for (i = 0; i < len; i++) {
        recent.reason[i] = (ctx->reason.data[i] >= ' '
                            && ctx->reason.data[i] < 0x7f)
                           ? ctx->reason.data[i] : '?';
    }

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
