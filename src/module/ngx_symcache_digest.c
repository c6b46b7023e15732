
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Repr-Digest for clients that want it.  The helper has computed the SHA-256 of
 * the file and keeps it in an extended attribute.
 */


#include "ngx_symcache.h"

#include <sys/xattr.h>


ngx_int_t
ngx_symcache_digest(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    ssize_t                  n;
    ngx_str_t                value;
    ngx_file_info_t          fi;
    ngx_table_elt_t         *h;
    symcache_digest_t       *digest;
    ngx_http_request_t      *r;
    symcache_digest_times_t  times;

    r = ctx->request;

    if (ctx->gzip) {
        return NGX_OK;
    }

    digest = ngx_palloc(r->pool, sizeof(symcache_digest_t));
    if (digest == NULL) {
        return NGX_ERROR;
    }

    /* by descriptor, as the name may belong to another file by now */

    n = fgetxattr(of->fd, SYMCACHE_DIGEST_ATTRIBUTE, digest,
                  sizeof(symcache_digest_t));

    if (n < 0 || ngx_fd_info(of->fd, &fi) == NGX_FILE_ERROR) {
        return NGX_OK;
    }

    times.mtime = fi.st_mtim.tv_sec;
    times.mtime_nsec = fi.st_mtim.tv_nsec;
    times.ctime = fi.st_ctim.tv_sec;
    times.ctime_nsec = fi.st_ctim.tv_nsec;

    if (!symcache_digest_holds(digest, n, &times)) {
        return NGX_OK;
    }

    value.data = (u_char *) digest->text;
    value.len = SYMCACHE_DIGEST_TEXT;

    h = ngx_symcache_answer_header(r, SYMCACHE_HEADER_DIGEST,
                                   sizeof(SYMCACHE_HEADER_DIGEST) - 1, &value);
    if (h == NULL) {
        return NGX_ERROR;
    }

    /* filters that send another body remove the header that stands here */

    r->headers_out.accept_ranges = h;

    return NGX_OK;
}
