
/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to the helper, while it is under way: a lookup, or its status
 * page.  ngx_symcache_helper.c builds the question and receives its end,
 * ngx_symcache_upstream_conn.c sends it to a server of the upstream,
 * ngx_symcache_reply.c parses what comes back, and
 * ngx_symcache_upstream_state.c records each server for the access log.
 */


#ifndef _NGX_SYMCACHE_HELPER_H_INCLUDED_
#define _NGX_SYMCACHE_HELPER_H_INCLUDED_


#include "ngx_symcache.h"


typedef ngx_int_t (*ngx_symcache_helper_read_pt)(
    ngx_symcache_helper_t *helper);


struct ngx_symcache_helper_s {
    ngx_symcache_ctx_t          *ctx;
    ngx_symcache_done_pt         done;        /* NULL: nobody waits */
    ngx_event_t                  event;       /* begin; end, if it is brief */

    ngx_str_t                    text;        /* of the question */
    size_t                       sent;        /* of it */

    ngx_http_upstream_t          upstream;    /* where balancers look */
    ngx_http_request_t          *parser;      /* once something comes back */
    ngx_symcache_helper_read_pt  read;

    ngx_symcache_reply_t         reply;
    ngx_http_status_t            status;
    ngx_http_chunked_t           chunked;
    off_t                        length;      /* -1: not given */
    off_t                        rest;        /* of the body or chunk */
    off_t                        received;    /* of the body */

    ngx_str_t                   *page;        /* its body; NULL: a lookup */

    unsigned                     active:1;
    unsigned                     held:1;      /* no read_timeout */
    unsigned                     heard:1;     /* it sent something */
    unsigned                     close:1;
    unsigned                     is_chunked:1;
    unsigned                     has_version:1;
    unsigned                     has_reason:1;
    unsigned                     stopping:1;
    unsigned                     unknown:1;  /* it has no such store */
};


/* ngx_symcache_helper.c */

/*
 * The question has ended: with a complete reply, or none for this reason.
 * Nothing of the question, and maybe of its request, is there afterwards.
 */
void ngx_symcache_helper_end(ngx_symcache_helper_t *helper,
    ngx_symcache_reply_e code);


/* ngx_symcache_upstream_conn.c */

/*
 * Sends helper->text to a server of the upstream, and to others as next says.
 * May call ngx_symcache_helper_end() at once.
 */
void ngx_symcache_upstream_conn_start(ngx_symcache_helper_t *helper);

/* Gives the connection back, or closes it if there is no whole reply. */
void ngx_symcache_upstream_conn_close(ngx_symcache_helper_t *helper);


/* ngx_symcache_reply.c */

/* Forgets what was read of a reply, before another server is asked. */
void ngx_symcache_reply_init(ngx_symcache_helper_t *helper);

/*
 * Reads what has come into the buffer of the upstream.  NGX_AGAIN, NGX_OK: the
 * reply is complete, NGX_HTTP_UPSTREAM_INVALID_HEADER: it is none; NGX_ERROR.
 */
ngx_int_t ngx_symcache_reply_read(ngx_symcache_helper_t *helper);


/* ngx_symcache_upstream_state.c */

/* Before a server is chosen. */
ngx_int_t ngx_symcache_upstream_state_start(ngx_symcache_helper_t *helper);

/*
 * Once it is chosen: its name in upstream.peer lives as long as the request
 * from here on, also if the server is gone from its upstream before.
 */
ngx_int_t ngx_symcache_upstream_state_name(ngx_symcache_helper_t *helper);

void ngx_symcache_upstream_state_connected(ngx_symcache_helper_t *helper);
void ngx_symcache_upstream_state_received(ngx_symcache_helper_t *helper,
    size_t n);
void ngx_symcache_upstream_state_header(ngx_symcache_helper_t *helper);

/* Only the first end counts.  Its status, 0: it was given up before. */
void ngx_symcache_upstream_state_end(ngx_symcache_helper_t *helper,
    ngx_uint_t status);


#endif /* _NGX_SYMCACHE_HELPER_H_INCLUDED_ */
