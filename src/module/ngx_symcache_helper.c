
/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to the helper over the upstream framework, in a clone of the
 * request, so that the request itself can send the file afterwards.
 */


#include "ngx_symcache_helper.h"
#include "ngx_symcache_zone.h"


/* for how long the same key, or a helper that fails, is not told, seconds */

#define NGX_SYMCACHE_HELPER_TELL     10

/* what a holder waits longer than the helper was told to, milliseconds */

#define NGX_SYMCACHE_HELPER_MARGIN   500

/* for how long a status page waits, milliseconds */

#define NGX_SYMCACHE_HELPER_PAGE     1000


static ngx_int_t ngx_symcache_helper_start(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_helper_hold(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_helper_handler(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_done(ngx_http_request_t *r, void *data,
    ngx_int_t rc);
static ngx_int_t ngx_symcache_helper_create_request(ngx_http_request_t *r);
static u_char *ngx_symcache_helper_print(ngx_symcache_ctx_t *ctx, u_char *p,
    ngx_uint_t wait);
static ngx_int_t ngx_symcache_helper_reinit_request(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_helper_input_filter_init(void *data);
static ngx_int_t ngx_symcache_helper_input_filter(void *data, ssize_t bytes);
static void ngx_symcache_helper_abort_request(ngx_http_request_t *r);
static void ngx_symcache_helper_finalize_request(ngx_http_request_t *r,
    ngx_int_t rc);


void
ngx_symcache_helper_merge(ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    if (conf->upstream.upstream == NULL && !conf->pass_off) {
        conf->upstream.upstream = prev->upstream.upstream;
        conf->host = prev->host;
    }

    ngx_conf_merge_ptr_value(conf->upstream.local, prev->upstream.local, NULL);

    ngx_conf_merge_msec_value(conf->upstream.connect_timeout,
                              prev->upstream.connect_timeout, 60000);

    ngx_conf_merge_msec_value(conf->upstream.send_timeout,
                              prev->upstream.send_timeout, 60000);

    ngx_conf_merge_size_value(conf->upstream.buffer_size,
                              prev->upstream.buffer_size,
                              (size_t) ngx_pagesize);

    ngx_conf_merge_msec_value(conf->upstream.read_timeout,
                              prev->upstream.read_timeout, 60000);

    ngx_conf_merge_bitmask_value(conf->upstream.next_upstream,
                              prev->upstream.next_upstream,
                              (NGX_CONF_BITMASK_SET
                               |NGX_HTTP_UPSTREAM_FT_ERROR
                               |NGX_HTTP_UPSTREAM_FT_TIMEOUT));

    if (conf->upstream.next_upstream & NGX_HTTP_UPSTREAM_FT_OFF) {
        conf->upstream.next_upstream = NGX_CONF_BITMASK_SET
                                       |NGX_HTTP_UPSTREAM_FT_OFF;
    }

    ngx_conf_merge_uint_value(conf->upstream.next_upstream_tries,
                              prev->upstream.next_upstream_tries, 0);

    ngx_conf_merge_msec_value(conf->upstream.next_upstream_timeout,
                              prev->upstream.next_upstream_timeout, 0);

    /*
     * A hold is not cut by symcache_read_timeout; what is left of it is the
     * limit, and the helper's answer at its very end shall still be heard.
     */

    conf->hold_upstream = conf->upstream;
    conf->hold_upstream.read_timeout = conf->hold_timeout
                                       + NGX_SYMCACHE_HELPER_MARGIN;

    if (conf->hold_upstream.next_upstream_timeout == 0
        || conf->hold_upstream.next_upstream_timeout > conf->hold_timeout)
    {
        conf->hold_upstream.next_upstream_timeout = conf->hold_timeout;
    }

    /*
     * The client has its file, but the next request on its connection waits
     * for the end of this one.
     */

    conf->tell_upstream = conf->upstream;
    conf->tell_upstream.ignore_client_abort = 1;
    conf->tell_upstream.next_upstream = NGX_CONF_BITMASK_SET
                                           |NGX_HTTP_UPSTREAM_FT_OFF;

    conf->tell_upstream.connect_timeout =
                              ngx_min(conf->upstream.connect_timeout, 1000);
    conf->tell_upstream.send_timeout =
                              ngx_min(conf->upstream.send_timeout, 1000);
    conf->tell_upstream.read_timeout =
                              ngx_min(conf->upstream.read_timeout, 1000);
}


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


ngx_int_t
ngx_symcache_helper_page(ngx_symcache_ctx_t *ctx, ngx_str_t *page)
{
    ngx_symcache_helper_t     *helper;
    ngx_http_upstream_conf_t  *uc;

    helper = ngx_pcalloc(ctx->request->pool, sizeof(ngx_symcache_helper_t));
    uc = ngx_palloc(ctx->request->pool, sizeof(ngx_http_upstream_conf_t));
    page->data = ngx_pnalloc(ctx->request->pool, NGX_SYMCACHE_PAGE);

    if (helper == NULL || uc == NULL || page->data == NULL) {
        return NGX_ERROR;
    }

    /* the patience of a tell, but another helper may do */

    *uc = ctx->conf->tell_upstream;
    uc->next_upstream = ctx->conf->upstream.next_upstream;
    uc->next_upstream_timeout = NGX_SYMCACHE_HELPER_PAGE;

    helper->ctx = ctx;
    helper->upstream = uc;
    helper->page = page;
    helper->deadline = ngx_current_msec + NGX_SYMCACHE_HELPER_PAGE;

    ctx->helper = helper;

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

    /* a part of what is in the background itself never gets its turn */

    flags = NGX_HTTP_SUBREQUEST_CLONE
            |((helper->background || r->background)
              ? NGX_HTTP_SUBREQUEST_BACKGROUND
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
    u->process_header = ngx_symcache_reply_status;
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

    } else if (rc == NGX_HTTP_BAD_GATEWAY && !helper->heard) {
        helper->reply.code = NGX_SYMCACHE_REPLY_LOST;

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

    /* core wakes nobody at the end of what is in the background */

    if (r->background && !helper->background
        && ngx_http_post_request(r->parent, NULL) != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* error_page of the location is not for the clone */

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_helper_create_request(ngx_http_request_t *r)
{
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

    escape = 2 * ngx_escape_uri(NULL, (u_char *) ctx->asked.name,
                                key->name_len, NGX_ESCAPE_URI_COMPONENT);

    len = sizeof("GET /v1/symcache///?version=&exceeds=&wait= HTTP/1.1" CRLF
                 "Host: " CRLF CRLF) - 1
          + ctx->conf->store.len + key->name_len + escape
          + SYMCACHE_ID_TEXT_MAX + 2 * SYMCACHE_VERSION_TEXT_MAX
          + NGX_INT_T_LEN + ctx->conf->host.len;

    if (ctx->via.len) {
        len += sizeof(SYMCACHE_HEADER_VIA ": " CRLF) - 1 + ctx->via.len;
    }

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

    if (helper->page) {
        b->last = ngx_cpymem(b->last, "GET /v1/status",
                             sizeof("GET /v1/status") - 1);
    } else {
        b->last = ngx_symcache_helper_print(ctx, b->last, helper->wait);
    }

    b->last = ngx_sprintf(b->last, " HTTP/1.1" CRLF "Host: %V" CRLF,
                          &ctx->conf->host);

    if (ctx->via.len) {
        b->last = ngx_sprintf(b->last, SYMCACHE_HEADER_VIA ": %V" CRLF,
                              &ctx->via);
    }

    *b->last++ = CR; *b->last++ = LF;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "symcache helper request: \"%*s\"",
                   (size_t) (b->last - b->pos), b->pos);

    return ngx_symcache_helper_reinit_request(r);
}


static u_char *
ngx_symcache_helper_print(ngx_symcache_ctx_t *ctx, u_char *p, ngx_uint_t wait)
{
    char             id[SYMCACHE_ID_TEXT_MAX + 1];
    char             version[SYMCACHE_VERSION_TEXT_MAX + 1];
    symcache_key_t  *key;

    key = &ctx->asked.key;

    p = ngx_sprintf(p, "GET /v1/symcache/%V/", &ctx->conf->store);

    /* in the client's case, which some upstream stores tell apart */

    p = (u_char *) ngx_escape_uri(p, (u_char *) ctx->asked.name, key->name_len,
                                  NGX_ESCAPE_URI_COMPONENT);

    symcache_id_print(id, key);
    symcache_version_print(version, &ctx->asked.version);

    p = ngx_sprintf(p, "/%s?version=%s", id, version);

    if (ctx->ask.has_exceeds) {
        symcache_version_print(version, &ctx->ask.exceeds);
        p = ngx_sprintf(p, "&exceeds=%s", version);
    }

    if (wait) {
        p = ngx_sprintf(p, "&wait=%ui", wait);
    }

    return p;
}


static ngx_int_t
ngx_symcache_helper_reinit_request(ngx_http_request_t *r)
{
    ngx_symcache_reply_init(r);

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
