
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Every nginx_version conditional of the module, one macro per difference.
 */


#ifndef _NGX_SYMCACHE_COMPAT_H_INCLUDED_
#define _NGX_SYMCACHE_COMPAT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* header elements form lists of the same name, an unset link is followed */

#if (nginx_version >= 1023000)
#define ngx_symcache_header_init(h)   (h)->hash = 1; (h)->next = NULL
#else
#define ngx_symcache_header_init(h)   (h)->hash = 1
#endif


/* trailers of a chunked body can be kept; nobody here reads them */

#if (nginx_version >= 1027002)
#define ngx_symcache_parse_chunked(r, b, chunked)                             \
    ngx_http_parse_chunked(r, b, chunked, 0)
#else
#define ngx_symcache_parse_chunked(r, b, chunked)                             \
    ngx_http_parse_chunked(r, b, chunked)
#endif


/* servers of an upstream that are resolved again come and go */

#if (NGX_HTTP_UPSTREAM_ZONE && defined NGX_HTTP_UPSTREAM_MODIFY)
#define ngx_symcache_peers_change(uscf)                                       \
    ((uscf)->shm_zone && ((uscf)->flags & NGX_HTTP_UPSTREAM_MODIFY))
#else
#define ngx_symcache_peers_change(uscf)  0
#endif


/* of ngx_http_try_files_module.c, since 1.13.4; no header declares it */

extern ngx_module_t  ngx_http_try_files_module;

typedef struct {
    void  *try_files;
} ngx_symcache_try_files_t;


#endif /* _NGX_SYMCACHE_COMPAT_H_INCLUDED_ */
