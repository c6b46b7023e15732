
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a worker remembers of the folders of keys that it has read, where no
 * zone does: the versions in them.  A folder is the same as long as its inode
 * and its ctime are, so a look at it takes one system call and not five, and
 * nothing is believed that is not true any more.
 */


#include "ngx_symcache.h"


#define NGX_SYMCACHE_FOLDER_SETS  2048
#define NGX_SYMCACHE_FOLDER_WAYS  4

/*
 * ctime is taken in seconds: what changes within the second in which the
 * folder was read must not look the same afterwards.
 */

#define NGX_SYMCACHE_FOLDER_REST  2


typedef struct {
    ngx_file_uniq_t       uniq;
    uint64_t              dev;
    time_t                ctime;
    symcache_version_t    versions[NGX_SYMCACHE_VERSIONS];
    uint16_t              n;            /* 0: unused */
    uint16_t              gzipped;
} ngx_symcache_folder_t;


struct ngx_symcache_folders_s {
    ngx_uint_t             next;        /* way that is given up */
    ngx_symcache_folder_t  sets[NGX_SYMCACHE_FOLDER_SETS]
                               [NGX_SYMCACHE_FOLDER_WAYS];
};


static ngx_symcache_folder_t *ngx_symcache_folder_set(ngx_symcache_ctx_t *ctx,
    ngx_file_info_t *fi);
static ngx_uint_t ngx_symcache_folder_is(ngx_symcache_folder_t *folder,
    ngx_file_info_t *fi);


ngx_symcache_folders_t *
ngx_symcache_folders_create(ngx_pool_t *pool)
{
    return ngx_pcalloc(pool, sizeof(ngx_symcache_folders_t));
}


ngx_int_t
ngx_symcache_folder_recall(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    ngx_uint_t              i;
    ngx_symcache_folder_t  *folder;

    folder = ngx_symcache_folder_set(ctx, fi);

    for (i = 0; i < NGX_SYMCACHE_FOLDER_WAYS; i++, folder++) {

        if (folder->n
            && ngx_symcache_folder_is(folder, fi)
            && folder->ctime == fi->st_ctime)
        {
            ngx_memcpy(ctx->versions, folder->versions,
                       sizeof(folder->versions));
            ctx->nversions = folder->n;
            ctx->gzipped = folder->gzipped;

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


void
ngx_symcache_folder_keep(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    ngx_uint_t                 i;
    ngx_symcache_folder_t     *set, *folder;
    ngx_symcache_main_conf_t  *smcf;

    if (ctx->nversions == 0
        || ctx->nversions > NGX_SYMCACHE_VERSIONS
        || ngx_time() - fi->st_ctime < NGX_SYMCACHE_FOLDER_REST)
    {
        return;
    }

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    set = ngx_symcache_folder_set(ctx, fi);
    folder = NULL;

    for (i = 0; i < NGX_SYMCACHE_FOLDER_WAYS; i++) {

        if (set[i].n == 0 || ngx_symcache_folder_is(&set[i], fi)) {
            folder = &set[i];
            break;
        }
    }

    if (folder == NULL) {
        folder = &set[smcf->folders->next++ % NGX_SYMCACHE_FOLDER_WAYS];
    }

    folder->uniq = ngx_file_uniq(fi);
    folder->dev = fi->st_dev;
    folder->ctime = fi->st_ctime;
    ngx_memcpy(folder->versions, ctx->versions, sizeof(folder->versions));
    folder->n = ctx->nversions;
    folder->gzipped = ctx->gzipped;
}


static ngx_symcache_folder_t *
ngx_symcache_folder_set(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi)
{
    uint32_t                   hash;
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    hash = (uint32_t) ngx_file_uniq(fi) * 0x9e3779b1;

    return smcf->folders->sets[(hash >> 16) % NGX_SYMCACHE_FOLDER_SETS];
}


static ngx_uint_t
ngx_symcache_folder_is(ngx_symcache_folder_t *folder, ngx_file_info_t *fi)
{
    return folder->uniq == ngx_file_uniq(fi)
           && folder->dev == (uint64_t) fi->st_dev;
}
