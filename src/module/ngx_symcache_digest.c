
/*
 * Copyright (C) the ngx_symcache authors
 *
 * SHA-256 of a file, which the helper has left with it, for clients that ask.
 */


#include "ngx_symcache.h"

#include <sys/xattr.h>


static ngx_uint_t ngx_symcache_digest_may_be_coded(ngx_http_request_t *r);


ngx_int_t
ngx_symcache_digest(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of,
    ngx_table_elt_t **h)
{
    ssize_t                  n;
    ngx_str_t                value;
    ngx_file_info_t          fi;
    symcache_digest_t       *digest;
    ngx_http_request_t      *r;
    symcache_digest_times_t  times;

    r = ctx->request;

    if (ctx->gzip || ngx_symcache_digest_may_be_coded(r)) {
        return NGX_OK;
    }

    digest = ngx_palloc(r->pool, sizeof(symcache_digest_t));
    if (digest == NULL) {
        return NGX_ERROR;
    }

    /* of the file that is open: its name may be another one's by now */

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

    *h = ngx_symcache_answer_header(r, SYMCACHE_HEADER_DIGEST,
                                    sizeof(SYMCACHE_HEADER_DIGEST) - 1,
                                    &value);

    return *h ? NGX_OK : NGX_ERROR;
}


/*
 * The digest is that of the file, and a filter of nginx may yet compress what
 * is sent: that would be another one.
 */

static ngx_uint_t
ngx_symcache_digest_may_be_coded(ngx_http_request_t *r)
{
#if (NGX_HTTP_GZIP)
    ngx_table_elt_t  *h;

    h = r->headers_in.accept_encoding;

    return h && (h->value.len != sizeof("identity") - 1
                 || ngx_strncasecmp(h->value.data, (u_char *) "identity",
                                    sizeof("identity") - 1)
                    != 0);
#else
    return 0;
#endif
}
