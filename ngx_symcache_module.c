
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The module as nginx sees it: directives, their defaults and checks, hooks.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include "module/ngx_symcache.h"
#include "module/ngx_symcache_memory.h"
#include "module/status/ngx_symcache_status.h"


static ngx_int_t ngx_symcache_preconfiguration(ngx_conf_t *cf);
static void *ngx_symcache_create_main_conf(ngx_conf_t *cf);
static void *ngx_symcache_create_loc_conf(ngx_conf_t *cf);
static char *ngx_symcache_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_symcache_merge_type(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *conf);
static ngx_int_t ngx_symcache_merge_zone(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *prev, ngx_symcache_loc_conf_t *conf);
static const char *ngx_symcache_merge_name(ngx_symcache_loc_conf_t *conf);
static char *ngx_symcache_merge_conflict(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *prev, ngx_symcache_loc_conf_t *conf);
static void ngx_symcache_merge_part(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *prev, ngx_symcache_loc_conf_t *conf);
static char *ngx_symcache_merge_location(ngx_conf_t *cf,
    ngx_symcache_loc_conf_t *prev, ngx_symcache_loc_conf_t *conf);


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

static ngx_conf_post_t  ngx_symcache_buffer_post = {
    ngx_symcache_directive_buffer
};

static ngx_conf_post_t  ngx_symcache_body_post = {
    ngx_symcache_upload_body_used
};


/* those that "proxy_next_upstream" can tell from an answer of the protocol */

static ngx_conf_enum_t  ngx_symcache_errors[] = {
    { ngx_string("off"), 0 },
    { ngx_string("403"), NGX_HTTP_FORBIDDEN },
    { ngx_string("500"), NGX_HTTP_INTERNAL_SERVER_ERROR },
    { ngx_string("502"), NGX_HTTP_BAD_GATEWAY },
    { ngx_string("504"), NGX_HTTP_GATEWAY_TIME_OUT },
    { ngx_null_string, 0 }
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


static char *
ngx_symcache_set_error(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *rv;

    rv = ngx_conf_set_enum_slot(cf, cmd, conf);
    if (rv == NGX_CONF_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" must be off, 403, 500, 502 or 504",
                           &cmd->name);
    }

    return rv;
}


static ngx_command_t  ngx_symcache_commands[] = {

    { ngx_string("symcache"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_root,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_symbols"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_root,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, symbols),
      NULL },

    { ngx_string("symcache_pass"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_pass,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("symcache_pass_token"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_directive_token,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, token),
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

    { ngx_string("symcache_error"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_set_error,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, error),
      &ngx_symcache_errors },

    { ngx_string("symcache_draining"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_symcache_set_error,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, draining),
      &ngx_symcache_errors },

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

    { ngx_string("symcache_body_group_access"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_symcache_loc_conf_t, body_group_access),
      &ngx_symcache_body_post },

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
      ngx_symcache_directive_zone,
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
      &ngx_symcache_buffer_post },

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
    ngx_symcache_upload_body_init,          /* postconfiguration */

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

    smcf->transcoders = ngx_symcache_transcoders_create(cf->pool);
    if (smcf->transcoders == NULL) {
        return NULL;
    }

    smcf->dircache = ngx_symcache_dircache_create(cf->pool);
    if (smcf->dircache == NULL) {
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
     *     conf->root = NULL;
     *     conf->path = { 0, NULL };
     *     conf->prefix = 0;
     *     conf->tail = 0;
     *     conf->symbols = 0;
     *     conf->pass_off = 0;
     *     conf->status = 0;
     *     conf->aliased = NULL;
     *     conf->zone_default = 0;
     *     conf->scope = 0;
     *     conf->absent = 0;
     *     conf->accel = NULL;
     *     conf->redirect = NULL;
     *     conf->elsewhere = 0;
     *     conf->host = { 0, NULL };
     *     conf->token = { 0, NULL };
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
    conf->error = NGX_CONF_UNSET_UINT;
    conf->body_group_access = NGX_CONF_UNSET;
    conf->draining = NGX_CONF_UNSET_UINT;
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
    ngx_conf_merge_str_value(conf->token, prev->token, "");
    ngx_conf_merge_str_value(conf->type, prev->type, SYMCACHE_DEFAULT_TYPE);
    ngx_conf_merge_uint_value(conf->error, prev->error, 0);
    ngx_conf_merge_value(conf->body_group_access, prev->body_group_access, 0);
    ngx_conf_merge_uint_value(conf->draining, prev->draining,
                              NGX_CONF_UNSET_UINT);
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
    ngx_conf_merge_sec_value(conf->valid_present, prev->valid_present, 60);
    ngx_conf_merge_sec_value(conf->valid_pending, prev->valid_pending, 1);

    if (ngx_symcache_merge_zone(cf, prev, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    ngx_symcache_helper_merge(prev, conf);

    if (conf->type.data == prev->type.data && prev->type_start.data) {
        conf->type_start = prev->type_start;

    } else if (ngx_symcache_merge_type(cf, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (ngx_symcache_merge_conflict(cf, prev, conf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    return ngx_symcache_merge_location(cf, prev, conf);
}


/* Content-Type up to the version, which each answer appends */

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


/*
 * A location for which no zone is named has the default one.  There an absence
 * is believed for a second only, because an administrator who has configured no
 * zone would not suspect one when a file that has just come to a source is not
 * found.
 */

static ngx_int_t
ngx_symcache_merge_zone(ngx_conf_t *cf, ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    if (conf->zone == NGX_CONF_UNSET_PTR) {
        conf->zone = prev->zone;
        conf->zone_default = prev->zone_default;
    }

    ngx_conf_merge_sec_value(conf->valid_absent, prev->valid_absent,
                             NGX_CONF_UNSET);

    /* the default zone may be named without being declared */

    if (conf->zone && conf->zone != NGX_CONF_UNSET_PTR
        && conf->zone->shm.size == 0
        && conf->zone != ngx_symcache_memory_default(cf))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"symcache_zone %V\" needs "
                           "\"symcache_zone %V:size\" in \"http\"",
                           &conf->zone->shm.name, &conf->zone->shm.name);
        return NGX_ERROR;
    }

    if (conf->zone == NGX_CONF_UNSET_PTR && (conf->root || conf->status)) {

        conf->zone = ngx_symcache_memory_default(cf);
        if (conf->zone == NULL) {
            return NGX_ERROR;
        }

        conf->zone_default = 1;
    }

    conf->absent = conf->valid_absent;

    if (conf->absent == NGX_CONF_UNSET) {
        conf->absent = conf->zone_default ? 1 : 60;
    }

    return NGX_OK;
}


/* The directive that answers requests in a location. */

static const char *
ngx_symcache_merge_name(ngx_symcache_loc_conf_t *conf)
{
    if (conf->status) {
        return "symcache_status";
    }

    return conf->symbols ? "symcache_symbols" : "symcache";
}


/*
 * Refuses directives of the same location that would be ignored, or that would
 * answer instead.  An alias that is inherited from an outer level does no harm.
 */

static char *
ngx_symcache_merge_conflict(ngx_conf_t *cf, ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;
    ngx_symcache_try_files_t  *tlcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    tlcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_try_files_module);

    if (clcf->alias) {
        conf->aliased = clcf->root.data;
    }

    if (conf->root == NULL) {
        return NGX_CONF_OK;
    }

    if (conf->aliased && conf->aliased != prev->aliased) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"alias\" has no effect beside \"%s\", which "
                           "names the folder itself, in location \"%V\"",
                           ngx_symcache_merge_name(conf), &clcf->name);
        return NGX_CONF_ERROR;
    }

    if (tlcf->try_files) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"try_files\" answers before \"%s\" in location "
                           "\"%V\"", ngx_symcache_merge_name(conf),
                           &clcf->name);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* An "if" or "limit_except" block is part of its location. */

static void
ngx_symcache_merge_part(ngx_conf_t *cf, ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    conf->root = prev->root;
    conf->path = prev->path;
    conf->prefix = prev->prefix;
    conf->tail = prev->tail;
    conf->symbols = prev->symbols;
    conf->scope = prev->scope;
    conf->status = prev->status;

    if (clcf->handler == NULL) {
        clcf->handler = conf->status ? ngx_symcache_status_handler
                                     : ngx_symcache_handler;
    }

    if (conf->symbols) {
        ngx_symcache_symbols_merge(cf);
    }
}


static char *
ngx_symcache_merge_location(ngx_conf_t *cf, ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf)
{
    ngx_str_t                  root;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname && conf->root == NULL && (prev->root || prev->status)) {
        ngx_symcache_merge_part(cf, prev, conf);
        return NGX_CONF_OK;
    }

    if (conf->status && conf->zone == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"symcache_status\" needs a zone, not "
                           "\"symcache_zone off\", in location \"%V\"",
                           &clcf->name);
        return NGX_CONF_ERROR;
    }

    if ((conf->root && clcf->handler != ngx_symcache_handler)
        || (conf->status && clcf->handler != ngx_symcache_status_handler))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%s\" and another directive that answers "
                           "requests, such as \"proxy_pass\", in location "
                           "\"%V\"", ngx_symcache_merge_name(conf),
                           &clcf->name);
        return NGX_CONF_ERROR;
    }

    if (conf->root && conf->root->lengths == NULL) {
        root = conf->root->value;

        while (root.len && root.data[root.len - 1] == '/') {
            root.len--;
        }

        if (conf->symbols
            && ngx_symcache_symbols_root(cf->pool, &conf->store, &root)
               != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }

        conf->path = root;
        conf->scope = ngx_symcache_zone_scope(&root, conf);
    }

    if (conf->symbols) {
        ngx_symcache_symbols_merge(cf);
    }

    return NGX_CONF_OK;
}
