
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The front door: directives, defaults, hooks, and the handler that decides
 * what a request gets.  It reads no file and no socket itself.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include "module/ngx_symcache.h"
#include "module/ngx_symcache_zone.h"


#define NGX_SYMCACHE_ASKS  3


static ngx_int_t ngx_symcache_handler(ngx_http_request_t *r);
static ngx_int_t ngx_symcache_root(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_decide(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_best(ngx_symcache_ctx_t *ctx,
    ngx_symcache_key_e known, symcache_version_t *below);
static ngx_int_t ngx_symcache_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status);
static ngx_int_t ngx_symcache_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_ready(ngx_symcache_ctx_t *ctx);

static ngx_int_t ngx_symcache_preconfiguration(ngx_conf_t *cf);
static void *ngx_symcache_create_main_conf(ngx_conf_t *cf);
static void *ngx_symcache_create_loc_conf(ngx_conf_t *cf);
static char *ngx_symcache_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_symcache_merge_type(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *conf);
static char *ngx_symcache_merge_location(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *prev, ngx_symcache_loc_conf_t *conf);

static char *ngx_symcache(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_symcache_location(ngx_http_core_loc_conf_t *clcf,
    ngx_symcache_loc_conf_t *slcf);


static ngx_conf_post_t  ngx_symcache_store_post = {
    ngx_symcache_directive_store
};

static ngx_conf_post_t  ngx_symcache_type_post = {
    ngx_symcache_directive_type
};

static ngx_conf_post_t  ngx_symcache_hold_post = {
    ngx_symcache_directive_hold
};

static ngx_conf_post_t  ngx_symcache_retry_post = {
    ngx_symcache_directive_retry
};


static ngx_conf_bitmask_t  ngx_symcache_next_upstream_masks[] = {
    { ngx_string("error"), NGX_HTTP_UPSTREAM_FT_ERROR },
    { ngx_string("timeout"), NGX_HTTP_UPSTREAM_FT_TIMEOUT },
    { ngx_string("invalid_response"), NGX_HTTP_UPSTREAM_FT_INVALID_HEADER },
    { ngx_string("not_found"), NGX_HTTP_UPSTREAM_FT_HTTP_404 },
    { ngx_string("busy"), NGX_HTTP_UPSTREAM_FT_HTTP_503 },
    { ngx_string("off"), NGX_HTTP_UPSTREAM_FT_OFF },
    { ngx_null_string, 0 }
};


static ngx_command_t  ngx_symcache_commands[] = {

    { ngx_string("symcache"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_pass"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_pass,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_store"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, store),
      &ngx_symcache_store_post },

    { ngx_string("symcache_type"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, type),
      &ngx_symcache_type_post },

    { ngx_string("symcache_retry_after"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_sec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, retry_after),
      &ngx_symcache_retry_post },

    { ngx_string("symcache_hold_timeout"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, hold_timeout),
      &ngx_symcache_hold_post },

    { ngx_string("symcache_min_version"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_version,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, min_version),
      NULL },

    { ngx_string("symcache_async_after"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_version,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, async_after),
      NULL },

    { ngx_string("symcache_gzip"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_gzip,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_accel"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_elsewhere,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, accel),
      NULL },

    { ngx_string("symcache_redirect"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_elsewhere,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, redirect),
      NULL },

    { ngx_string("symcache_zone"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_zone,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_valid"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_symcache_directive_valid,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_symcache_status,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_bind"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_upstream_bind_set_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.local),
      NULL },

    { ngx_string("symcache_connect_timeout"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.connect_timeout),
      NULL },

    { ngx_string("symcache_send_timeout"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.send_timeout),
      NULL },

    { ngx_string("symcache_buffer_size"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_size_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.buffer_size),
      NULL },

    { ngx_string("symcache_read_timeout"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.read_timeout),
      NULL },

    { ngx_string("symcache_next_upstream"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_conf_set_bitmask_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.next_upstream),
      &ngx_symcache_next_upstream_masks },

    { ngx_string("symcache_next_upstream_tries"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.next_upstream_tries),
      NULL },

    { ngx_string("symcache_next_upstream_timeout"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, upstream.next_upstream_timeout),
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_symcache_module_ctx = {
    ngx_symcache_preconfiguration,         /* preconfiguration */
    NULL,                                  /* postconfiguration */

    ngx_symcache_create_main_conf,         /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_symcache_create_loc_conf,          /* create location configuration */
    ngx_symcache_merge_loc_conf            /* merge location configuration */
};


ngx_module_t  ngx_symcache_module = {
    NGX_MODULE_V1,
    &ngx_symcache_module_ctx,              /* module context */
    ngx_symcache_commands,                 /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static symcache_version_t  ngx_symcache_min_version = { 3, 0, 1 };
static symcache_version_t  ngx_symcache_async_after = { 3, 1, 0 };


static ngx_int_t
ngx_symcache_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    const char          *text;
    ngx_symcache_ctx_t  *ctx;

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
    ctx->replied = ngx_symcache_replied;

    ngx_http_set_ctx(r, ctx, ngx_symcache_module);

    if (ngx_symcache_variables_keep(ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_symcache_request_read(ctx, &text);

    if (rc != NGX_OK) {
        return ngx_symcache_answer_bad(ctx, rc, text);
    }

    if (ngx_symcache_root(ctx) != NGX_OK) {
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }

    return ngx_symcache_decide(ctx);
}


static ngx_int_t
ngx_symcache_root(ngx_symcache_ctx_t *ctx)
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
ngx_symcache_decide(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t            rc;
    symcache_answer_e    answer;
    symcache_version_t   below, *limit;
    ngx_symcache_key_e   known;

    limit = NULL;
    known = ngx_symcache_zone_lookup(ctx);

    /* "a job runs" is no answer to who may be asked by this very job */

    if (known == NGX_SYMCACHE_KEY_ABSENT
        || (known == NGX_SYMCACHE_KEY_PENDING && ctx->retries
            && ctx->via.len == 0))
    {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_KNOWN);
        return known == NGX_SYMCACHE_KEY_ABSENT
               ? ngx_symcache_answer_absent(ctx)
               : ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);
    }

    ngx_symcache_made_best(ctx);

    for ( ;; ) {

        if (ngx_symcache_best(ctx, known, limit) != NGX_OK) {
            return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
        }

        answer = symcache_answer(&ctx->ask, ctx->has_best ? &ctx->best : NULL,
                                 ctx->has_made ? &ctx->made : NULL);

        if (answer != SYMCACHE_ANSWER_HIT && answer != SYMCACHE_ANSWER_STALE) {
            break;
        }

        rc = ngx_symcache_serve(ctx, answer == SYMCACHE_ANSWER_HIT
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

    if (answer == SYMCACHE_ANSWER_NOT_MODIFIED && ctx->made_known) {
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


/* the best version of those that the zone knows, or on disk */

static ngx_int_t
ngx_symcache_best(ngx_symcache_ctx_t *ctx, ngx_symcache_key_e known,
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
ngx_symcache_serve(ngx_symcache_ctx_t *ctx, ngx_symcache_status_e status)
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
        ngx_symcache_helper_tell(ctx);
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
ngx_symcache_replied(ngx_symcache_ctx_t *ctx)
{
    time_t  valid;

    switch (ctx->reply.code) {

    case NGX_SYMCACHE_REPLY_READY:
        ngx_symcache_zone_forget(ctx);
        return ngx_symcache_ready(ctx);

    case NGX_SYMCACHE_REPLY_PENDING:
        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_PENDING,
                                ctx->conf->valid_pending);
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_PENDING);

    case NGX_SYMCACHE_REPLY_NOT_MODIFIED:
        return ngx_symcache_answer_not_modified(ctx);

    case NGX_SYMCACHE_REPLY_ABSENT:

        /* not for longer than the helper knows it itself */

        valid = ctx->conf->valid_absent;

        if (ctx->reply.valid) {
            valid = ngx_min(valid, ctx->reply.valid);
        }

        ngx_symcache_zone_store(ctx, NGX_SYMCACHE_KEY_ABSENT, valid);
        return ngx_symcache_answer_absent(ctx);

    default: /* BUSY, TIMEOUT, ERROR: no failure of ours is a final 404 */
        return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
    }
}


/* the helper has a version: its path is computed here and not taken over */

static ngx_int_t
ngx_symcache_ready(ngx_symcache_ctx_t *ctx)
{
    ngx_int_t           rc;
    ngx_log_t          *log;
    symcache_version_t  version;

    log = ctx->request->connection->log;
    version = ctx->reply.version;

    ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));

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

    rc = ngx_symcache_serve(ctx, ctx->retries ? NGX_SYMCACHE_MISS
                                              : NGX_SYMCACHE_HELD);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ctx->asks < NGX_SYMCACHE_ASKS) {
        return ngx_symcache_decide(ctx);
    }

    ngx_log_error(NGX_LOG_ERR, log, 0,
                  "\"%V\" is not there though symcached has made it: "
                  "\"symcache\" and the store of symcached differ",
                  &ctx->path);

    return ngx_symcache_answer_later(ctx, NGX_SYMCACHE_ERROR);
}


static ngx_int_t
ngx_symcache_preconfiguration(ngx_conf_t *cf)
{
    return ngx_symcache_variables_add(cf);
}


static void *
ngx_symcache_create_main_conf(ngx_conf_t *cf)
{
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_pcalloc(cf->pool, sizeof(ngx_symcache_main_conf_t));
    if (smcf == NULL) {
        return NULL;
    }

    smcf->made = ngx_symcache_made_create(cf->pool);
    if (smcf->made == NULL) {
        return NULL;
    }

    smcf->folders = ngx_symcache_folders_create(cf->pool);
    if (smcf->folders == NULL) {
        return NULL;
    }

    ngx_symcache_wait_init(smcf);

    return smcf;
}


static void *
ngx_symcache_create_loc_conf(ngx_conf_t *cf)
{
    ngx_symcache_loc_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_symcache_loc_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     conf->upstream.upstream = NULL;
     *     conf->upstream.next_upstream = 0;
     *     conf->upstream.bufs.num = 0;
     *     conf->upstream.temp_path = NULL;
     *     conf->hold_upstream = { 0 };
     *     conf->tell_upstream = { 0 };
     *     conf->root = NULL;
     *     conf->path = { 0, NULL };
     *     conf->prefix = 0;
     *     conf->tail = 0;
     *     conf->pass_off = 0;
     *     conf->status = 0;
     *     conf->scope = 0;
     *     conf->accel = NULL;
     *     conf->redirect = NULL;
     *     conf->elsewhere = 0;
     *     conf->host = { 0, NULL };
     *     conf->store = { 0, NULL };
     *     conf->type = { 0, NULL };
     *     conf->type_start = { 0, NULL };
     */

    conf->upstream.local = NGX_CONF_UNSET_PTR;
    conf->upstream.next_upstream_tries = NGX_CONF_UNSET_UINT;
    conf->upstream.connect_timeout = NGX_CONF_UNSET_MSEC;
    conf->upstream.send_timeout = NGX_CONF_UNSET_MSEC;
    conf->upstream.read_timeout = NGX_CONF_UNSET_MSEC;
    conf->upstream.next_upstream_timeout = NGX_CONF_UNSET_MSEC;
    conf->upstream.buffer_size = NGX_CONF_UNSET_SIZE;

    /* the hardcoded values, all others are zero */

    conf->upstream.pass_request_headers = 0;
    conf->upstream.pass_request_body = 0;
    conf->upstream.buffering = 0;
    conf->upstream.intercept_errors = 0;
    conf->upstream.ignore_client_abort = 0;

    conf->hold_timeout = NGX_CONF_UNSET_MSEC;
    conf->retry_after = NGX_CONF_UNSET;
    conf->min_version = NGX_CONF_UNSET_PTR;
    conf->gzip = NGX_CONF_UNSET_UINT;
    conf->zone = NGX_CONF_UNSET_PTR;
    conf->valid_present = NGX_CONF_UNSET;
    conf->valid_absent = NGX_CONF_UNSET;
    conf->valid_pending = NGX_CONF_UNSET;
    conf->async_after = NGX_CONF_UNSET_PTR;

    return conf;
}


static char *
ngx_symcache_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_symcache_loc_conf_t *prev = parent;
    ngx_symcache_loc_conf_t *conf = child;

    ngx_conf_merge_str_value(conf->store, prev->store, "default");
    ngx_conf_merge_str_value(conf->type, prev->type, SYMCACHE_DEFAULT_TYPE);
    ngx_conf_merge_sec_value(conf->retry_after, prev->retry_after, 1);
    ngx_conf_merge_msec_value(conf->hold_timeout, prev->hold_timeout, 900000);
    ngx_conf_merge_ptr_value(conf->min_version, prev->min_version,
                             &ngx_symcache_min_version);
    ngx_conf_merge_ptr_value(conf->async_after, prev->async_after,
                             &ngx_symcache_async_after);

    if (!conf->elsewhere) {
        conf->accel = prev->accel;
        conf->redirect = prev->redirect;
        conf->elsewhere = prev->elsewhere;
    }

    ngx_conf_merge_uint_value(conf->gzip, prev->gzip, NGX_SYMCACHE_GZIP_OFF);
    ngx_conf_merge_ptr_value(conf->zone, prev->zone, NULL);
    ngx_conf_merge_sec_value(conf->valid_present, prev->valid_present, 60);
    ngx_conf_merge_sec_value(conf->valid_absent, prev->valid_absent, 60);
    ngx_conf_merge_sec_value(conf->valid_pending, prev->valid_pending, 1);

    ngx_symcache_helper_merge(prev, conf);

    if (conf->type.data == prev->type.data && prev->type_start.data) {
        conf->type_start = prev->type_start;

    } else if (ngx_symcache_merge_type(cf, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return ngx_symcache_merge_location(cf, prev, conf);
}


/* Content-Type up to the version, which is behind it in each answer */

static ngx_int_t
ngx_symcache_merge_type(ngx_conf_t *cf, ngx_symcache_loc_conf_t *conf)
{
    u_char  *p;

    conf->type_start.len = conf->type.len + sizeof("; version=") - 1;

    p = ngx_pnalloc(cf->pool, conf->type_start.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    conf->type_start.data = p;

    p = ngx_cpymem(p, conf->type.data, conf->type.len);
    ngx_memcpy(p, "; version=", sizeof("; version=") - 1);

    return NGX_OK;
}


static char *
ngx_symcache_merge_location(ngx_conf_t *cf, ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    ngx_str_t                  root;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname && conf->root == NULL && prev->root) {

        /* "if" and "limit_except" blocks stay a SymCache location */

        conf->root = prev->root;
        conf->path = prev->path;
        conf->prefix = prev->prefix;
        conf->tail = prev->tail;
        conf->scope = prev->scope;

        if (clcf->handler == NULL) {
            clcf->handler = ngx_symcache_handler;
        }

        return NGX_CONF_OK;
    }

    if (conf->status && conf->zone == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"symcache_status\" needs \"symcache_zone\" in "
                           "location \"%V\"", &clcf->name);
        return NGX_CONF_ERROR;
    }

    if ((conf->root && clcf->handler != ngx_symcache_handler)
        || (conf->status && clcf->handler != ngx_symcache_status_handler))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%s\" and another directive that answers "
                           "requests, such as \"proxy_pass\", in location "
                           "\"%V\"",
                           conf->root ? "symcache" : "symcache_status",
                           &clcf->name);
        return NGX_CONF_ERROR;
    }

    if (conf->root && conf->root->lengths == NULL) {
        root = conf->root->value;

        while (root.len && root.data[root.len - 1] == '/') {
            root.len--;
        }

        conf->path = root;
        conf->scope = ngx_symcache_zone_scope(&root, &conf->store);
    }

    return NGX_CONF_OK;
}


static char *
ngx_symcache(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    ngx_str_t                         *value;
    ngx_http_core_loc_conf_t          *clcf;
    ngx_http_compile_complex_value_t   ccv;

    if (slcf->root) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        return NGX_CONF_OK;
    }

    if (value[1].len == 0) {
        return "needs the root of a store";
    }

    slcf->root = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (slcf->root == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_script_variables_count(&value[1]) == 0
        && ngx_conf_full_name(cf->cycle, &value[1], 0) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = slcf->root;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return "conflicts with another directive that answers requests";
    }

    clcf->handler = ngx_symcache_handler;

    return ngx_symcache_location(clcf, slcf);
}


/* where in the URI the key is */

static char *
ngx_symcache_location(ngx_http_core_loc_conf_t *clcf,
    ngx_symcache_loc_conf_t *slcf)
{
    if (clcf->exact_match) {
        return "cannot be used in a location \"= ...\", which matches "
               "no SymCache request";
    }

#if (NGX_PCRE)

    if (clcf->regex) {
        slcf->tail = 1;
        return NGX_CONF_OK;
    }

#endif

    if (clcf->named) {
        slcf->tail = 1;
        return NGX_CONF_OK;
    }

    slcf->prefix = clcf->name.len;

    return NGX_CONF_OK;
}
