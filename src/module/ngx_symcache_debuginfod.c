
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The headers with which debuginfod describes a file, in answers to requests
 * by build id.
 */


#include "ngx_symcache.h"

#include <sys/xattr.h>
#include "proto/properties.h"


static ngx_int_t ngx_symcache_debuginfod_size(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);
static ngx_int_t ngx_symcache_debuginfod_properties(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);


ngx_int_t
ngx_symcache_debuginfod(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    if (ngx_symcache_debuginfod_size(ctx, of) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_symcache_debuginfod_properties(ctx, of);
}


/*
 * Clients of debuginfod show by it how much is left, also where something on
 * the way compresses the body, which then has no length.
 */

static ngx_int_t
ngx_symcache_debuginfod_size(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    ngx_str_t  value;

    value.data = ngx_pnalloc(ctx->request->pool, NGX_OFF_T_LEN);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, "%O", of->size) - value.data;

    return ngx_symcache_answer_header(ctx->request, "X-DEBUGINFOD-SIZE",
                                      sizeof("X-DEBUGINFOD-SIZE") - 1, &value)
           ? NGX_OK : NGX_ERROR;
}


/* Forwards a debuginfod server's description of a file to clients of
 * debuginfod. */

static ngx_int_t
ngx_symcache_debuginfod_properties(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of)
{
    u_char      *p, *line, *end, *last;
    ssize_t      n;
    ngx_str_t    value;
    ngx_uint_t   i;

    static ngx_str_t  names[] = {
        ngx_string("X-DEBUGINFOD-FILE"),
        ngx_string("X-DEBUGINFOD-ARCHIVE"),
        ngx_string("X-DEBUGINFOD-IMASIGNATURE")
    };

    /* it is in the inode, most times */

    n = fgetxattr(of->fd, SYMCACHE_PROPERTIES_ATTRIBUTE, NULL, 0);

    if (n <= 0 || n > SYMCACHE_PROPERTIES_MAX) {
        return NGX_OK;
    }

    p = ngx_pnalloc(ctx->request->pool, n);
    if (p == NULL) {
        return NGX_ERROR;
    }

    n = fgetxattr(of->fd, SYMCACHE_PROPERTIES_ATTRIBUTE, p, n);
    last = p + ngx_max(n, 0);

    for (line = p; line < last; line = end + 1) {

        end = ngx_strlchr(line, last, '\n');
        if (end == NULL) {
            break;
        }

        for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {

            value.data = line + names[i].len + 2;

            if (value.data >= end
                || ngx_strncasecmp(line, names[i].data, names[i].len) != 0
                || line[names[i].len] != ':')
            {
                continue;
            }

            value.len = end - value.data;

            if (ngx_symcache_answer_header(ctx->request,
                                           (char *) names[i].data,
                                           names[i].len, &value)
                == NULL)
            {
                return NGX_ERROR;
            }
        }
    }

    return NGX_OK;
}
