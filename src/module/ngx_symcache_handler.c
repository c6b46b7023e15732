
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The handler of a SymCache location.  It decides what a request gets, and
 * leaves files and sockets to others.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"


static ngx_uint_t ngx_symcache_handler_body(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_handler_root(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_decide(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_known(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e known);
static ngx_int_t ngx_symcache_handler_best(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e known, symcache_version_t *below);
static ngx_int_t ngx_symcache_handler_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_ready(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_handler_above(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_handler_remember(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e what, time_t valid);


ngx_int_t
ngx_symcache_handler(ngx_http_request_t *r)
{
    size_t                    len;
    ngx_int_t                 rc;
    ngx_uint_t                body;
    const char               *text;
    ngx_symcache_ctx_t       *ctx;
    ngx_symcache_loc_conf_t  *conf;

    body = ngx_symcache_handler_body(r);

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {

        /* a body is not read, so it must not be asked for by "100 Continue" */

        r->expect_tested = 1;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    /*
     * Thousands of requests may be held, and nearly all names are far shorter
     * than the longest one: the context ends with the name.  In that of a
     * source file three bytes may stand for one.
     */

    conf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);
    len = conf->symbols ? 3 * r->uri.len : r->uri.len;

    ctx = ngx_pcalloc(r->pool, offsetof(ngx_symcache_ctx_t, asked.key.name)
                               + ngx_min(len, SYMCACHE_NAME_MAX) + 1);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->request = r;
    ctx->conf = conf;
    ctx->replied = ngx_symcache_handler_replied;
    ctx->hints = "";

    ngx_http_set_ctx(r, ctx, ngx_symcache_module);

    ngx_symcache_variables_keep(ctx);

    rc = ngx_symcache_request_read(ctx, &text);

    if (rc != NGX_OK) {
        return ngx_symcache_answer_bad(ctx, rc, text);
    }

    if (body && conf->accel) {
        return ngx_symcache_answer_bad(ctx, NGX_HTTP_BAD_REQUEST,
                                       "A request for a file has no body\n");
    }

    if (ngx_symcache_handler_root(ctx) != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ctx->conf->symbols ? ngx_symcache_symbols_decide(ctx)
                              : ngx_symcache_handler_decide(ctx);
}


/*
 * Whether a body is discarded.  A location with proxy_pass would pass on the
 * length of what is still to come, but not the body: on a connection that is
 * kept, the server would take the next request for it.
 */

static ngx_uint_t
ngx_symcache_handler_body(ngx_http_request_t *r)
{
    return r == r->main
           && r->request_body == NULL
           && (r->headers_in.content_length_n > 0 || r->headers_in.chunked);
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

    if (ctx->conf->symbols
        && ngx_symcache_symbols_root(r->pool, &ctx->conf->store, &root)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    ctx->root = root;

    if (ctx->conf->zone) {
        ctx->scope = ngx_symcache_zone_scope(&root, ctx->conf);
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

    for ( ;; known = NGX_SYMCACHE_KEY_UNKNOWN) {

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

        /* the file has been removed since: go on as if it had never existed */

        ngx_symcache_zone_forget(ctx);
        ctx->gone = 1;

        /* the zone is older than the folder, where a newer one may be */

        if (known != NGX_SYMCACHE_KEY_PRESENT) {
            below = ctx->best;
            limit = &below;
        }
    }

    if (answer == SYMCACHE_ANSWER_NOT_MODIFIED && ctx->transcoders_known) {
        return ngx_symcache_answer_not_modified(ctx);
    }

    if (ctx->conf->upstream.upstream == NULL) {
        return ngx_symcache_answer_absent(ctx);
    }

    /*
     * Even if no transcoder makes a version for this client the helper is
     * asked, because a 404 is only final when the helper says so.
     */

    return ngx_symcache_wait_start(ctx);
}


/* Answers from the zone, or returns NGX_DECLINED if the zone has no answer. */

static ngx_int_t
ngx_symcache_handler_known(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e known)
{
    if (known == NGX_SYMCACHE_KEY_ABSENT) {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_answer_absent(ctx);
    }

    /*
     * Where helpers ask each other in a circle, the running job may wait for
     * this very request.  Only the helper sees the circle.
     */

    if (known == NGX_SYMCACHE_KEY_PENDING
        && ctx->retries
        && ctx->via.len == 0)
    {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);
    }

    return NGX_DECLINED;
}


/*
 * Finds the best version among those that the zone knows, or on disk.  A folder
 * from which a file is gone is not stored: another one may be about to come.
 */

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

    if (!ctx->gone) {
        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_PRESENT,
                                ctx->conf->valid_present);
    }

    return NGX_OK;
}


ngx_int_t
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

    /* the helper evicts by the last use, which it keeps as the file's mtime */

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

    if (ctx->conf->gzip != NGX_SYMCACHE_GZIP_OFF
        && !ctx->conf->symbols
        && ngx_symcache_gzip(ctx, &of) != NGX_OK)
    {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ngx_symcache_file_send(ctx, &ctx->best, &of);
}


static ngx_int_t
ngx_symcache_handler_replied(ngx_symcache_ctx_t *ctx)
{
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
        ngx_symcache_handler_remember(ctx, NGX_SYMCACHE_KEY_ABSENT,
                                      ctx->conf->absent);
        return ngx_symcache_answer_absent(ctx);

    default: /* a failure never makes a 404 final */
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }
}


/*
 * The helper has this version.  Its path is computed here: a helper cannot
 * make the worker send a file from elsewhere.
 */

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
 * The helper does not know symcache_min_version, and has offered an older
 * file.  Now it is asked for one above the last version that is too old.
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
 * Stores the answer in the zone if it is one for every client.  "Absent" or
 * "pending" for a client that has the file already only means a newer one, and
 * in a location that takes no old files it says nothing about the others.
 */

static void
ngx_symcache_handler_remember(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e what,
    time_t valid)
{
    if (!ctx->has_best && !ctx->above) {
        ngx_symcache_zone_store(ctx, what, valid);
    }
}
