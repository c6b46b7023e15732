
/*
 * Copyright (C) the ngx_symcache authors
 *
 * All differences between versions of nginx that matter here, one macro each.
 */


#ifndef _NGX_SYMCACHE_COMPAT_H_INCLUDED_
#define _NGX_SYMCACHE_COMPAT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* From 1.23.0, headers of the same name are a list, whose link must be set. */

#if (nginx_version >= 1023000)
#define ngx_symcache_header_init(h)   (h)->hash = 1; (h)->next = NULL
#else
#define ngx_symcache_header_init(h)   (h)->hash = 1
#endif


/* freenginx has nginx's numbers, and other changes; it defines NGINX_NAME. */

#ifdef NGINX_NAME
#define NGX_SYMCACHE_FREENGINX  1
#endif


/* From 1.27.2, trailers of a chunked body can be kept, which is not wanted. */

#if (nginx_version >= 1027002 && !NGX_SYMCACHE_FREENGINX)
#define ngx_symcache_parse_chunked(r, b, chunked)                             \
    ngx_http_parse_chunked(r, b, chunked, 0)
#else
#define ngx_symcache_parse_chunked(r, b, chunked)                             \
    ngx_http_parse_chunked(r, b, chunked)
#endif


/* In freenginx from 1.27.0, discard_body stays set when a body is discarded. */

#if (nginx_version >= 1027000 && NGX_SYMCACHE_FREENGINX)
#define ngx_symcache_discarding(r)  (r)->discarding_body
#else
#define ngx_symcache_discarding(r)  (r)->discard_body
#endif


/* From 1.27.3, servers in shared memory may be resolved again, and vanish. */

#if (NGX_HTTP_UPSTREAM_ZONE && defined NGX_HTTP_UPSTREAM_MODIFY)
#define ngx_symcache_peers_change(uscf)                                       \
    ((uscf)->shm_zone && ((uscf)->flags & NGX_HTTP_UPSTREAM_MODIFY))
#else
#define ngx_symcache_peers_change(uscf)  0
#endif


/*
 * In Angie from 1.8.0, a connection is taken from those that are kept after
 * get(), with NGX_OK, and is kept after free().
 */

#if (angie_version >= 1008000)
#define ngx_symcache_upstream_peer_connect_anew(pc)                           \
    ngx_event_connect(pc, (pc)->data)
#define ngx_symcache_upstream_peer_close(pc, state)                           \
    if ((pc)->close) {                                                        \
        (pc)->close(pc, (pc)->data, state);                                   \
    }
#else
static ngx_inline ngx_int_t
ngx_symcache_upstream_peer_connect_anew(ngx_peer_connection_t *pc)
{
    ngx_int_t              rc;
    ngx_event_get_peer_pt  get;

    get = pc->get;
    pc->get = ngx_event_get_peer;

    rc = ngx_event_connect_peer(pc);

    pc->get = get;

    return rc;
}
#define ngx_symcache_upstream_peer_close(pc, state)
#endif


/* Since 1.13.4 in ngx_http_try_files_module.c; no header declares it. */

extern ngx_module_t  ngx_http_try_files_module;

typedef struct {
    void  *try_files;
} ngx_symcache_try_files_t;


#endif /* _NGX_SYMCACHE_COMPAT_H_INCLUDED_ */
