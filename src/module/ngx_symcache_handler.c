
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The handler of a SymCache location, which decides what a request gets.  It
 * reads no file and no socket itself.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"


/* of the helper by one request, while what it has made is not there */

#define NGX_SYMCACHE_MISSED  2


static ngx_int_t ngx_symcache_handler_root(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_decide(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_known(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e known);
static ngx_int_t ngx_symcache_handler_best(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e known, symcache_version_t *below);
static ngx_int_t ngx_symcache_handler_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status);
static ngx_int_t ngx_symcache_handler_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_ready(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_above(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_handler_remember(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e what, time_t valid);


ngx_int_t
ngx_symcache_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    const char          *text;
    ngx_symcache_ctx_t  *ctx;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {

        /* no "100 Continue" for a body that nobody takes */

        r->expect_tested = 1;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    /* thousands may be held, and names are far shorter than they may be */

    ctx = ngx_pcalloc(r->pool, offsetof(ngx_symcache_ctx_t, asked.key.name)
                               + ngx_min(r->uri.len, SYMCACHE_NAME_MAX) + 1);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->request = r;
    ctx->conf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);
    ctx->replied = ngx_symcache_handler_replied;

    ngx_http_set_ctx(r, ctx, ngx_symcache_module);

    if (ngx_symcache_variables_keep(ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_symcache_request_read(ctx, &text);

    if (rc != NGX_OK) {
        return ngx_symcache_answer_bad(ctx, rc, text);
    }

    if (ngx_symcache_handler_root(ctx) != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ngx_symcache_handler_decide(ctx);
}


static ngx_int_t
ngx_symcache_handler_root(ngx_symcache_ctx_t *ctx)
{
    ngx_str_t            root;
    ngx_http_request_t  *r;

    if (ctx->conf->path.data) {
        ctx->root = ctx->conf->path;
        ctx->scope = ctx->conf->scope;
        return NGX_OK;
    }

    r = ctx->request;

    if (ngx_http_complex_value(r, ctx->conf->root, &root) != NGX_OK) {
        return NGX_ERROR;
    }

    if (root.len == 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the value of \"symcache\" is empty");
        return NGX_ERROR;
    }

    if (ngx_get_full_name(r->pool, (ngx_str_t *) &ngx_cycle->prefix, &root)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    while (root.len && root.data[root.len - 1] == '/') {
        root.len--;
    }

    ctx->root = root;

    if (ctx->conf->zone) {
        ctx->scope = ngx_symcache_zone_scope(&root, &ctx->conf->store);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_handler_decide(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t            rc;
    symcache_answer_e    answer;
    symcache_version_t   below, *limit;
    ngx_symcache_key_e   known;

    limit = NULL;
    known = ngx_symcache_zone_lookup(ctx);

    rc = ngx_symcache_handler_known(ctx, known);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    ngx_symcache_transcoders_best(ctx);

    for ( ;; ) {

        if (ngx_symcache_handler_best(ctx, known, limit) != NGX_OK) {
            return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
        }

        answer = symcache_answer(&ctx->ask, ctx->has_best ? &ctx->best : NULL,
                                 ctx->has_made ? &ctx->made : NULL);

        if (answer != SYMCACHE_ANSWER_HIT && answer != SYMCACHE_ANSWER_STALE) {
            break;
        }

        rc = ngx_symcache_handler_serve(ctx, answer == SYMCACHE_ANSWER_HIT
                                             ? NGX_SYMCACHE_HIT
                                             : NGX_SYMCACHE_STALE);

        if (rc != NGX_DECLINED) {
            return rc;
        }

        /* it has vanished since: as if it had never been there */

        ngx_symcache_zone_forget(ctx);
        known = NGX_SYMCACHE_KEY_UNKNOWN;

        below = ctx->best;
        limit = &below;
    }

    if (answer == SYMCACHE_ANSWER_NOT_MODIFIED && ctx->transcoders_known) {
        return ngx_symcache_answer_not_modified(ctx);
    }

    if (ctx->conf->upstream.upstream == NULL) {
        return ngx_symcache_answer_absent(ctx);
    }

    /*
     * Also where nothing here makes a version for this client: only the
     * helper's word makes a 404 final.
     */

    return ngx_symcache_wait_start(ctx);
}


/* NGX_DECLINED: what the zone knows is not the answer yet */

static ngx_int_t
ngx_symcache_handler_known(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e known)
{
    if (known == NGX_SYMCACHE_KEY_ABSENT) {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_answer_absent(ctx);
    }

    /* "a job runs" is no answer to who may be asked by this very job */

    if (known == NGX_SYMCACHE_KEY_PENDING
        && ctx->retries
        && ctx->via.len == 0)
    {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);
    }

    return NGX_DECLINED;
}


/* the best version of those that the zone knows, or on disk */

static ngx_int_t
ngx_symcache_handler_best(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e known,
    symcache_version_t *below)
{
    if (known == NGX_SYMCACHE_KEY_PRESENT) {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        ngx_symcache_file_choose(ctx);

        return NGX_OK;
    }

    if (ngx_symcache_file_best(ctx, below) != NGX_OK) {
        return NGX_ERROR;
    }

    if (below == NULL) {
        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_PRESENT,
                                ctx->conf->valid_present);
    }

    return NGX_OK;
}


/* NGX_DECLINED: there is no such file */

static ngx_int_t
ngx_symcache_handler_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status)
{
    ngx_int_t             rc;
    ngx_open_file_info_t  of;

    rc = ngx_symcache_file_open(ctx, &ctx->best, &of,
                                status == NGX_SYMCACHE_MISS
                                || status == NGX_SYMCACHE_HELD);

    if (rc == NGX_DECLINED) {
        return NGX_DECLINED;
    }

    if (rc != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    ctx->status = status;

    /* the helper removes what nobody uses: mtime is the last use it knows */

    if (status == NGX_SYMCACHE_STALE
        || (status == NGX_SYMCACHE_HIT
            && ngx_time() - of.mtime >= NGX_SYMCACHE_TOUCH))
    {
        ngx_symcache_helper_notify(ctx);
    }

    if (ctx->conf->accel) {
        return ngx_symcache_answer_accel(ctx, &ctx->best);
    }

    if (ctx->conf->redirect) {
        return ngx_symcache_answer_redirect(ctx, &ctx->best);
    }

    if (ngx_symcache_gzip(ctx, &of) != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ngx_symcache_file_send(ctx, &ctx->best, &of);
}


static ngx_int_t
ngx_symcache_handler_replied(ngx_symcache_ctx_t *ctx)
{
    time_t  valid;

    switch (ctx->reply.code) {

    case NGX_SYMCACHE_REPLY_READY:
        ngx_symcache_zone_forget(ctx);
        return ngx_symcache_handler_ready(ctx);

    case NGX_SYMCACHE_REPLY_PENDING:
        ngx_symcache_handler_remember(ctx, NGX_SYMCACHE_KEY_PENDING,
                                      ctx->conf->valid_pending);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);

    case NGX_SYMCACHE_REPLY_NOT_MODIFIED:

        if (ctx->above && !ctx->newer) {
            return ngx_symcache_answer_absent(ctx);
        }

        return ngx_symcache_answer_not_modified(ctx);

    case NGX_SYMCACHE_REPLY_ABSENT:

        /* not for longer than the helper knows it itself */

        valid = ctx->conf->valid_absent;

        if (ctx->reply.valid) {
            valid = ngx_min(valid, ctx->reply.valid);
        }

        ngx_symcache_handler_remember(ctx, NGX_SYMCACHE_KEY_ABSENT, valid);
        return ngx_symcache_answer_absent(ctx);

    default: /* BUSY, TIMEOUT, ERROR: no failure of ours is a final 404 */
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }
}


/* the helper has a version: its path is computed here and not taken over */

static ngx_int_t
ngx_symcache_handler_ready(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t           rc;
    ngx_log_t          *log;
    symcache_version_t  version;

    log = ctx->request->connection->log;
    version = ctx->reply.version;

    ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));

    if (symcache_version_cmp(&version, &ctx->ask.min) < 0
        && (!ctx->ask.has_exceeds
            || symcache_version_cmp(&version, &ctx->ask.exceeds) > 0))
    {
        return ngx_symcache_handler_above(ctx);
    }

    if (!symcache_version_serves(&version, &ctx->ask.version, &ctx->ask.min)) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "symcached has version %d.%d.%d, which does not serve "
                      "this client", version.major, version.minor,
                      version.patch);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    if (symcache_answer(&ctx->ask, &version, NULL)
        == SYMCACHE_ANSWER_NOT_MODIFIED)
    {
        return ngx_symcache_answer_not_modified(ctx);
    }

    ctx->best = version;
    ctx->has_best = 1;

    rc = ngx_symcache_handler_serve(ctx, ctx->retries ? NGX_SYMCACHE_MISS
                                                      : NGX_SYMCACHE_HELD);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ctx->missed < NGX_SYMCACHE_MISSED) {
        ctx->missed++;
        return ngx_symcache_handler_decide(ctx);
    }

    ngx_log_error(NGX_LOG_ERR, log, 0,
                  "\"%V\" is not there though symcached has made it: "
                  "\"symcache\" and the store of symcached differ",
                  &ctx->path);

    return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
}


/*
 * symcache_min_version is not known to the helper, who has an older file: it
 * is asked for one above the last version that is too old.
 */

static ngx_int_t
ngx_symcache_handler_above(ngx_symcache_ctx_t *ctx)
{
    symcache_version_t  *v;

    ctx->above = 1;
    ctx->newer = ctx->ask.has_exceeds;

    ctx->ask.exceeds = ctx->ask.min;
    ctx->ask.has_exceeds = 1;

    v = &ctx->ask.exceeds;

    if (v->patch-- == 0 && v->minor-- == 0) {
        v->major--;
    }

    return ngx_symcache_handler_decide(ctx);
}


/*
 * What is said to a client that has the file already, and wants a newer one,
 * is no answer to one that has none; nor is that of a location that takes no
 * old files one of the others.
 */

static void
ngx_symcache_handler_remember(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid)
{
    if (!ctx->has_best && !ctx->above) {
        ngx_symcache_zone_store(ctx, what, valid);
    }
}
