
/*
 * Copyright (C) the ngx_symcache authors
 *
 * A cache of each worker for locations without a zone: the versions that were
 * found in the folders of keys.  A folder is unchanged if its inode and ctime
 * are, so one stat() replaces reading it, and no entry is ever out of date.
 */


#include "ngx_symcache.h"


#define NGX_SYMCACHE_DIRCACHE_SETS  2048
#define NGX_SYMCACHE_DIRCACHE_WAYS  4

/*
 * Not all file systems have ctime in more than seconds.  A folder that was
 * changed in the last seconds is not kept, because another change within the
 * same second would not show.
 */

#define NGX_SYMCACHE_DIRCACHE_REST  2


typedef struct {
    ngx_file_uniq_t       uniq;
    uint64_t              dev;
    struct timespec       ctime;
    symcache_version_t    versions[NGX_SYMCACHE_VERSIONS];
    uint16_t              n;            /* 0: the entry is unused */
    u_char                gzipped;
    u_char                kind;         /* a folder has files of several */
} ngx_symcache_dircache_entry_t;


struct ngx_symcache_dircache_s {
    ngx_uint_t             next;        /* the way to evict */
    ngx_symcache_dircache_entry_t  sets[NGX_SYMCACHE_DIRCACHE_SETS]
                               [NGX_SYMCACHE_DIRCACHE_WAYS];
};


static ngx_symcache_dircache_entry_t *ngx_symcache_dircache_set(
    ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi);
static ngx_uint_t ngx_symcache_dircache_is(
    ngx_symcache_dircache_entry_t *entry, ngx_symcache_ctx_t *ctx,
    ngx_file_info_t *fi);


ngx_symcache_dircache_t *
ngx_symcache_dircache_create(ngx_pool_t *pool)
{
    return ngx_pcalloc(pool, sizeof(ngx_symcache_dircache_t));
}


ngx_int_t
ngx_symcache_dircache_recall(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    ngx_uint_t                      i;
    ngx_symcache_dircache_entry_t  *entry;

    entry = ngx_symcache_dircache_set(ctx, fi);

    for (i = 0; i < NGX_SYMCACHE_DIRCACHE_WAYS; i++, entry++) {

        if (entry->n
            && ngx_symcache_dircache_is(entry, ctx, fi)
            && entry->ctime.tv_sec == fi->st_ctim.tv_sec
            && entry->ctime.tv_nsec == fi->st_ctim.tv_nsec)
        {
            ngx_memcpy(ctx->versions, entry->versions,
                       sizeof(entry->versions));
            ctx->nversions = entry->n;
            ctx->gzipped = entry->gzipped;

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


void
ngx_symcache_dircache_keep(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    ngx_uint_t                      i;
    ngx_symcache_dircache_entry_t  *set, *entry;
    ngx_symcache_main_conf_t       *smcf;

    if (ctx->nversions == 0
        || ctx->nversions > NGX_SYMCACHE_VERSIONS
        || ngx_time() - fi->st_ctime < NGX_SYMCACHE_DIRCACHE_REST)
    {
        return;
    }

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    set = ngx_symcache_dircache_set(ctx, fi);
    entry = NULL;

    for (i = 0; i < NGX_SYMCACHE_DIRCACHE_WAYS; i++) {

        if (set[i].n == 0 || ngx_symcache_dircache_is(&set[i], ctx, fi)) {
            entry = &set[i];
            break;
        }
    }

    if (entry == NULL) {
        entry = &set[smcf->dircache->next++ % NGX_SYMCACHE_DIRCACHE_WAYS];
    }

    entry->uniq = ngx_file_uniq(fi);
    entry->dev = fi->st_dev;
    entry->ctime = fi->st_ctim;
    ngx_memcpy(entry->versions, ctx->versions, sizeof(entry->versions));
    entry->n = ctx->nversions;
    entry->gzipped = ctx->gzipped;
    entry->kind = ctx->asked.key.kind;
}


static ngx_symcache_dircache_entry_t *
ngx_symcache_dircache_set(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    uint32_t                   hash;
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    hash = (uint32_t) ngx_file_uniq(fi) * 0x9e3779b1;

    return smcf->dircache->sets[(hash >> 16) % NGX_SYMCACHE_DIRCACHE_SETS];
}


static ngx_uint_t
ngx_symcache_dircache_is(ngx_symcache_dircache_entry_t *entry,
    ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    return entry->uniq == ngx_file_uniq(fi)
           && entry->dev == (uint64_t) fi->st_dev
           && entry->kind == ctx->asked.key.kind;
}
