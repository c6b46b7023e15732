
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The questions to the helper: a lookup that a client waits for, a notification
 * of a request that was served without the helper, and its status page.
 */


#include "ngx_symcache_helper.h"
#include "ngx_symcache_zone.h"


/*
 * milliseconds in which the helper is not notified again of the same key, or
 * after a failure of any
 */

#define NGX_SYMCACHE_HELPER_NOTIFY  10000

/* milliseconds that a notification and a status page may take */

#define NGX_SYMCACHE_HELPER_BRIEF   1000


static ngx_symcache_helper_t *ngx_symcache_question_create(
    ngx_symcache_ctx_t *ctx);
static size_t ngx_symcache_question_size(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_question_start(ngx_symcache_helper_t *helper,
    ngx_uint_t wait);
static u_char *ngx_symcache_question_print(ngx_symcache_ctx_t *ctx, u_char *p,
    ngx_uint_t wait);
static void ngx_symcache_question_event(ngx_event_t *ev);
static void ngx_symcache_question_notified(ngx_symcache_helper_t *helper);
static void ngx_symcache_question_cleanup(void *data);


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
}


ngx_int_t
ngx_symcache_helper_local(ngx_symcache_helper_t *helper)
{
    ngx_int_t                   rc;
    ngx_str_t                   value;
    ngx_addr_t                 *addr;
    ngx_http_request_t         *r;
    ngx_http_upstream_t        *u;
    ngx_http_upstream_local_t  *local;

    r = helper->ctx->request;
    u = &helper->upstream;
    local = u->conf->local;

    if (local == NULL) {
        return NGX_OK;
    }

#if (NGX_HAVE_TRANSPARENT_PROXY)
    u->peer.transparent = local->transparent;
#endif

    if (local->value == NULL) {
        u->peer.local = local->addr;
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, local->value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 0) {
        return NGX_OK;
    }

    addr = ngx_palloc(r->pool, sizeof(ngx_addr_t));
    if (addr == NULL) {
        return NGX_ERROR;
    }

    rc = ngx_parse_addr_port(r->pool, addr, value.data, value.len);

    if (rc == NGX_OK) {
        addr->name = value;
        u->peer.local = addr;
        return NGX_OK;
    }

    if (rc != NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "invalid local address \"%V\"", &value);
        return NGX_OK;
    }

    return NGX_ERROR;
}


ngx_int_t
ngx_symcache_helper_ask(ngx_symcache_ctx_t *ctx, ngx_uint_t held,
    ngx_uint_t wait, ngx_symcache_done_pt done)
{
    ngx_symcache_helper_t  *helper;

    ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));

    helper = ngx_symcache_question_create(ctx);
    if (helper == NULL) {
        return NGX_ERROR;
    }

    helper->done = done;
    helper->held = held;

    ctx->asks++;

    if (ctx->conf->zone && ctx->conf->absent) {
        ctx->forgotten = ngx_symcache_zone_forgotten(ctx);
    }

    ngx_symcache_question_start(helper, wait);

    return NGX_OK;
}


ngx_int_t
ngx_symcache_helper_page(ngx_symcache_ctx_t *ctx, ngx_str_t *page,
    ngx_symcache_done_pt done)
{
    ngx_symcache_helper_t  *helper;

    helper = ngx_symcache_question_create(ctx);
    if (helper == NULL) {
        return NGX_ERROR;
    }

    helper->done = done;
    helper->page = page;

    ngx_add_timer(&helper->event, NGX_SYMCACHE_HELPER_BRIEF);
    ngx_symcache_question_start(helper, 0);

    return NGX_OK;
}


void
ngx_symcache_helper_notify(ngx_symcache_ctx_t *ctx)
{
    uint32_t                   hash;
    ngx_symcache_notified_t   *notified;
    ngx_symcache_helper_t     *helper;
    ngx_symcache_main_conf_t  *smcf;

    if (ctx->conf->upstream.upstream == NULL) {
        return;
    }

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    hash = ngx_crc32_short((u_char *) ctx->asked.key.name,
                           ctx->asked.key.name_len);
    ngx_crc32_update(&hash, ctx->asked.key.guid, 16);

    notified = &smcf->notified[hash % NGX_SYMCACHE_NOTIFIED];

    if (ngx_current_msec - smcf->notify_failed < NGX_SYMCACHE_HELPER_NOTIFY
        || (notified->hash == hash
            && ngx_current_msec - notified->time < NGX_SYMCACHE_HELPER_NOTIFY))
    {
        return;
    }

    helper = ngx_symcache_question_create(ctx);
    if (helper == NULL) {
        return;
    }

    /*
     * The client gets its file at once.  But the request ends only with the
     * notification, and the next one on the connection waits for that.
     */

    ctx->request->main->count++;

    ngx_add_timer(&helper->event, NGX_SYMCACHE_HELPER_BRIEF);
    ngx_symcache_question_start(helper, 0);

    notified->hash = hash;
    notified->time = ngx_current_msec;
}


/*
 * There is one per request, as its questions follow one another.  A later
 * question may be longer, by hints, and then gets memory of its own.
 */

static ngx_symcache_helper_t *
ngx_symcache_question_create(ngx_symcache_ctx_t *ctx)
{
    size_t                  size;
    ngx_http_cleanup_t     *cln;
    ngx_symcache_helper_t  *helper;

    helper = ctx->helper;
    size = ngx_symcache_question_size(ctx);

    if (helper == NULL || helper->size < size) {
        cln = ngx_http_cleanup_add(ctx->request, 0);
        if (cln == NULL) {
            return NULL;
        }

        helper = ngx_symcache_suspend_alloc(ctx->request->pool, size);
        if (helper == NULL) {
            return NULL;
        }

        cln->handler = ngx_symcache_question_cleanup;
        cln->data = helper;

        ctx->helper = helper;

    } else {
        size = helper->size;
    }

    ngx_memzero(helper, sizeof(ngx_symcache_helper_t));

    helper->ctx = ctx;
    helper->size = size;

    helper->event.handler = ngx_symcache_question_event;
    helper->event.data = helper;
    helper->event.log = ctx->request->connection->log;

    return helper;
}


/* The text of the question stands behind the structure. */

static size_t
ngx_symcache_question_size(ngx_symcache_ctx_t *ctx)
{
    size_t     len;
    uintptr_t  escape;

    escape = 2 * ngx_escape_uri(NULL, (u_char *) ctx->asked.name,
                                ctx->asked.key.name_len,
                                NGX_ESCAPE_URI_COMPONENT);

    len = sizeof("GET /v1////?version=&exceeds=&wait=&redirect=1 HTTP/1.1" CRLF
                 "Host: " CRLF CRLF) - 1 + SYMCACHE_KIND_TEXT_MAX
          + ctx->conf->store.len + ctx->asked.key.name_len + escape
          + SYMCACHE_ID_TEXT_MAX + 2 * SYMCACHE_VERSION_TEXT_MAX
          + NGX_INT_T_LEN + ctx->conf->host.len;

    if (ctx->conf->token.len) {
        len += sizeof("Authorization: Bearer " CRLF) - 1
               + ctx->conf->token.len;
    }

    if (ctx->via.len) {
        len += sizeof(SYMCACHE_HEADER_VIA ": " CRLF) - 1 + ctx->via.len;
    }

    len += ngx_strlen(ctx->hints) + 1;

    return sizeof(ngx_symcache_helper_t) + len;
}


static void
ngx_symcache_question_start(ngx_symcache_helper_t *helper, ngx_uint_t wait)
{
    u_char              *p;
    ngx_symcache_ctx_t  *ctx;

    ctx = helper->ctx;

    helper->text.data = (u_char *) (helper + 1);
    p = helper->text.data;

    if (helper->page) {
        p = ngx_cpymem(p, "GET /v1/status", sizeof("GET /v1/status") - 1);
    } else {
        p = ngx_symcache_question_print(ctx, p, wait);
    }

    p = ngx_sprintf(p, " HTTP/1.1" CRLF "Host: %V" CRLF, &ctx->conf->host);

    if (ctx->via.len) {
        p = ngx_sprintf(p, SYMCACHE_HEADER_VIA ": %V" CRLF, &ctx->via);
    }

    helper->text.len = p - helper->text.data;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, helper->event.log, 0,
                   "symcache helper request: \"%V\"", &helper->text);

    if (ctx->conf->token.len) {
        p = ngx_sprintf(p, "Authorization: Bearer %V" CRLF,
                        &ctx->conf->token);
    }

    *p++ = CR; *p++ = LF;

    helper->text.len = p - helper->text.data;

    helper->active = 1;

    /* it begins in an event, as it may end the request at once */

    ngx_post_event(&helper->event, &ngx_posted_events);
}


static u_char *
ngx_symcache_question_print(ngx_symcache_ctx_t *ctx, u_char *p,
    ngx_uint_t wait)
{
    char             id[SYMCACHE_ID_TEXT_MAX + 1];
    char             version[SYMCACHE_VERSION_TEXT_MAX + 1];
    symcache_key_t  *key;

    key = &ctx->asked.key;

    p = ngx_sprintf(p, "GET /v1/%s/%V/",
                    symcache_kind_text((symcache_kind_e) key->kind),
                    &ctx->conf->store);

    /* in the client's spelling, as some sources tell cases apart */

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

    if (ctx->redirects) {
        p = ngx_cpymem(p, "&redirect=1", sizeof("&redirect=1") - 1);
    }

    if (ctx->hints[0] != '\0') {
        *p++ = '&';
        p = ngx_cpymem(p, ctx->hints, ngx_strlen(ctx->hints));
    }

    return p;
}


static void
ngx_symcache_question_event(ngx_event_t *ev)
{
    ngx_connection_t       *c;
    ngx_http_request_t     *r;
    ngx_symcache_helper_t  *helper;

    helper = ev->data;
    r = helper->ctx->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    if (!ev->timedout) {
        helper->action = c->log->action;
        ngx_symcache_upstream_conn_start(helper);

    } else {
        ngx_log_error(NGX_LOG_ERR, c->log, NGX_ETIMEDOUT,
                      "upstream timed out");

        /* the server is not marked as failed: lookups may take longer */

        ngx_symcache_upstream_state_end(helper, NGX_HTTP_GATEWAY_TIME_OUT);
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_TIMEOUT);
    }

    ngx_http_run_posted_requests(c);
}


void
ngx_symcache_helper_end(ngx_symcache_helper_t *helper,
    ngx_symcache_reply_e code)
{
    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, helper->event.log, 0,
                   "symcache helper end: %d", code);

    ngx_symcache_helper_cancel(helper);

    helper->reply.code = code;

    if (helper->done) {
        helper->ctx->reply = helper->reply;
        helper->done(helper->ctx);
        return;
    }

    ngx_symcache_question_notified(helper);

    /* the client may still be sent its file */

    helper->ctx->request->connection->log->action = helper->action;

    ngx_http_finalize_request(helper->ctx->request, NGX_DONE);
}


static void
ngx_symcache_question_notified(ngx_symcache_helper_t *helper)
{
    ngx_symcache_ctx_t        *ctx;
    ngx_symcache_main_conf_t  *smcf;

    ctx = helper->ctx;

    if (helper->reply.code == NGX_SYMCACHE_REPLY_READY) {

        if (symcache_version_cmp(&helper->reply.version, &ctx->best) != 0) {

            /* the helper has made another version meanwhile */

            ngx_symcache_zone_forget(ctx);
        }

    } else if (helper->reply.code <= NGX_SYMCACHE_REPLY_TIMEOUT) {
        smcf = ngx_http_get_module_main_conf(ctx->request,
                                             ngx_symcache_module);
        smcf->notify_failed = ngx_current_msec;
    }
}


static void
ngx_symcache_question_cleanup(void *data)
{
    ngx_symcache_helper_cancel(data);
}


void
ngx_symcache_helper_cancel(ngx_symcache_helper_t *helper)
{
    if (!helper->active) {
        return;
    }

    helper->active = 0;

    if (helper->event.posted) {
        ngx_delete_posted_event(&helper->event);
    }

    if (helper->event.timer_set) {
        ngx_del_timer(&helper->event);
    }

    ngx_symcache_upstream_conn_close(helper);
}


ngx_int_t
ngx_symcache_helper_keep_reason(ngx_symcache_ctx_t *ctx, ngx_str_t *reason)
{
    if (ctx->reason.data == NULL) {
        ctx->reason.data = ngx_pnalloc(ctx->request->pool,
                                       NGX_SYMCACHE_RECENT_REASON);
        if (ctx->reason.data == NULL) {
            return NGX_ERROR;
        }
    }

    ctx->reason.len = ngx_min(reason->len, NGX_SYMCACHE_RECENT_REASON);
    ngx_memcpy(ctx->reason.data, reason->data, ctx->reason.len);

    return NGX_OK;
}


ngx_int_t
ngx_symcache_helper_keep_location(ngx_symcache_ctx_t *ctx, ngx_str_t *url)
{
    ctx->location.data = ngx_pstrdup(ctx->request->pool, url);
    if (ctx->location.data == NULL) {
        return NGX_ERROR;
    }

    ctx->location.len = url->len;

    return NGX_OK;
}


void
ngx_symcache_helper_copy(ngx_symcache_ctx_t *to, ngx_symcache_ctx_t *from)
{
    to->reply = from->reply;

    if (from->reason.len) {
        (void) ngx_symcache_helper_keep_reason(to, &from->reason);
    }

    if (from->reply.code == NGX_SYMCACHE_REPLY_REDIRECT
        && ngx_symcache_helper_keep_location(to, &from->location) != NGX_OK)
    {
        to->reply.code = NGX_SYMCACHE_REPLY_ERROR;
    }
}
