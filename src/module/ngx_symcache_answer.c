
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers of the SymCache protocol without a file.  The handler sends them
 * itself.  If it returned a code, error_page could replace them.
 */


#include "ngx_symcache.h"


static ngx_uint_t ngx_symcache_answer_fault(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_answer_reason(ngx_symcache_ctx_t *ctx,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_answer_path(ngx_symcache_ctx_t *ctx,
    ngx_http_complex_value_t *prefix, symcache_version_t *version,
    ngx_uint_t escape, ngx_str_t *path);
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
    ngx_uint_t           code, fault;
    ngx_http_request_t  *r;

    r = ctx->request;

    ctx->status = status;

    /*
     * With symcache_error, there is a front that resets the connection.  That
     * of a subrequest is its request's, which may get along without it.
     */

    if (ctx->symbol == SYMCACHE_SYMBOL_BUILD_ID
        && ctx->conf->error == 0
        && r == r->main)
    {
        return NGX_HTTP_CLOSE;
    }

    code = ctx->retries ? NGX_HTTP_NOT_FOUND : NGX_HTTP_SERVICE_UNAVAILABLE;

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

    /* tells a helper that asks here not to wait, as no job runs */

    if (status == NGX_SYMCACHE_ERROR) {
        ngx_symcache_answer_reason(ctx, &value);

        if (ngx_symcache_answer_header(r, SYMCACHE_HEADER_REASON,
                                       sizeof(SYMCACHE_HEADER_REASON) - 1,
                                       &value)
            == NULL)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        fault = ngx_symcache_answer_fault(ctx);

        if (fault) {
            code = fault;
        }
    }

    return ngx_symcache_answer_send(ctx, code, NULL);
}


/* The status of an answer that this machine is at fault for, or 0. */

static ngx_uint_t
ngx_symcache_answer_fault(ngx_symcache_ctx_t *ctx)
{
    /* a helper that is busy is well, even if its sources are not */

    if (ctx->reply.code == NGX_SYMCACHE_REPLY_BUSY) {
        return 0;
    }

    if (ctx->reply.code == NGX_SYMCACHE_REPLY_DRAINING
        && ctx->conf->draining != NGX_CONF_UNSET_UINT)
    {
        return ctx->conf->draining;
    }

    return ctx->conf->error;
}


/* Of the helper's reasons, others only have to know that it left them out. */

static void
ngx_symcache_answer_reason(ngx_symcache_ctx_t *ctx, ngx_str_t *value)
{
    ngx_str_set(value, SYMCACHE_REASON_LOOP);

    if (ctx->reply.code != NGX_SYMCACHE_REPLY_BUSY
        || ctx->reason.len != value->len
        || ngx_strncmp(ctx->reason.data, value->data, value->len) != 0)
    {
        ngx_str_set(value, "error");
    }
}


ngx_int_t
ngx_symcache_answer_accel(ngx_symcache_ctx_t *ctx, symcache_version_t *version)
{
    ngx_str_t            uri;
    ngx_http_request_t  *r;

    r = ctx->request;

    if (ngx_symcache_answer_path(ctx, ctx->conf->accel, version, 0, &uri)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (uri.data[0] != '/') {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the value of \"symcache_accel\" is not a URI: \"%V\"",
                      &uri);
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* the target location keeps a type that is set */

    ngx_symcache_file_type(ctx, version);

    return ngx_http_internal_redirect(r, &uri, NULL);
}


ngx_int_t
ngx_symcache_answer_redirect(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version)
{
    size_t     i;
    ngx_str_t  url;

    if (ngx_symcache_answer_path(ctx, ctx->conf->redirect, version, 1, &url)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* by a capture, or $uri, the client could add headers to the answer */

    for (i = 0; i < url.len; i++) {
        if (url.data[i] < ' ' || url.data[i] == 0x7f) {
            return ngx_symcache_answer_bad(ctx, NGX_HTTP_BAD_REQUEST,
                                     "The URI has control characters\n");
        }
    }

    ngx_symcache_file_type(ctx, version);

    return ngx_symcache_answer_location(ctx, &url);
}


ngx_int_t
ngx_symcache_answer_location(ngx_symcache_ctx_t *ctx, ngx_str_t *url)
{
    /* not headers_out.location, which nginx would make absolute */

    if (ngx_symcache_answer_header(ctx->request, "Location",
                                   sizeof("Location") - 1, url)
        == NULL)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_symcache_answer_send(ctx, NGX_HTTP_MOVED_TEMPORARILY, NULL);
}


/* Joins the value of the directive and the path of the file in the store. */

static ngx_int_t
ngx_symcache_answer_path(ngx_symcache_ctx_t *ctx,
    ngx_http_complex_value_t *prefix, symcache_version_t *version,
    ngx_uint_t escape, ngx_str_t *path)
{
    char             file[SYMCACHE_PATH_MAX + 1];
    u_char          *p;
    size_t           len, size;
    ngx_str_t        value;
    symcache_key_t  *key;

    if (ngx_http_complex_value(ctx->request, prefix, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    key = &ctx->asked.key;
    len = ctx->conf->symbols
          ? symcache_path_original(file, key)
          : symcache_path_file(file, key, version, SYMCACHE_FILE_PLAIN);
    size = len;

    if (escape) {
        size += 2 * ngx_escape_uri(NULL, (u_char *) file, len,
                                   NGX_ESCAPE_URI);
    }

    p = ngx_pnalloc(ctx->request->pool, value.len + 1 + size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    path->data = p;

    p = ngx_cpymem(p, value.data, value.len);

    if (value.len == 0 || p[-1] != '/') {
        *p++ = '/';
    }

    if (escape) {
        p = (u_char *) ngx_escape_uri(p, (u_char *) file, len, NGX_ESCAPE_URI);

    } else {
        p = ngx_cpymem(p, file, len);
    }

    path->len = p - path->data;

    return NGX_OK;
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
     * Not headers_out.cache_control, which "expires" would replace: then a
     * cache in between could keep an answer that says "ask again".
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
    ngx_buf_t    *answer;
    ngx_chain_t   out;

    if (len == 0) {
        return ngx_http_send_special(r, NGX_HTTP_LAST);
    }

    answer = ngx_calloc_buf(r->pool);
    if (answer == NULL) {
        return NGX_ERROR;
    }

    answer->pos = (u_char *) text;
    answer->last = answer->pos + len;
    answer->memory = 1;
    answer->last_buf = (r == r->main) ? 1 : 0;
    answer->last_in_chain = 1;

    out.buf = answer;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}
