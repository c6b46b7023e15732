
/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to the helper, while it is under way: a lookup, or its status
 * page.  ngx_symcache_helper_question.c builds the question and gets its end,
 * ngx_symcache_upstream_conn.c sends it to a server of the upstream,
 * ngx_symcache_helper_reply.c parses what comes back, and
 * ngx_symcache_upstream_state.c records each server for the access log.
 */


#ifndef _NGX_SYMCACHE_HELPER_H_INCLUDED_
#define _NGX_SYMCACHE_HELPER_H_INCLUDED_


#include "ngx_symcache.h"


typedef ngx_int_t (*ngx_symcache_helper_read_pt)(
    ngx_symcache_helper_t *helper);


struct ngx_symcache_helper_s {
    ngx_symcache_ctx_t          *ctx;
    ngx_symcache_done_pt         done;        /* NULL: a notification */
    ngx_event_t                  event;       /* begins it; ends a brief one */
    char                        *action;      /* of the log, before it */

    size_t                       size;        /* allocated, with the text */
    ngx_str_t                    text;        /* of the request */
    size_t                       sent;        /* bytes of the text */

    ngx_http_upstream_t          upstream;    /* as balancers expect it */
    ngx_http_request_t          *parser;      /* NULL before the reply comes */
    ngx_symcache_helper_read_pt  read;

    ngx_symcache_reply_t         reply;
    ngx_symcache_reply_t         refusal;     /* of a server before, if any */
    ngx_str_t                    refusal_reason;
    ngx_http_status_t            status;
    ngx_http_chunked_t           chunked;
    off_t                        length;      /* -1: not given */
    off_t                        rest;        /* of the body or chunk */
    off_t                        received;    /* of the body */

    ngx_str_t                   *page;        /* its body; NULL: a lookup */

    unsigned                     active:1;
    unsigned                     held:1;      /* no read_timeout */
    unsigned                     heard:1;     /* a byte of the reply has come */
    unsigned                     close:1;
    unsigned                     is_chunked:1;
    unsigned                     is_json:1;
    unsigned                     has_version:1;
    unsigned                     has_reason:1;
    unsigned                     stopping:1;
    unsigned                     draining:1;
    unsigned                     unknown:1;  /* the helper has no such store */
};


/* ngx_symcache_helper_question.c */

/* Sets the local address by symcache_bind.  NGX_OK or NGX_ERROR. */
ngx_int_t ngx_symcache_helper_local(ngx_symcache_helper_t *helper);

/*
 * Ends the question, with a complete reply or for another reason.  Afterwards
 * the question is gone, and its request may be gone as well.
 */
void ngx_symcache_helper_end(ngx_symcache_helper_t *helper,
    ngx_symcache_reply_e code);

/*
 * Keeps as much of a reason as is shown, in memory of the request that all
 * replies of a hold use; and where a client is sent to.  NGX_ERROR: no memory.
 */

ngx_int_t ngx_symcache_helper_keep_reason(ngx_symcache_ctx_t *ctx,
    ngx_str_t *reason);
ngx_int_t ngx_symcache_helper_keep_location(ngx_symcache_ctx_t *ctx,
    ngx_str_t *url);

/* Gives the reply of one request to another one, with its texts. */

void ngx_symcache_helper_copy(ngx_symcache_ctx_t *to,
    ngx_symcache_ctx_t *from);


/* ngx_symcache_upstream_conn.c */

/*
 * Sends helper->text to a server of the upstream, and to others as
 * symcache_next_upstream says.  May call ngx_symcache_helper_end() at once.
 */
void ngx_symcache_upstream_conn_start(ngx_symcache_helper_t *helper);

/* Gives the connection back, or closes it unless a whole reply has come. */
void ngx_symcache_upstream_conn_close(ngx_symcache_helper_t *helper);


/* ngx_symcache_helper_reply.c */

/* Forgets the reply of the last server before another one is asked. */
void ngx_symcache_reply_init(ngx_symcache_helper_t *helper);

/*
 * Parses what has come into upstream.buffer.  NGX_OK: the reply is complete;
 * NGX_AGAIN: more is to come; NGX_HTTP_UPSTREAM_INVALID_HEADER: the reply is
 * invalid; or NGX_ERROR.
 */
ngx_int_t ngx_symcache_reply_read(ngx_symcache_helper_t *helper);

/*
 * Keeps the reply of a server that is well and starts no job, before another
 * one is asked.  If that and all others fail, it is the reply.
 */
void ngx_symcache_reply_refused(ngx_symcache_helper_t *helper);

/* The code of the reply after the last server has failed with this one. */
ngx_symcache_reply_e ngx_symcache_reply_failed(ngx_symcache_helper_t *helper,
    ngx_symcache_reply_e code);


/* ngx_symcache_upstream_state.c */

/* Adds a state, before a server is chosen.  NGX_OK or NGX_ERROR. */
ngx_int_t ngx_symcache_upstream_state_start(ngx_symcache_helper_t *helper);

/*
 * Notes the name of the server that was chosen.  If the servers of the upstream
 * can change, the name is copied, as it must live as long as the request.
 * NGX_OK or NGX_ERROR.
 */
ngx_int_t ngx_symcache_upstream_state_name(ngx_symcache_helper_t *helper);

void ngx_symcache_upstream_state_connected(ngx_symcache_helper_t *helper);
void ngx_symcache_upstream_state_received(ngx_symcache_helper_t *helper,
    size_t n);
void ngx_symcache_upstream_state_header(ngx_symcache_helper_t *helper);

/*
 * Ends the state with a status, or 0 if the question was cancelled.  Only the
 * first call counts.
 */
void ngx_symcache_upstream_state_end(ngx_symcache_helper_t *helper,
    ngx_uint_t status);


#endif /* _NGX_SYMCACHE_HELPER_H_INCLUDED_ */
