
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The variables $symcache_*.  The key is also found in the URI of a location
 * without "symcache", so that a front end can choose a server by it.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"


typedef enum {
    NGX_SYMCACHE_VAR_PDB = 0,
    NGX_SYMCACHE_VAR_ID,
    NGX_SYMCACHE_VAR_AGE,
    NGX_SYMCACHE_VAR_KEY
} ngx_symcache_variable_e;


static ngx_int_t ngx_symcache_variable_status(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_symcache_variable_version(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_symcache_variable_key(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_symcache_variable_set(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, const char *text, size_t len);
static void ngx_symcache_variables_cleanup(void *data);


static ngx_http_variable_t  ngx_symcache_variables[] = {

    { ngx_string("symcache_status"), NULL, ngx_symcache_variable_status,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("symcache_version"), NULL, ngx_symcache_variable_version,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("symcache_pdb"), NULL, ngx_symcache_variable_key,
      NGX_SYMCACHE_VAR_PDB, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("symcache_id"), NULL, ngx_symcache_variable_key,
      NGX_SYMCACHE_VAR_ID, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("symcache_age"), NULL, ngx_symcache_variable_key,
      NGX_SYMCACHE_VAR_AGE, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("symcache_key"), NULL, ngx_symcache_variable_key,
      NGX_SYMCACHE_VAR_KEY, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_null_string, NULL, NULL, 0, 0, 0 }
};


/* in the order of ngx_symcache_status_e */

static ngx_str_t  ngx_symcache_statuses[] = {
    ngx_null_string,
    ngx_string("HIT"),
    ngx_string("STALE"),
    ngx_string("MISS"),
    ngx_string("HELD"),
    ngx_string("PENDING"),
    ngx_string("ABSENT"),
    ngx_string("NOT_MODIFIED"),
    ngx_string("BAD"),
    ngx_string("ERROR")
};


ngx_int_t
ngx_symcache_variables_add(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_symcache_variables; v->name.len; v++) {

        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


void
ngx_symcache_variables_keep(ngx_symcache_ctx_t *ctx)
{
    ngx_pool_t  *pool;

    /* as ngx_pool_cleanup_add() does, without memory of its own */

    pool = ctx->request->pool;

    ctx->cleanup.handler = ngx_symcache_variables_cleanup;
    ctx->cleanup.data = ctx;
    ctx->cleanup.next = pool->cleanup;

    pool->cleanup = &ctx->cleanup;
}


/*
 * Counts the request at its end.  Until then, the address of this function is
 * how ngx_symcache_variables_ctx() finds the context.
 */

static void
ngx_symcache_variables_cleanup(void *data)
{
    ngx_symcache_zone_done(data);
}


ngx_symcache_ctx_t *
ngx_symcache_variables_ctx(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;
    ngx_symcache_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_symcache_module);

    if (ctx) {
        return ctx;
    }

    if (!r->internal && !r->filter_finalize) {
        return NULL;
    }

    /* an internal redirect has cleared the contexts, but not the pool */

    for (cln = r->pool->cleanup; cln; cln = cln->next) {

        if (cln->handler != ngx_symcache_variables_cleanup) {
            continue;
        }

        ctx = cln->data;

        if (ctx->request == r) {
            return ctx;
        }
    }

    return NULL;
}


static ngx_int_t
ngx_symcache_variable_status(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t           *status;
    ngx_symcache_ctx_t  *ctx;

    ctx = ngx_symcache_variables_ctx(r);

    if (ctx == NULL || ctx->status == NGX_SYMCACHE_NONE) {
        v->not_found = 1;
        return NGX_OK;
    }

    status = &ngx_symcache_statuses[ctx->status];

    v->len = status->len;
    v->data = status->data;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_variable_version(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_symcache_ctx_t  *ctx;

    ctx = ngx_symcache_variables_ctx(r);

    if (ctx == NULL || ctx->served_len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    return ngx_symcache_variable_set(r, v, (char *) ctx->served_text,
                                     ctx->served_len);
}


static ngx_int_t
ngx_symcache_variable_key(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    char                 text[SYMCACHE_PATH_MAX + 1];
    size_t               len;
    u_char              *p;
    symcache_key_t      *key;
    symcache_request_t   req;
    ngx_symcache_ctx_t  *ctx;

    ctx = ngx_symcache_variables_ctx(r);

    if (ctx && ctx->parsed) {
        key = &ctx->asked.key;

    } else if (ngx_symcache_request_tail(&r->uri, &req) == NGX_OK
               || ngx_symcache_request_symbol_tail(&r->uri, &req) == NGX_OK)
    {
        key = &req.key;

    } else {
        v->not_found = 1;
        return NGX_OK;
    }

    switch (data) {

    case NGX_SYMCACHE_VAR_PDB:
        return ngx_symcache_variable_set(r, v, key->name, key->name_len);

    case NGX_SYMCACHE_VAR_ID:
        len = symcache_id_print(text, key);

        if (key->id_type == SYMCACHE_ID_DEBUG) {
            len = 32;
        }

        return ngx_symcache_variable_set(r, v, text, len);

    case NGX_SYMCACHE_VAR_AGE:

        if (key->id_type != SYMCACHE_ID_DEBUG) {
            v->not_found = 1;
            return NGX_OK;
        }

        p = ngx_sprintf((u_char *) text, "%uD", key->age);
        return ngx_symcache_variable_set(r, v, text, p - (u_char *) text);

    default: /* NGX_SYMCACHE_VAR_KEY */
        return ngx_symcache_variable_set(r, v, text,
                                         symcache_path_dir(text, key));
    }
}


static ngx_int_t
ngx_symcache_variable_set(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    const char *text, size_t len)
{
    v->data = ngx_pnalloc(r->pool, len);
    if (v->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(v->data, text, len);

    v->len = len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}
