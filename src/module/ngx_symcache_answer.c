
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers of the SymCache protocol without a file.  They are sent by the
 * handler itself and not returned as a code, so that error_page cannot make
 * something else of them.
 */


#include "ngx_symcache.h"


static ngx_int_t ngx_symcache_answer_send(ngx_symcache_ctx_t *ctx,
    ngx_uint_t status, const char *text);
static ngx_int_t ngx_symcache_answer_body(ngx_http_request_t *r,
    const char *text, size_t len);


ngx_int_t
ngx_symcache_answer_bad(ngx_symcache_ctx_t *ctx, ngx_uint_t status,
    const char *text)
{
    ngx_str_t  value;

    ctx->status = NGX_SYMCACHE_BAD;

    if (status == NGX_HTTP_NOT_ALLOWED) {
        ngx_str_set(&value, "GET, HEAD");

        if (ngx_symcache_answer_header(ctx->request, "Allow",
                                       sizeof("Allow") - 1, &value)
            == NULL)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return ngx_symcache_answer_send(ctx, status, text);
}


ngx_int_t
ngx_symcache_answer_absent(ngx_symcache_ctx_t *ctx)
{
    ctx->status = NGX_SYMCACHE_ABSENT;

    return ngx_symcache_answer_send(ctx, NGX_HTTP_NOT_FOUND, NULL);
}


ngx_int_t
ngx_symcache_answer_not_modified(ngx_symcache_ctx_t *ctx)
{
    ctx->status = NGX_SYMCACHE_NOT_MODIFIED;

    return ngx_symcache_answer_send(ctx, NGX_HTTP_NOT_MODIFIED, NULL);
}


ngx_int_t
ngx_symcache_answer_later(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status)
{
    time_t               after;
    ngx_str_t            value;
    ngx_http_request_t  *r;

    r = ctx->request;

    ctx->status = status;

    after = ctx->reply.retry_after ? ctx->reply.retry_after
                                   : ctx->conf->retry_after;

    value.data = ngx_pnalloc(r->pool, NGX_TIME_T_LEN);
    if (value.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    value.len = ngx_sprintf(value.data, "%T", after) - value.data;

    if (ngx_symcache_answer_header(r, "Retry-After", sizeof("Retry-After") - 1,
                                   &value)
        == NULL)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_symcache_answer_send(ctx,
                                    ctx->retries
                                    ? NGX_HTTP_NOT_FOUND
                                    : NGX_HTTP_SERVICE_UNAVAILABLE,
                                    NULL);
}


ngx_table_elt_t *
ngx_symcache_answer_header(ngx_http_request_t *r, const char *name, size_t len,
    ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NULL;
    }

    ngx_symcache_header_init(h);

    h->key.len = len;
    h->key.data = (u_char *) name;
    h->value = *value;
    h->lowcase_key = NULL;

    return h;
}


static ngx_int_t
ngx_symcache_answer_send(ngx_symcache_ctx_t *ctx, ngx_uint_t status,
    const char *text)
{
    size_t               len;
    ngx_int_t            rc;
    ngx_str_t            value;
    ngx_http_request_t  *r;

    r = ctx->request;
    len = text ? ngx_strlen(text) : 0;

    /*
     * Not in the slot of known headers: "expires" would replace it there, and
     * a cache in between would keep an answer that says "ask again".
     */

    ngx_str_set(&value, "no-store");

    if (ngx_symcache_answer_header(r, "Cache-Control",
                                   sizeof("Cache-Control") - 1, &value)
        == NULL)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.status = status;

    if (status != NGX_HTTP_NOT_MODIFIED) {
        r->headers_out.content_length_n = len;
    }

    if (len) {
        ngx_str_set(&r->headers_out.content_type, "text/plain");
        r->headers_out.content_type_len = r->headers_out.content_type.len;
        r->headers_out.content_type_lowcase = NULL;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    return ngx_symcache_answer_body(r, text, len);
}


static ngx_int_t
ngx_symcache_answer_body(ngx_http_request_t *r, const char *text, size_t len)
{
    ngx_buf_t    *b;
    ngx_chain_t   out;

    if (len == 0) {
        return ngx_http_send_special(r, NGX_HTTP_LAST);
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = (u_char *) text;
    b->last = b->pos + len;
    b->memory = 1;
    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}
