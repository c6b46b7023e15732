
/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to the helper over the upstream framework, in a clone of the
 * request, so that the request itself can send the file afterwards.  The whole
 * reply is read before it counts: a reply that is cut short is no reply.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"


/* a reply has a JSON text at most; what is longer is not read to its end */

#define NGX_SYMCACHE_HELPER_BODY     65536

/* for how long the same key, or a helper that fails, is not told, seconds */

#define NGX_SYMCACHE_HELPER_TELL     10

/* what a holder waits longer than the helper was told to, milliseconds */

#define NGX_SYMCACHE_HELPER_MARGIN   500


struct ngx_symcache_helper_s {
    ngx_symcache_ctx_t        *ctx;
    ngx_http_upstream_conf_t  *upstream;
    ngx_uint_t                 wait;
    ngx_symcache_reply_t       reply;

    ngx_http_status_t          status;
    ngx_http_chunked_t         chunked;
    off_t                      length;      /* -1: not given */
    off_t                      rest;        /* of the body or chunk */
    off_t                      received;    /* of the body */

    unsigned                   active:1;
    unsigned                   background:1;
    unsigned                   header:1;    /* has been read */
    unsigned                   close:1;
    unsigned                   is_chunked:1;
    unsigned                   has_version:1;
    unsigned                   has_reason:1;
    unsigned                   has_retry_after:1;
};


static ngx_int_t ngx_symcache_helper_start(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_helper_hold(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_helper_handler(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_done(ngx_http_request_t *r, void *data,
    ngx_int_t rc);
static ngx_int_t ngx_symcache_helper_create_request(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_reinit_request(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_process_status(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_process_header(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_field(ngx_http_request_t *r,
    ngx_symcache_helper_t *helper);
static ngx_uint_t ngx_symcache_helper_field_is(ngx_http_request_t *r,
    const char *name, size_t len);
static ngx_int_t ngx_symcache_helper_header_done(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_process_body(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_skip(ngx_symcache_helper_t *helper,
    ngx_buf_t *b);
static ngx_int_t ngx_symcache_helper_complete(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_input_filter_init(void *data);
static ngx_int_t ngx_symcache_helper_input_filter(void *data, ssize_t bytes);
static void ngx_symcache_helper_abort_request(ngx_http_request_t *r);
static void ngx_symcache_helper_finalize_request(ngx_http_request_t *r,
    ngx_int_t rc);


ngx_int_t
ngx_symcache_helper_ask(ngx_symcache_ctx_t *ctx, ngx_uint_t wait)
{
    ngx_symcache_helper_t  *helper;

    ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));

    helper = ctx->helper;

    if (helper == NULL) {
        helper = ngx_palloc(ctx->request->pool,
                            sizeof(ngx_symcache_helper_t));
        if (helper == NULL) {
            return NGX_ERROR;
        }

        ctx->helper = helper;
    }

    ngx_memzero(helper, sizeof(ngx_symcache_helper_t));

    helper->ctx = ctx;
    helper->wait = wait;
    helper->upstream = &ctx->conf->upstream;

    if (wait && ngx_symcache_helper_hold(helper) != NGX_OK) {
        return NGX_ERROR;
    }

    ctx->asks++;

    return ngx_symcache_helper_start(helper);
}


ngx_uint_t
ngx_symcache_helper_busy(ngx_symcache_ctx_t *ctx)
{
    return ctx->helper && ctx->helper->active;
}


/*
 * A holder's patience is what is left of the hold, and not
 * symcache_read_timeout, and failover to another helper does not renew it.
 */

static ngx_int_t
ngx_symcache_helper_hold(ngx_symcache_helper_t *helper)
{
    ngx_msec_int_t             left;
    ngx_symcache_ctx_t        *ctx;
    ngx_http_upstream_conf_t  *uc;

    ctx = helper->ctx;

    left = (ngx_msec_int_t) (ctx->deadline - ngx_current_msec);

    if (left == (ngx_msec_int_t) ctx->conf->hold_timeout) {
        helper->upstream = &ctx->conf->hold_upstream;
        return NGX_OK;
    }

    if (left < 0) {
        left = 0;
    }

    uc = ngx_palloc(ctx->request->pool, sizeof(ngx_http_upstream_conf_t));
    if (uc == NULL) {
        return NGX_ERROR;
    }

    *uc = ctx->conf->hold_upstream;
    uc->read_timeout = left + NGX_SYMCACHE_HELPER_MARGIN;

    helper->upstream = uc;

    return NGX_OK;
}


void
ngx_symcache_helper_tell(ngx_symcache_ctx_t *ctx)
{
    uint32_t                   hash;
    ngx_symcache_told_t       *told;
    ngx_symcache_helper_t     *helper;
    ngx_symcache_main_conf_t  *smcf;

    if (ctx->conf->upstream.upstream == NULL) {
        return;
    }

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    hash = ngx_crc32_short((u_char *) ctx->asked.key.name,
                           ctx->asked.key.name_len);
    ngx_crc32_update(&hash, ctx->asked.key.guid, 16);

    told = &smcf->told[hash % NGX_SYMCACHE_TOLD];

    if (ngx_time() - smcf->tell_failed < NGX_SYMCACHE_HELPER_TELL
        || (told->hash == hash
            && ngx_time() - told->time < NGX_SYMCACHE_HELPER_TELL))
    {
        return;
    }

    helper = ngx_pcalloc(ctx->request->pool, sizeof(ngx_symcache_helper_t));
    if (helper == NULL) {
        return;
    }

    helper->ctx = ctx;
    helper->background = 1;
    helper->upstream = &ctx->conf->tell_upstream;

    if (ngx_symcache_helper_start(helper) == NGX_OK) {
        told->hash = hash;
        told->time = ngx_time();
    }
}


static ngx_int_t
ngx_symcache_helper_start(ngx_symcache_helper_t *helper)
{
    ngx_uint_t                   flags;
    ngx_http_request_t          *r, *sr;
    ngx_http_post_subrequest_t  *ps;

    r = helper->ctx->request;

    ps = ngx_palloc(r->pool, sizeof(ngx_http_post_subrequest_t));
    if (ps == NULL) {
        return NGX_ERROR;
    }

    ps->handler = ngx_symcache_helper_done;
    ps->data = helper;

    flags = NGX_HTTP_SUBREQUEST_CLONE
            |(helper->background ? NGX_HTTP_SUBREQUEST_BACKGROUND
                                 : NGX_HTTP_SUBREQUEST_WAITED);

    if (ngx_http_subrequest(r, &r->uri, NULL, &sr, ps, flags) != NGX_OK) {
        return NGX_ERROR;
    }

    /*
     * The clone goes on in the content phase of this location, with a handler
     * of its own and the context of the request: variables such as
     * $symcache_key choose a peer of the upstream.
     */

    sr->content_handler = ngx_symcache_helper_handler;
    sr->method = NGX_HTTP_GET;
    sr->header_only = 1;

    ngx_http_set_ctx(sr, helper->ctx, ngx_symcache_module);

    helper->active = 1;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_handler(ngx_http_request_t *r)
{
    ngx_http_upstream_t    *u;
    ngx_symcache_helper_t  *helper;

    helper = r->post_subrequest->data;

    if (ngx_http_upstream_create(r) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    u = r->upstream;

    ngx_str_set(&u->schema, "symcached://");
    u->output.tag = (ngx_buf_tag_t) &ngx_symcache_module;

    u->conf = helper->upstream;

    u->create_request = ngx_symcache_helper_create_request;
    u->reinit_request = ngx_symcache_helper_reinit_request;
    u->process_header = ngx_symcache_helper_process_status;
    u->abort_request = ngx_symcache_helper_abort_request;
    u->finalize_request = ngx_symcache_helper_finalize_request;

    u->input_filter_init = ngx_symcache_helper_input_filter_init;
    u->input_filter = ngx_symcache_helper_input_filter;
    u->input_filter_ctx = r;

    r->main->count++;

    ngx_http_upstream_init(r);

    return NGX_DONE;
}


static ngx_int_t
ngx_symcache_helper_done(ngx_http_request_t *r, void *data, ngx_int_t rc)
{
    ngx_symcache_helper_t *helper = data;

    ngx_symcache_main_conf_t  *smcf;

    helper->active = 0;

    if (rc == NGX_ERROR
        || rc == NGX_HTTP_REQUEST_TIME_OUT
        || rc == NGX_HTTP_CLIENT_CLOSED_REQUEST)
    {
        return rc;
    }

    if (rc == NGX_HTTP_GATEWAY_TIME_OUT) {
        helper->reply.code = NGX_SYMCACHE_REPLY_TIMEOUT;

    } else if (rc != NGX_OK) {
        helper->reply.code = NGX_SYMCACHE_REPLY_ERROR;
    }

    if (!helper->background) {
        helper->ctx->reply = helper->reply;

    } else if (helper->reply.code == NGX_SYMCACHE_REPLY_READY) {

        if (symcache_version_cmp(&helper->reply.version, &helper->ctx->best)
            != 0)
        {
            /* it has been made meanwhile */

            ngx_symcache_zone_forget(helper->ctx);
        }

    } else if (helper->reply.code <= NGX_SYMCACHE_REPLY_TIMEOUT) {
        smcf = ngx_http_get_module_main_conf(r, ngx_symcache_module);
        smcf->tell_failed = ngx_time();
    }

    /* error_page of the location is not for the clone */

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_create_request(ngx_http_request_t *r)
{
    char                    id[SYMCACHE_ID_TEXT_MAX + 1];
    char                    version[SYMCACHE_VERSION_TEXT_MAX + 1];
    size_t                  len;
    uintptr_t               escape;
    ngx_buf_t              *b;
    ngx_chain_t            *cl;
    symcache_key_t         *key;
    ngx_symcache_ctx_t     *ctx;
    ngx_symcache_helper_t  *helper;

    helper = r->post_subrequest->data;
    ctx = helper->ctx;
    key = &ctx->asked.key;

    escape = 2 * ngx_escape_uri(NULL, (u_char *) key->name, key->name_len,
                                NGX_ESCAPE_URI_COMPONENT);

    len = sizeof("GET /v1/symcache///?version=&exceeds=&wait= HTTP/1.1" CRLF
                 "Host: " CRLF CRLF) - 1
          + ctx->conf->store.len + key->name_len + escape
          + SYMCACHE_ID_TEXT_MAX + 2 * SYMCACHE_VERSION_TEXT_MAX
          + NGX_INT_T_LEN + ctx->conf->host.len;

    b = ngx_create_temp_buf(r->pool, len);
    if (b == NULL) {
        return NGX_ERROR;
    }

    cl = ngx_alloc_chain_link(r->pool);
    if (cl == NULL) {
        return NGX_ERROR;
    }

    cl->buf = b;
    cl->next = NULL;

    r->upstream->request_bufs = cl;

    b->last = ngx_sprintf(b->last, "GET /v1/symcache/%V/", &ctx->conf->store);

    b->last = (u_char *) ngx_escape_uri(b->last, (u_char *) key->name,
                                        key->name_len,
                                        NGX_ESCAPE_URI_COMPONENT);

    symcache_id_print(id, key);
    symcache_version_print(version, &ctx->asked.version);

    b->last = ngx_sprintf(b->last, "/%s?version=%s", id, version);

    if (ctx->ask.has_exceeds) {
        symcache_version_print(version, &ctx->ask.exceeds);
        b->last = ngx_sprintf(b->last, "&exceeds=%s", version);
    }

    if (helper->wait) {
        b->last = ngx_sprintf(b->last, "&wait=%ui", helper->wait);
    }

    b->last = ngx_sprintf(b->last, " HTTP/1.1" CRLF "Host: %V" CRLF CRLF,
                          &ctx->conf->host);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "symcache helper request: \"%*s\"",
                   (size_t) (b->last - b->pos), b->pos);

    return ngx_symcache_helper_reinit_request(r);
}


static ngx_int_t
ngx_symcache_helper_reinit_request(ngx_http_request_t *r)
{
    ngx_symcache_helper_t  *helper;

    helper = r->post_subrequest->data;

    ngx_memzero(&helper->reply, sizeof(ngx_symcache_reply_t));
    ngx_memzero(&helper->status, sizeof(ngx_http_status_t));
    ngx_memzero(&helper->chunked, sizeof(ngx_http_chunked_t));

    helper->length = -1;
    helper->rest = 0;
    helper->received = 0;

    helper->header = 0;
    helper->close = 0;
    helper->is_chunked = 0;
    helper->has_version = 0;
    helper->has_reason = 0;
    helper->has_retry_after = 0;

    r->upstream->process_header = ngx_symcache_helper_process_status;
    r->state = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_process_status(ngx_http_request_t *r)
{
    ngx_int_t               rc;
    ngx_http_upstream_t    *u;
    ngx_symcache_helper_t  *helper;

    u = r->upstream;
    helper = r->post_subrequest->data;

    rc = ngx_http_parse_status_line(r, &u->buffer, &helper->status);

    if (rc == NGX_AGAIN) {
        return rc;
    }

    if (rc == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "symcached sent no valid HTTP/1.1 header");
        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    if (helper->status.http_version < NGX_HTTP_VERSION_11) {
        helper->close = 1;
    }

    u->state->status = helper->status.code;
    u->process_header = ngx_symcache_helper_process_header;

    return ngx_symcache_helper_process_header(r);
}


static ngx_int_t
ngx_symcache_helper_process_header(ngx_http_request_t *r)
{
    ngx_int_t               rc;
    ngx_symcache_helper_t  *helper;

    helper = r->post_subrequest->data;

    for ( ;; ) {

        rc = ngx_http_parse_header_line(r, &r->upstream->buffer, 1);

        if (rc == NGX_OK) {

            if (ngx_symcache_helper_field(r, helper) == NGX_OK) {
                continue;
            }

            ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                          "symcached sent an invalid header line: \"%*s\"",
                          (size_t) (r->header_end - r->header_name_start),
                          r->header_name_start);

            return NGX_HTTP_UPSTREAM_INVALID_HEADER;
        }

        if (rc == NGX_HTTP_PARSE_HEADER_DONE) {
            return ngx_symcache_helper_header_done(r);
        }

        if (rc == NGX_AGAIN) {
            return NGX_AGAIN;
        }

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "symcached sent an invalid header");

        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }
}


static ngx_int_t
ngx_symcache_helper_field(ngx_http_request_t *r, ngx_symcache_helper_t *helper)
{
    off_t       n;
    ngx_str_t   value;

    value.data = r->header_start;
    value.len = r->header_end - r->header_start;

#define field_is(name)                                                        \
    ngx_symcache_helper_field_is(r, name, sizeof(name) - 1)

    if (field_is(SYMCACHE_HEADER_VERSION)) {

        if (helper->has_version
            || !symcache_version_parse((char *) value.data, value.len,
                                       &helper->reply.version))
        {
            return NGX_ERROR;
        }

        helper->has_version = 1;

        return NGX_OK;
    }

    if (field_is(SYMCACHE_HEADER_REASON)) {
        helper->has_reason = (value.len != 0);

        if (!helper->background) {
            helper->ctx->reason.data = ngx_pstrdup(r->pool, &value);
            if (helper->ctx->reason.data == NULL) {
                return NGX_ERROR;
            }

            helper->ctx->reason.len = value.len;
        }

        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "symcached: %V", &value);
        return NGX_OK;
    }

    if (field_is("Connection")) {

        if (ngx_strlcasestrn(value.data, value.data + value.len,
                             (u_char *) "close", 5 - 1)
            != NULL)
        {
            helper->close = 1;
        }

        return NGX_OK;
    }

    if (field_is("Transfer-Encoding")) {

        if (helper->is_chunked
            || value.len != 7
            || ngx_strncasecmp(value.data, (u_char *) "chunked", 7) != 0)
        {
            return NGX_ERROR;
        }

        helper->is_chunked = 1;

        return NGX_OK;
    }

    if (field_is("Content-Length")) {
        n = ngx_atoof(value.data, value.len);

        if (n == NGX_ERROR || helper->length != -1) {
            return NGX_ERROR;
        }

        helper->length = n;

        return NGX_OK;
    }

    if (field_is("Retry-After") || field_is(SYMCACHE_HEADER_VALID)) {
        n = ngx_atoof(value.data, value.len);

        if (n == NGX_ERROR || n > SYMCACHE_WAIT_MAX) {
            return NGX_ERROR;
        }

        if (field_is("Retry-After")) {
            helper->reply.retry_after = (time_t) n;
            helper->has_retry_after = 1;

        } else {
            helper->reply.valid = (time_t) n;
        }
    }

#undef field_is

    return NGX_OK;
}


static ngx_uint_t
ngx_symcache_helper_field_is(ngx_http_request_t *r, const char *name,
    size_t len)
{
    return (size_t) (r->header_name_end - r->header_name_start) == len
           && ngx_strncasecmp(r->header_name_start, (u_char *) name, len) == 0;
}


/* the header is complete: one of five replies, or an error */

static ngx_int_t
ngx_symcache_helper_header_done(ngx_http_request_t *r)
{
    ngx_symcache_helper_t  *helper;

    helper = r->post_subrequest->data;

    if (helper->is_chunked && helper->length != -1) {
        goto invalid;
    }

    switch (helper->status.code) {

    case NGX_HTTP_OK:

        if (!helper->has_version) {
            goto invalid;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_READY;
        break;

    case NGX_HTTP_ACCEPTED:
        helper->reply.code = NGX_SYMCACHE_REPLY_PENDING;
        break;

    case NGX_HTTP_NOT_MODIFIED:

        if (!helper->ctx->ask.has_exceeds) {
            goto invalid;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_NOT_MODIFIED;
        helper->length = 0;
        helper->is_chunked = 0;
        break;

    case NGX_HTTP_NOT_FOUND:

        /*
         * A final 404 is only believed with its reason: whatever else listens
         * at this address answers 404 as well.
         */

        if (!helper->has_reason) {
            goto invalid;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_ABSENT;
        break;

    case NGX_HTTP_SERVICE_UNAVAILABLE:
        helper->reply.code = NGX_SYMCACHE_REPLY_BUSY;
        break;

    default:
        goto invalid;
    }

    helper->header = 1;
    helper->rest = helper->length;

    if (!helper->is_chunked && helper->length == -1) {

        /* the body ends with the connection, and nobody reads it */

        helper->close = 1;

        return ngx_symcache_helper_complete(r);
    }

    r->upstream->process_header = ngx_symcache_helper_process_body;

    return ngx_symcache_helper_process_body(r);

invalid:

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "symcached sent an unexpected reply with status %ui",
                  helper->status.code);

    return NGX_HTTP_UPSTREAM_INVALID_HEADER;
}


/*
 * Still a header as far as the upstream framework is concerned: a connection
 * that ends before the body does is an error then, and the next helper can be
 * asked.
 */

static ngx_int_t
ngx_symcache_helper_process_body(ngx_http_request_t *r)
{
    ngx_int_t               rc;
    ngx_buf_t              *b;
    ngx_symcache_helper_t  *helper;

    b = &r->upstream->buffer;
    helper = r->post_subrequest->data;

    helper->received += b->last - b->pos;

    if (!helper->is_chunked) {
        rc = ngx_symcache_helper_skip(helper, b);

    } else {

        do {
            rc = ngx_symcache_parse_chunked(r, b, &helper->chunked);

            if (rc == NGX_OK) {
                helper->rest = helper->chunked.size;
                rc = ngx_symcache_helper_skip(helper, b);
                helper->chunked.size = helper->rest;
            }

        } while (rc == NGX_OK);
    }

    if (rc == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "symcached sent an invalid chunked reply");
        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    if (rc == NGX_AGAIN && helper->received <= NGX_SYMCACHE_HELPER_BODY) {

        /* nothing points into the buffer any more */

        b->pos = b->start;
        b->last = b->start;

        return NGX_AGAIN;
    }

    if (rc == NGX_AGAIN) {
        helper->close = 1;
    }

    return ngx_symcache_helper_complete(r);
}


/* NGX_OK: the body or this chunk has ended */

static ngx_int_t
ngx_symcache_helper_skip(ngx_symcache_helper_t *helper, ngx_buf_t *b)
{
    off_t  n;

    n = ngx_min(helper->rest, (off_t) (b->last - b->pos));

    b->pos += n;
    helper->rest -= n;

    return helper->rest ? NGX_AGAIN : NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_complete(ngx_http_request_t *r)
{
    ngx_http_upstream_t    *u;
    ngx_symcache_helper_t  *helper;

    u = r->upstream;
    helper = r->post_subrequest->data;

    if (u->buffer.pos != u->buffer.last && !helper->close) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "symcached sent more data than its reply has");
        helper->close = 1;
    }

    u->buffer.pos = u->buffer.last;

    /* the framework compares it with next_upstream */

    u->headers_in.status_n = helper->status.code;
    u->headers_in.content_length_n = 0;

    u->keepalive = !helper->close;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_input_filter_init(void *data)
{
    ngx_http_request_t *r = data;

    r->upstream->length = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_input_filter(void *data, ssize_t bytes)
{
    return NGX_OK;
}


static void
ngx_symcache_helper_abort_request(ngx_http_request_t *r)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "symcache helper abort");
}


static void
ngx_symcache_helper_finalize_request(ngx_http_request_t *r, ngx_int_t rc)
{
    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "symcache helper finalize: %i", rc);
}
