
/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcache_gzip: whether the file itself is sent, or its gzip file <file>.gz,
 * which the helper keeps beside it.
 */


#include "ngx_symcache_zone.h"


#if (NGX_HTTP_GZIP)


static ngx_uint_t ngx_symcache_gzip_expected(ngx_symcache_ctx_t *ctx,
    ngx_uint_t *i);
static ngx_int_t ngx_symcache_gzip_open(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);
static ngx_int_t ngx_symcache_gzip_vary(ngx_http_request_t *r);


ngx_int_t
ngx_symcache_gzip(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    ngx_uint_t           i;
    ngx_http_request_t  *r;

    r = ctx->request;

    if (ngx_symcache_gzip_vary(r) != NGX_OK) {
        return NGX_ERROR;
    }

    /* a subrequest is a part of a page, which cannot be compressed alone */

    if (r != r->main || !ngx_symcache_gzip_expected(ctx, &i)) {
        return NGX_OK;
    }

    if (ctx->conf->gzip == NGX_SYMCACHE_GZIP_ON
        && ngx_http_gzip_ok(r) != NGX_OK)
    {
        return NGX_OK;
    }

    if (ngx_symcache_gzip_open(ctx, of) == NGX_OK) {
        return NGX_OK;
    }

    if (i < NGX_SYMCACHE_VERSIONS) {

        /* so that the next request does not look for it in vain */

        ctx->gzipped &= ~(1 << i);

        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_PRESENT,
                                ctx->conf->valid_present);
    }

    return NGX_OK;
}


/*
 * Whether the best version has a gzip file, as far as the folder or the zone
 * knows; *i is its bit in gzipped.  If there are more versions than these
 * remember, it has to be looked for.  A file that was just made has none yet.
 */

static ngx_uint_t
ngx_symcache_gzip_expected(ngx_symcache_ctx_t *ctx, ngx_uint_t *i)
{
    ngx_uint_t  n;

    n = ngx_min(ctx->nversions, NGX_SYMCACHE_VERSIONS);

    for (*i = 0; *i < n; (*i)++) {
        if (symcache_version_cmp(&ctx->versions[*i], &ctx->best) == 0) {
            return ctx->gzipped & (1 << *i);
        }
    }

    *i = NGX_SYMCACHE_VERSIONS;

    return ctx->nversions > NGX_SYMCACHE_VERSIONS;
}


/* NGX_OK: *of is the gzip file.  Otherwise *of and ctx->path are unchanged. */

static ngx_int_t
ngx_symcache_gzip_open(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    size_t                 len;
    ngx_int_t              rc;
    ngx_uint_t             fresh;
    ngx_open_file_info_t   gz;

    /* ngx_symcache_file_path() has left room for ".gz" and a NUL */

    len = ctx->path.len;
    ngx_memcpy(ctx->path.data + len, ".gz", sizeof(".gz"));
    ctx->path.len += sizeof(".gz") - 1;

    for (fresh = 0; fresh < 2; fresh++) {

        rc = ngx_symcache_file_open_path(ctx, &gz, fresh);

        if (rc != NGX_OK) {
            break;
        }

        if (gz.mtime >= of->mtime) {
            *of = gz;
            ctx->gzip = 1;
            return NGX_OK;
        }

        /* a use sets both times; open_file_cache may still have the old one */

        rc = NGX_DECLINED;
    }

    ctx->path.len = len;
    ctx->path.data[len] = '\0';

    return rc;
}


/*
 * Vary is sent even without "gzip_vary", which is off by default: otherwise a
 * cache could send the gzip file to a client that cannot read it.
 */

static ngx_int_t
ngx_symcache_gzip_vary(ngx_http_request_t *r)
{
    ngx_str_t                  value;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (clcf->gzip_vary) {
        r->gzip_vary = 1;
        return NGX_OK;
    }

    ngx_str_set(&value, "Accept-Encoding");

    return ngx_symcache_answer_header(r, "Vary", sizeof("Vary") - 1, &value)
           ? NGX_OK : NGX_ERROR;
}


#else


ngx_int_t
ngx_symcache_gzip(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    return NGX_OK;
}


#endif
