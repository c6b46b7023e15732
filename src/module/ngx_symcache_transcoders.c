
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which versions the helper makes for a store.  It writes them to a small file,
 * <root>/.transcoders, which each worker looks at once a second for each root.
 */


#include "ngx_symcache.h"


#define NGX_SYMCACHE_TRANSCODERS_ROOTS     16
#define NGX_SYMCACHE_TRANSCODERS_VERSIONS  64
#define NGX_SYMCACHE_TRANSCODERS_FILE      4096


typedef struct {
    size_t              len;
    u_char              root[NGX_MAX_PATH];
    time_t              checked;
    time_t              mtime;
    off_t               size;
    ngx_file_uniq_t     uniq;
    ngx_uint_t          known;
    int                 n;
    symcache_version_t  versions[NGX_SYMCACHE_TRANSCODERS_VERSIONS];
} ngx_symcache_transcoders_root_t;


struct ngx_symcache_transcoders_s {
    ngx_symcache_transcoders_root_t  roots[NGX_SYMCACHE_TRANSCODERS_ROOTS];
};


static ngx_symcache_transcoders_root_t *ngx_symcache_transcoders_root(
    ngx_symcache_transcoders_t *transcoders, ngx_str_t *root);
static void ngx_symcache_transcoders_check(
    ngx_symcache_transcoders_root_t *tr, ngx_log_t *log);
static void ngx_symcache_transcoders_read(
    ngx_symcache_transcoders_root_t *tr, u_char *name, ngx_log_t *log);
static void ngx_symcache_transcoders_parse(
    ngx_symcache_transcoders_root_t *tr, u_char *p, u_char *last);


ngx_symcache_transcoders_t *
ngx_symcache_transcoders_create(ngx_pool_t *pool)
{
    return ngx_pcalloc(pool, sizeof(ngx_symcache_transcoders_t));
}


void
ngx_symcache_transcoders_best(ngx_symcache_ctx_t *ctx)
{
    int                               best;
    ngx_symcache_transcoders_root_t  *tr;
    ngx_symcache_main_conf_t         *smcf;

    ctx->has_made = 0;

    if (ctx->conf->upstream.upstream == NULL) {

        /* without a helper nothing is made, and that is known */

        ctx->transcoders_known = 1;
        return;
    }

    ctx->transcoders_known = 0;

    if (ctx->asked.key.kind != SYMCACHE_KIND_SYMCACHE) {

        /* the list is of SymCaches, and there is one version of the others */

        return;
    }

    if (ctx->root.len >= NGX_MAX_PATH - sizeof(SYMCACHE_TRANSCODERS_FILE)) {
        return;
    }

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    tr = ngx_symcache_transcoders_root(smcf->transcoders, &ctx->root);

    if (tr->checked != ngx_time()) {
        tr->checked = ngx_time();
        ngx_symcache_transcoders_check(tr, ctx->request->connection->log);
    }

    if (!tr->known) {
        return;
    }

    ctx->transcoders_known = 1;

    best = symcache_version_best(tr->versions, tr->n, &ctx->ask.version,
                                 &ctx->ask.min);
    if (best != -1) {
        ctx->made = tr->versions[best];
        ctx->has_made = 1;
    }
}


static ngx_symcache_transcoders_root_t *
ngx_symcache_transcoders_root(ngx_symcache_transcoders_t *transcoders,
    ngx_str_t *root)
{
    ngx_uint_t                        i;
    ngx_symcache_transcoders_root_t  *tr, *oldest;

    oldest = &transcoders->roots[0];

    for (i = 0; i < NGX_SYMCACHE_TRANSCODERS_ROOTS; i++) {
        tr = &transcoders->roots[i];

        if (tr->len == root->len
            && tr->checked
            && ngx_memcmp(tr->root, root->data, root->len) == 0)
        {
            return tr;
        }

        if (tr->checked < oldest->checked) {
            oldest = tr;
        }
    }

    ngx_memcpy(oldest->root, root->data, root->len);
    oldest->len = root->len;
    oldest->checked = 0;
    oldest->mtime = 0;
    oldest->size = 0;
    oldest->uniq = 0;
    oldest->known = 0;

    return oldest;
}


static void
ngx_symcache_transcoders_check(ngx_symcache_transcoders_root_t *tr,
    ngx_log_t *log)
{
    u_char          *p, name[NGX_MAX_PATH + 1];
    ngx_file_info_t  fi;

    p = ngx_cpymem(name, tr->root, tr->len);
    *p++ = '/';
    ngx_memcpy(p, SYMCACHE_TRANSCODERS_FILE,
               sizeof(SYMCACHE_TRANSCODERS_FILE));

    if (ngx_file_info(name, &fi) == NGX_FILE_ERROR) {

        if (ngx_errno != NGX_ENOENT && ngx_errno != NGX_ENOTDIR) {
            ngx_log_error(NGX_LOG_CRIT, log, ngx_errno,
                          ngx_file_info_n " \"%s\" failed", name);
        }

        tr->known = 0;
        return;
    }

    if (tr->known
        && tr->mtime == ngx_file_mtime(&fi)
        && tr->size == ngx_file_size(&fi)
        && tr->uniq == ngx_file_uniq(&fi))
    {
        return;
    }

    tr->known = 0;
    tr->mtime = ngx_file_mtime(&fi);
    tr->size = ngx_file_size(&fi);
    tr->uniq = ngx_file_uniq(&fi);

    ngx_symcache_transcoders_read(tr, name, log);
}


static void
ngx_symcache_transcoders_read(ngx_symcache_transcoders_root_t *tr,
    u_char *name, ngx_log_t *log)
{
    u_char    buf[NGX_SYMCACHE_TRANSCODERS_FILE];
    ssize_t   n;
    ngx_fd_t  fd;

    /* nonblocking, as a FIFO in this place would block the worker */

    fd = ngx_open_file(name, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                       NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_log_error(NGX_LOG_CRIT, log, ngx_errno,
                      ngx_open_file_n " \"%s\" failed", name);
        return;
    }

    n = ngx_read_fd(fd, buf, NGX_SYMCACHE_TRANSCODERS_FILE);

    if (n == -1) {
        ngx_log_error(NGX_LOG_CRIT, log, ngx_errno,
                      ngx_read_fd_n " \"%s\" failed", name);

    } else {
        tr->known = 1;
        ngx_symcache_transcoders_parse(tr, buf, buf + n);
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_ALERT, log, ngx_errno,
                      ngx_close_file_n " \"%s\" failed", name);
    }
}


static void
ngx_symcache_transcoders_parse(ngx_symcache_transcoders_root_t *tr, u_char *p,
    u_char *last)
{
    u_char  *end;

    tr->n = 0;

    while (p < last && tr->n < NGX_SYMCACHE_TRANSCODERS_VERSIONS) {

        end = ngx_strlchr(p, last, LF);
        if (end == NULL) {
            end = last;
        }

        /* lines that are not versions are skipped */

        if (symcache_version_parse((char *) p, end - p,
                                   &tr->versions[tr->n]))
        {
            tr->n++;
        }

        p = end + 1;
    }
}
