
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parses the reply of the helper, which comes in pieces of any size.  Only a
 * whole reply counts, so the body is also read.
 */


#include "ngx_symcache_helper.h"
#include "ngx_symcache_zone.h"


/*
 * A reply to a lookup has a short JSON text at most; a longer one is not read
 * to its end.
 */

#define NGX_SYMCACHE_REPLY_BODY  65536


/* read() returns NGX_OK, or NGX_ERROR if the value makes the reply invalid */

typedef struct {
    ngx_str_t   name;
    ngx_int_t  (*read)(ngx_symcache_helper_t *helper, ngx_str_t *value);
} ngx_symcache_reply_field_t;


static ngx_int_t ngx_symcache_reply_status(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_header(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_field(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_version(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_uint_t ngx_symcache_reply_is(ngx_str_t *value,
    const char *reason);
static ngx_int_t ngx_symcache_reply_reason(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_location(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_connection(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_encoding(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_length(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_type(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_retry_after(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_valid(ngx_symcache_helper_t *helper,
    ngx_str_t *value);
static ngx_int_t ngx_symcache_reply_seconds(ngx_str_t *value,
    time_t *seconds);
static ngx_int_t ngx_symcache_reply_header_done(
    ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_code(ngx_symcache_helper_t *helper);
static ngx_symcache_reply_e ngx_symcache_reply_unavailable(
    ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_page(ngx_symcache_helper_t *helper);
static void ngx_symcache_reply_unknown(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_body(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_reply_skip(ngx_symcache_helper_t *helper,
    ngx_buf_t *b);
static ngx_int_t ngx_symcache_reply_complete(ngx_symcache_helper_t *helper);


static ngx_symcache_reply_field_t  ngx_symcache_reply_fields[] = {
    { ngx_string(SYMCACHE_HEADER_VERSION), ngx_symcache_reply_version },
    { ngx_string(SYMCACHE_HEADER_REASON), ngx_symcache_reply_reason },
    { ngx_string(SYMCACHE_HEADER_VALID), ngx_symcache_reply_valid },
    { ngx_string("Retry-After"), ngx_symcache_reply_retry_after },
    { ngx_string("Location"), ngx_symcache_reply_location },
    { ngx_string("Connection"), ngx_symcache_reply_connection },
    { ngx_string("Transfer-Encoding"), ngx_symcache_reply_encoding },
    { ngx_string("Content-Length"), ngx_symcache_reply_length },
    { ngx_string("Content-Type"), ngx_symcache_reply_type },
    { ngx_null_string, NULL }
};


void
ngx_symcache_reply_init(ngx_symcache_helper_t *helper)
{
    ngx_buf_t  *b;

    ngx_memzero(&helper->reply, sizeof(ngx_symcache_reply_t));
    ngx_memzero(&helper->status, sizeof(ngx_http_status_t));
    ngx_memzero(&helper->chunked, sizeof(ngx_http_chunked_t));

    helper->length = -1;
    helper->rest = 0;
    helper->received = 0;

    helper->heard = 0;
    helper->close = 0;
    helper->is_chunked = 0;
    helper->is_json = 0;
    helper->has_version = 0;
    helper->has_reason = 0;
    helper->stopping = 0;
    helper->draining = 0;
    helper->unknown = 0;

    if (helper->page) {
        helper->page->len = 0;
    }

    if (helper->done) {
        helper->ctx->reason.len = 0;
        helper->ctx->location.len = 0;
    }

    helper->read = ngx_symcache_reply_status;

    if (helper->parser) {
        helper->parser->state = 0;

        b = &helper->upstream.buffer;
        b->pos = b->start;
        b->last = b->start;
    }
}


void
ngx_symcache_reply_refused(ngx_symcache_helper_t *helper)
{
    if (helper->reply.code != NGX_SYMCACHE_REPLY_BUSY
        && helper->reply.code != NGX_SYMCACHE_REPLY_DRAINING)
    {
        return;
    }

    helper->refusal = helper->reply;
    helper->refusal_reason = helper->ctx->reason;

    /* the next reason gets memory of its own */

    ngx_str_null(&helper->ctx->reason);
}


ngx_symcache_reply_e
ngx_symcache_reply_failed(ngx_symcache_helper_t *helper,
    ngx_symcache_reply_e code)
{
    if (helper->refusal.code == 0) {
        return code;
    }

    helper->reply = helper->refusal;
    helper->ctx->reason = helper->refusal_reason;

    return helper->reply.code;
}


ngx_int_t
ngx_symcache_reply_read(ngx_symcache_helper_t *helper)
{
    helper->heard = 1;

    return helper->read(helper);
}


static ngx_int_t
ngx_symcache_reply_status(ngx_symcache_helper_t *helper)
{
    ngx_int_t  rc;

    rc = ngx_http_parse_status_line(helper->parser, &helper->upstream.buffer,
                                    &helper->status);

    if (rc == NGX_AGAIN) {
        return rc;
    }

    if (rc == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                      "symcached sent no valid HTTP/1.1 header");
        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    if (helper->status.http_version < NGX_HTTP_VERSION_11) {
        helper->close = 1;
    }

    helper->read = ngx_symcache_reply_header;

    return ngx_symcache_reply_header(helper);
}


static ngx_int_t
ngx_symcache_reply_header(ngx_symcache_helper_t *helper)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = helper->parser;

    for ( ;; ) {

        rc = ngx_http_parse_header_line(r, &helper->upstream.buffer, 1);

        if (rc == NGX_OK) {

            if (ngx_symcache_reply_field(helper) == NGX_OK) {
                continue;
            }

            ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                          "symcached sent an invalid header line: \"%*s\"",
                          (size_t) (r->header_end - r->header_name_start),
                          r->header_name_start);

            return NGX_HTTP_UPSTREAM_INVALID_HEADER;
        }

        if (rc == NGX_HTTP_PARSE_HEADER_DONE) {
            return ngx_symcache_reply_header_done(helper);
        }

        if (rc == NGX_AGAIN) {
            return NGX_AGAIN;
        }

        ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                      "symcached sent an invalid header");

        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }
}


static ngx_int_t
ngx_symcache_reply_field(ngx_symcache_helper_t *helper)
{
    size_t                       len;
    ngx_str_t                    value;
    ngx_http_request_t          *r;
    ngx_symcache_reply_field_t  *field;

    r = helper->parser;

    value.data = r->header_start;
    value.len = r->header_end - r->header_start;

    len = r->header_name_end - r->header_name_start;

    for (field = ngx_symcache_reply_fields; field->name.len; field++) {

        if (field->name.len == len
            && ngx_strncasecmp(field->name.data, r->header_name_start, len)
               == 0)
        {
            return field->read(helper, &value);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_version(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    if (helper->has_version
        || !symcache_version_parse((char *) value->data, value->len,
                                   &helper->reply.version))
    {
        return NGX_ERROR;
    }

    helper->has_version = 1;

    return NGX_OK;
}


static ngx_uint_t
ngx_symcache_reply_is(ngx_str_t *value, const char *reason)
{
    return value->len == ngx_strlen(reason)
           && ngx_strncmp(value->data, reason, value->len) == 0;
}


static ngx_int_t
ngx_symcache_reply_reason(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    helper->has_reason = (value->len != 0);
    helper->stopping = ngx_symcache_reply_is(value, SYMCACHE_REASON_STOPPING);
    helper->draining = ngx_symcache_reply_is(value, SYMCACHE_REASON_DRAINING);
    helper->unknown = ngx_symcache_reply_is(value, SYMCACHE_REASON_STORE);

    if (helper->done
        && ngx_symcache_helper_keep_reason(helper->ctx, value) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_INFO, helper->upstream.peer.log, 0,
                  "symcached: %V", value);

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_location(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    if (helper->done == NULL || !helper->ctx->redirects
        || helper->ctx->location.len)
    {
        return NGX_ERROR;
    }

    return ngx_symcache_helper_keep_location(helper->ctx, value);
}


static ngx_int_t
ngx_symcache_reply_connection(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    if (ngx_strlcasestrn(value->data, value->data + value->len,
                         (u_char *) "close", 5 - 1)
        != NULL)
    {
        helper->close = 1;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_encoding(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    if (helper->is_chunked
        || value->len != 7
        || ngx_strncasecmp(value->data, (u_char *) "chunked", 7) != 0)
    {
        return NGX_ERROR;
    }

    helper->is_chunked = 1;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_length(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    off_t  n;

    n = ngx_atoof(value->data, value->len);

    if (n == NGX_ERROR || helper->length != -1) {
        return NGX_ERROR;
    }

    helper->length = n;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_type(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    size_t  len;

    len = sizeof("application/json") - 1;

    helper->is_json = value->len >= len
                      && ngx_strncasecmp(value->data,
                                         (u_char *) "application/json", len)
                         == 0
                      && (value->len == len || value->data[len] == ';');

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_retry_after(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    return ngx_symcache_reply_seconds(value, &helper->reply.retry_after);
}


static ngx_int_t
ngx_symcache_reply_valid(ngx_symcache_helper_t *helper, ngx_str_t *value)
{
    return ngx_symcache_reply_seconds(value, &helper->reply.valid);
}


static ngx_int_t
ngx_symcache_reply_seconds(ngx_str_t *value, time_t *seconds)
{
    time_t  n;

    n = ngx_atotm(value->data, value->len);

    if (n == NGX_ERROR) {
        return NGX_ERROR;
    }

    /* the helper may know an absence for a year, and nginx for a day at most */

    *seconds = ngx_min(n, SYMCACHE_WAIT_MAX);

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_header_done(ngx_symcache_helper_t *helper)
{
    ngx_int_t  rc;

    if (helper->is_chunked && helper->length != -1) {
        rc = NGX_ERROR;

    } else if (helper->page) {
        rc = ngx_symcache_reply_page(helper);

    } else {
        rc = ngx_symcache_reply_code(helper);
    }

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                      "symcached sent an unexpected reply with status %ui",
                      helper->status.code);

        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    ngx_symcache_upstream_state_header(helper);

    helper->rest = helper->length;

    if (!helper->is_chunked && helper->length == -1) {

        /* the body ends with the connection: it is not read, nor that kept */

        helper->close = 1;

        return ngx_symcache_reply_complete(helper);
    }

    helper->read = ngx_symcache_reply_body;

    return ngx_symcache_reply_body(helper);
}


/* Sets the code of the reply by status and header, or returns NGX_ERROR. */

static ngx_int_t
ngx_symcache_reply_code(ngx_symcache_helper_t *helper)
{
    switch (helper->status.code) {

    case NGX_HTTP_OK:

        if (!helper->has_version) {
            return NGX_ERROR;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_READY;
        return NGX_OK;

    case NGX_HTTP_ACCEPTED:
        helper->reply.code = NGX_SYMCACHE_REPLY_PENDING;
        return NGX_OK;

    case NGX_HTTP_MOVED_TEMPORARILY:

        if (helper->ctx->location.len == 0) {
            return NGX_ERROR;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_REDIRECT;
        return NGX_OK;

    case NGX_HTTP_NOT_MODIFIED:

        if (!helper->ctx->ask.has_exceeds) {
            return NGX_ERROR;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_NOT_MODIFIED;
        helper->length = 0;
        helper->is_chunked = 0;
        return NGX_OK;

    case NGX_HTTP_NOT_FOUND:

        /*
         * A final 404 is only believed with its reason.  Any other server that
         * listens at this address by mistake also answers 404.
         */

        if (!helper->has_reason) {
            return NGX_ERROR;
        }

        helper->reply.code = NGX_SYMCACHE_REPLY_ABSENT;
        return NGX_OK;

    case NGX_HTTP_SERVICE_UNAVAILABLE:

        helper->reply.code = ngx_symcache_reply_unavailable(helper);
        return NGX_OK;

    default:
        return NGX_ERROR;
    }
}


/*
 * If it stops, its successor may be there already: the question is asked again,
 * as if there had been no answer.  A drain lasts longer.
 */

static ngx_symcache_reply_e
ngx_symcache_reply_unavailable(ngx_symcache_helper_t *helper)
{
    if (helper->unknown) {
        ngx_symcache_reply_unknown(helper);
    }

    if (helper->stopping) {
        return NGX_SYMCACHE_REPLY_LOST;
    }

    return helper->draining ? NGX_SYMCACHE_REPLY_DRAINING
                            : NGX_SYMCACHE_REPLY_BUSY;
}


/*
 * The status page is passed on unread.  It is JSON if this says so, and whole
 * if all of its length comes.
 */

static ngx_int_t
ngx_symcache_reply_page(ngx_symcache_helper_t *helper)
{
    if (helper->status.code != NGX_HTTP_OK
        || !helper->is_json
        || helper->length <= 0
        || helper->length > NGX_SYMCACHE_PAGE)
    {
        return NGX_ERROR;
    }

    helper->page->data = ngx_pnalloc(helper->ctx->request->pool,
                                     helper->length);
    if (helper->page->data == NULL) {
        return NGX_ERROR;
    }

    helper->reply.code = NGX_SYMCACHE_REPLY_READY;

    return NGX_OK;
}


/* This is logged, as only a change of a configuration can end it. */

static void
ngx_symcache_reply_unknown(ngx_symcache_helper_t *helper)
{
    char                 id[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t      *key;
    ngx_symcache_ctx_t  *ctx;

    ctx = helper->ctx;
    key = &ctx->asked.key;

    symcache_id_print(id, key);

    ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                  "\"%*s/%s\" is not looked for, and clients are told to ask "
                  "again: symcached has no store \"%V\" of "
                  "\"symcache_store\"", (size_t) key->name_len, key->name, id,
                  &ctx->conf->store);
}


static ngx_int_t
ngx_symcache_reply_body(ngx_symcache_helper_t *helper)
{
    ngx_int_t            rc;
    ngx_buf_t           *b;
    ngx_http_request_t  *r;

    r = helper->parser;
    b = &helper->upstream.buffer;

    helper->received += b->last - b->pos;

    if (!helper->is_chunked) {
        rc = ngx_symcache_reply_skip(helper, b);

    } else {

        do {
            rc = ngx_symcache_parse_chunked(r, b, &helper->chunked);

            if (rc == NGX_OK) {
                helper->rest = helper->chunked.size;
                rc = ngx_symcache_reply_skip(helper, b);
                helper->chunked.size = helper->rest;
            }

        } while (rc == NGX_OK);
    }

    if (rc == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, helper->upstream.peer.log, 0,
                      "symcached sent an invalid chunked reply");
        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    if (rc == NGX_AGAIN
        && (helper->page || helper->received <= NGX_SYMCACHE_REPLY_BODY))
    {

        /* the header has been read, so the buffer is used again */

        b->pos = b->start;
        b->last = b->start;

        return NGX_AGAIN;
    }

    if (rc == NGX_AGAIN) {
        helper->close = 1;
    }

    return ngx_symcache_reply_complete(helper);
}


/*
 * Skips the body, or keeps it if it is a page, which has room for all of its
 * length.  NGX_OK at the end of the body or of a chunk, NGX_AGAIN before that.
 */

static ngx_int_t
ngx_symcache_reply_skip(ngx_symcache_helper_t *helper, ngx_buf_t *b)
{
    off_t       n;
    ngx_str_t  *page;

    n = ngx_min(helper->rest, (off_t) (b->last - b->pos));
    page = helper->page;

    if (page) {
        ngx_memcpy(page->data + page->len, b->pos, n);
        page->len += n;
    }

    b->pos += n;
    helper->rest -= n;

    return helper->rest ? NGX_AGAIN : NGX_OK;
}


static ngx_int_t
ngx_symcache_reply_complete(ngx_symcache_helper_t *helper)
{
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    if (u->buffer.pos != u->buffer.last && !helper->close) {
        ngx_log_error(NGX_LOG_WARN, helper->upstream.peer.log, 0,
                      "symcached sent more data than its reply has");
        helper->close = 1;
    }

    u->keepalive = !helper->close;

    return NGX_OK;
}
