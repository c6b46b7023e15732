
/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcache_status: the directive, and what answers at such a location.
 */


#ifndef _NGX_SYMCACHE_STATUS_H_INCLUDED_
#define _NGX_SYMCACHE_STATUS_H_INCLUDED_


#include "module/ngx_symcache_zone.h"


/* ngx_symcache_status.c: the directive, and the handler that it sets */
char *ngx_symcache_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_int_t ngx_symcache_status_handler(ngx_http_request_t *r);


/*
 * ngx_symcache_counters.c: print a report at p, and nothing behind last.  The
 * object in JSON is left open, for what the caller adds.
 */
u_char *ngx_symcache_counters_json(u_char *p, u_char *last,
    ngx_symcache_report_t *report);
u_char *ngx_symcache_counters_prometheus(u_char *p, u_char *last,
    ngx_symcache_report_t *report);


#endif /* _NGX_SYMCACHE_STATUS_H_INCLUDED_ */
