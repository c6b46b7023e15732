
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides what a request for an original file gets, in a location with
 * symcache_symbols.  Each rule here follows from the way real debuggers treat
 * answers, see docs/symbol-server.md.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"


/*
 * Milliseconds that a request is held: less than the client waits for the first
 * byte.  symsrv has 30 seconds, TraceEvent 60, elfutils and LLVM 90, and .NET's
 * tools, which send no User-Agent, 100 at least.  dump_syms has no limit.
 */

#define NGX_SYMCACHE_HOLD             25000
#define NGX_SYMCACHE_HOLD_TRACEEVENT  55000
#define NGX_SYMCACHE_HOLD_LONG        85000

/* clients of which all versions have one User-Agent */

static const struct {
    ngx_str_t   agent;
    ngx_msec_t  hold;
} ngx_symcache_symbols_clients[] = {
    /* TraceEvent */
    { ngx_string("Microsoft-Symbol-Server/6.13.0009.1140"),
      NGX_SYMCACHE_HOLD_TRACEEVENT },
    /* dump_syms */
    { ngx_string("Microsoft-Symbol-Server/6.3.0.0"), NGX_SYMCACHE_HOLD_LONG }
};

/*
 * seconds without another hold for a key after one that was too short: a client
 * that asks for each form of a file would wait for each
 */

#define NGX_SYMCACHE_PAUSE  10


static void ngx_symcache_symbols_cleanup(void *data);
static ngx_int_t ngx_symcache_symbols_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status);
static ngx_int_t ngx_symcache_symbols_absent(ngx_symcache_ctx_t *ctx);
static ngx_msec_t ngx_symcache_symbols_hold(ngx_symcache_ctx_t *ctx);
static ngx_uint_t ngx_symcache_symbols_redirects(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_symbols_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_symbols_ready(ngx_symcache_ctx_t *ctx);


void
ngx_symcache_symbols_merge(ngx_conf_t *cf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /*
     * elfutils takes a connection that is closed for "there is no such file",
     * and LLVM half of a file for a whole one; a reset is neither
     */

    clcf->reset_timedout_connection = 1;
}


ngx_int_t
ngx_symcache_symbols_root(ngx_pool_t *pool, ngx_str_t *store, ngx_str_t *root)
{
    u_char  *p;

    p = ngx_pnalloc(pool, root->len + 1 + store->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    root->len = ngx_sprintf(p, "%V/%V", root, store) - p;
    root->data = p;

    return NGX_OK;
}


/*
 * A stream of HTTP/2 is reset by a frame.  nginx would also set SO_LINGER on
 * the socket of all streams, whose data would be lost when it is closed.
 */

static void
ngx_symcache_symbols_cleanup(void *data)
{
    ngx_connection_t  *c = data;

    c->timedout = 0;
}


ngx_int_t
ngx_symcache_symbols_decide(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_msec_t           hold;
    ngx_http_cleanup_t  *cln;
    ngx_symcache_key_e   known;

    if (ctx->request->stream
        && ctx->replied != ngx_symcache_symbols_replied)
    {
        cln = ngx_http_cleanup_add(ctx->request, 0);
        if (cln == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        cln->handler = ngx_symcache_symbols_cleanup;
        cln->data = ctx->request->connection;
    }

    ctx->replied = ngx_symcache_symbols_replied;
    ctx->best = ctx->asked.version;

    rc = ngx_symcache_symbols_serve(ctx, ctx->missed ? NGX_SYMCACHE_HELD
                                                     : NGX_SYMCACHE_HIT);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    /* a client that asks in two tiers has already got the answer in one */

    if (ctx->symbol == SYMCACHE_SYMBOL_TWO_TIER
        || ctx->conf->upstream.upstream == NULL)
    {
        return ngx_symcache_answer_absent(ctx);
    }

    known = ngx_symcache_zone_lookup(ctx);

    if (known == NGX_SYMCACHE_KEY_ABSENT) {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_symbols_absent(ctx);
    }

    /* elfutils asks three times in a row, and each hold is a chance */

    if (known == NGX_SYMCACHE_KEY_PENDING
        && ctx->symbol != SYMCACHE_SYMBOL_BUILD_ID)
    {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);
    }

    if (ctx->deadline == 0) {
        hold = ngx_symcache_symbols_hold(ctx);
        ctx->deadline = ngx_current_msec
                        + ngx_min(hold, ctx->conf->hold_timeout);
    }

    ctx->redirects = ngx_symcache_symbols_redirects(ctx);

    return ngx_symcache_wait_start(ctx);
}


/*
 * The compressed form of a PDB is kept next to it.  A client that asks for
 * that form alone gets "absent" if only the PDB is there.
 */

static ngx_int_t
ngx_symcache_symbols_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status)
{
    ngx_int_t             rc;
    ngx_open_file_info_t  of;

    if (ctx->asked.key.kind == SYMCACHE_KIND_SYM) {

        rc = ngx_symcache_handler_serve(ctx, status);

        if (rc != NGX_DECLINED) {
            return rc;
        }

        /* made before, as no source had it */

        ctx->asked.key.kind = SYMCACHE_KIND_BREAKPAD;

        rc = ngx_symcache_handler_serve(ctx, status);

        if (rc == NGX_DECLINED) {
            ctx->asked.key.kind = SYMCACHE_KIND_SYM;
        }

        return rc;
    }

    if (ctx->asked.key.kind != SYMCACHE_KIND_DEBUGINFO
        || ctx->asked.key.id_type != SYMCACHE_ID_DEBUG)
    {
        return ngx_symcache_handler_serve(ctx, status);
    }

    if (ctx->msfz || ctx->symbol == SYMCACHE_SYMBOL_MSFZ) {

        ctx->asked.key.kind = SYMCACHE_KIND_MSFZ;

        rc = ngx_symcache_handler_serve(ctx, status);

        if (rc != NGX_DECLINED) {
            return rc;
        }

        ctx->asked.key.kind = SYMCACHE_KIND_DEBUGINFO;
    }

    if (ctx->symbol != SYMCACHE_SYMBOL_MSFZ) {
        return ngx_symcache_handler_serve(ctx, status);
    }

    rc = ngx_symcache_file_open(ctx, &ctx->best, &of, ctx->missed);

    return rc == NGX_OK ? ngx_symcache_answer_absent(ctx) : rc;
}


ngx_uint_t
ngx_symcache_symbols_vary(ngx_symcache_ctx_t *ctx)
{
    symcache_key_t  *key;

    key = &ctx->asked.key;

    return ctx->conf->symbols
           && (key->kind == SYMCACHE_KIND_DEBUGINFO
               || key->kind == SYMCACHE_KIND_MSFZ)
           && key->id_type == SYMCACHE_ID_DEBUG
           && ctx->symbol != SYMCACHE_SYMBOL_MSFZ;
}


/* Where no source has Breakpad's text, it may be made of the module itself. */

static ngx_int_t
ngx_symcache_symbols_absent(ngx_symcache_ctx_t *ctx)
{
    if (ctx->asked.key.kind != SYMCACHE_KIND_SYM) {
        return ngx_symcache_answer_absent(ctx);
    }

    ctx->asked.key.kind = SYMCACHE_KIND_BREAKPAD;
    ctx->missed = 0;

    if (ngx_symcache_request_code_id(ctx) != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ngx_symcache_symbols_decide(ctx);
}


static ngx_msec_t
ngx_symcache_symbols_hold(ngx_symcache_ctx_t *ctx)
{
    ngx_uint_t        i, n;
    const ngx_str_t  *known;
    ngx_table_elt_t  *agent;

    agent = ctx->request->headers_in.user_agent;

    if (ctx->symbol == SYMCACHE_SYMBOL_BUILD_ID || agent == NULL) {
        return NGX_SYMCACHE_HOLD_LONG;
    }

    n = sizeof(ngx_symcache_symbols_clients)
        / sizeof(ngx_symcache_symbols_clients[0]);

    for (i = 0; i < n; i++) {
        known = &ngx_symcache_symbols_clients[i].agent;

        if (agent->value.len == known->len
            && ngx_strncmp(agent->value.data, known->data, known->len) == 0)
        {
            return ngx_symcache_symbols_clients[i].hold;
        }
    }

    return NGX_SYMCACHE_HOLD;
}


/*
 * LLVM 14 asks for build ids, has no User-Agent and does not follow a
 * redirect.  A URL is signed for GET, so a client that sends HEAD waits for
 * the file.
 */

static ngx_uint_t
ngx_symcache_symbols_redirects(ngx_symcache_ctx_t *ctx)
{
    ngx_http_request_t  *r;

    r = ctx->request;

    return r == r->main
           && r->method == NGX_HTTP_GET
           && ctx->symbol != SYMCACHE_SYMBOL_MSFZ
           && (ctx->symbol != SYMCACHE_SYMBOL_BUILD_ID
               || r->headers_in.user_agent);
}


static ngx_int_t
ngx_symcache_symbols_replied(ngx_symcache_ctx_t *ctx)
{
    switch (ctx->reply.code) {

    case NGX_SYMCACHE_REPLY_READY:
        return ngx_symcache_symbols_ready(ctx);

    case NGX_SYMCACHE_REPLY_REDIRECT:

        /* not remembered: the URL is good for a while only */

        ctx->status = NGX_SYMCACHE_HELD;
        return ngx_symcache_answer_location(ctx, &ctx->location);

    case NGX_SYMCACHE_REPLY_PENDING:
        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_PENDING,
                                NGX_SYMCACHE_PAUSE);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);

    case NGX_SYMCACHE_REPLY_ABSENT:
        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_ABSENT,
                                ctx->conf->absent);
        return ngx_symcache_symbols_absent(ctx);

    default: /* a failure never makes a 404 */
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }
}


/* The helper has verified the file, which is whole and lies in its place. */

static ngx_int_t
ngx_symcache_symbols_ready(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t  rc;

    ngx_symcache_zone_forget(ctx);

    if (ctx->missed < NGX_SYMCACHE_MISSED) {
        ctx->missed++;
        return ngx_symcache_symbols_decide(ctx);
    }

    rc = ngx_symcache_symbols_serve(ctx, NGX_SYMCACHE_HELD);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    ngx_log_error(NGX_LOG_ERR, ctx->request->connection->log, 0,
                  "\"%V\" is not there though symcached has it: "
                  "\"symcache_symbols\" and the downloads of symcached differ",
                  &ctx->path);

    return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
}
