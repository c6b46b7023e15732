
/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to the helper, while it is under way: a lookup, or its status
 * page.  The clone of the request has it as the data of its post_subrequest.
 */


#ifndef _NGX_SYMCACHE_HELPER_H_INCLUDED_
#define _NGX_SYMCACHE_HELPER_H_INCLUDED_


#include "ngx_symcache.h"


struct ngx_symcache_helper_s {
    ngx_symcache_ctx_t        *ctx;
    ngx_http_upstream_conf_t  *upstream;
    ngx_uint_t                 wait;
    ngx_symcache_reply_t       reply;

    ngx_http_status_t          status;
    ngx_http_chunked_t         chunked;
    off_t                      length;      /* -1: not given */
    off_t                      rest;        /* of the body or chunk */
    off_t                      received;    /* of the body */

    ngx_str_t                 *page;        /* its body; NULL: a lookup */
    ngx_msec_t                 deadline;    /* of the page */

    unsigned                   active:1;
    unsigned                   background:1;
    unsigned                   heard:1;     /* it sent something */
    unsigned                   header:1;    /* has been read */
    unsigned                   close:1;
    unsigned                   is_chunked:1;
    unsigned                   has_version:1;
    unsigned                   has_reason:1;
};


/* ngx_symcache_reply.c */

/* Forgets what was read of a reply, before another server is asked. */
void ngx_symcache_reply_init(ngx_http_request_t *r);

/* process_header of the upstream framework, for the first bytes */
ngx_int_t ngx_symcache_reply_status(ngx_http_request_t *r);


#endif /* _NGX_SYMCACHE_HELPER_H_INCLUDED_ */
