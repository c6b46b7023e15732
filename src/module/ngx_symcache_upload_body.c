
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies of uploads: the file that nginx puts one into may be read by its
 * group, which symcached is in when it runs as another user.
 */


#include "ngx_symcache.h"


static ngx_int_t ngx_symcache_upload_body_handler(ngx_http_request_t *r);


char *
ngx_symcache_upload_body_used(ngx_conf_t *cf, void *post, void *data)
{
    ngx_flag_t                *flag;
    ngx_symcache_main_conf_t  *smcf;

    flag = data;

    if (*flag) {
        smcf = ngx_http_conf_get_module_main_conf(cf, ngx_symcache_module);
        smcf->body_group_access = 1;
    }

    return NGX_CONF_OK;
}


ngx_int_t
ngx_symcache_upload_body_init(ngx_conf_t *cf)
{
    ngx_http_handler_pt        *h;
    ngx_symcache_main_conf_t   *smcf;
    ngx_http_core_main_conf_t  *cmcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_symcache_module);

    if (!smcf->body_group_access) {
        return NGX_OK;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_PREACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_symcache_upload_body_handler;

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_upload_body_handler(ngx_http_request_t *r)
{
    ngx_http_request_body_t  *rb;
    ngx_symcache_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);

    if (!slcf->body_group_access) {
        return NGX_DECLINED;
    }

    r->request_body_file_group_access = 1;

    /* client_body_in_file_only comes too late for it, too */

    rb = r->request_body;

    if (rb && rb->bufs
        && (rb->temp_file == NULL || !rb->temp_file->persistent))
    {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the request body was read before the location was "
                      "chosen, and symcached gets no file of it: "
                      "\"client_body_early_read\" must be off for uploads");
    }

    return NGX_DECLINED;
}
