
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The status page: what its two halves share, the one that shows the zone and
 * the one that shows what the helper says.
 */


#ifndef _NGX_SYMCACHE_STATUS_H_INCLUDED_
#define _NGX_SYMCACHE_STATUS_H_INCLUDED_


#include "module/ngx_symcache_zone.h"


typedef enum {
    NGX_SYMCACHE_PAGE_NONE = 0,     /* the location has no helper */
    NGX_SYMCACHE_PAGE_SILENT,
    NGX_SYMCACHE_PAGE_ANSWERED
} ngx_symcache_page_e;


typedef struct {
    ngx_symcache_page_e     state;
    ngx_str_t               body;   /* lines, fields behind tabs */
} ngx_symcache_page_t;


/* ngx_symcache_status.c: the directive, and the handler that it sets */
char *ngx_symcache_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_int_t ngx_symcache_status_handler(ngx_http_request_t *r);

/*
 * Appends text of others, escaped for HTML or JSON; nothing if it does not
 * fit.  What is not UTF-8 is shown as question marks.
 */
u_char *ngx_symcache_status_copy(u_char *p, u_char *last, ngx_str_t *text,
    ngx_uint_t html);


/* ngx_symcache_page.c */

/* Bytes that the two functions below may append. */
size_t ngx_symcache_page_size(ngx_symcache_page_t *page);

/* Sections with headings and tables. */
u_char *ngx_symcache_page_html(u_char *p, u_char *last,
    ngx_symcache_page_t *page);

/* The value of "helper": an object. */
u_char *ngx_symcache_page_json(u_char *p, u_char *last,
    ngx_symcache_page_t *page);


#endif /* _NGX_SYMCACHE_STATUS_H_INCLUDED_ */
