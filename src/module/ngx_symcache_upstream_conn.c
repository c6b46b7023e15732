
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The connection of a question to a server of its upstream, and to the next
 * server if that fails.  Balancers, keepalive and the marking of failed servers
 * are those of ngx_http_upstream.  It is not used as a whole, because each
 * question would need a subrequest of 4 KB: see docs/internals/upstream.md.
 */


#include "ngx_symcache_helper.h"


static ngx_http_upstream_t *ngx_symcache_upstream_conn_enter(
    ngx_symcache_helper_t *helper);
static void ngx_symcache_upstream_conn_leave(ngx_symcache_helper_t *helper,
    ngx_http_upstream_t *former);
static void ngx_symcache_upstream_conn_connect(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_upstream_conn_peer(
    ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_upstream_conn_attach(
    ngx_symcache_helper_t *helper);
static void ngx_symcache_upstream_conn_handler(ngx_event_t *ev);
static void ngx_symcache_upstream_conn_send(ngx_symcache_helper_t *helper);
static void ngx_symcache_upstream_conn_read(ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_upstream_conn_recv(
    ngx_symcache_helper_t *helper);
static ngx_int_t ngx_symcache_upstream_conn_buffer(
    ngx_symcache_helper_t *helper);
static void ngx_symcache_upstream_conn_replied(ngx_symcache_helper_t *helper);
static ngx_uint_t ngx_symcache_upstream_conn_retries(
    ngx_symcache_helper_t *helper, ngx_uint_t why);
static void ngx_symcache_upstream_conn_next(ngx_symcache_helper_t *helper,
    ngx_uint_t why);
static void ngx_symcache_upstream_conn_free(ngx_symcache_helper_t *helper,
    ngx_uint_t state);
static void ngx_symcache_upstream_conn_disconnect(
    ngx_symcache_helper_t *helper);


void
ngx_symcache_upstream_conn_start(ngx_symcache_helper_t *helper)
{
    ngx_int_t                      rc;
    ngx_uint_t                     tries;
    ngx_http_request_t            *r;
    ngx_http_upstream_t           *u, *former;
    ngx_http_upstream_srv_conf_t  *uscf;

    r = helper->ctx->request;
    u = &helper->upstream;

    u->conf = &helper->ctx->conf->upstream;
    uscf = u->conf->upstream;

    ngx_str_set(&u->schema, "symcached://");
    u->upstream = uscf;
    u->peer.log = r->connection->log;
    u->peer.log_error = NGX_ERROR_ERR;

    former = ngx_symcache_upstream_conn_enter(helper);

    rc = uscf->peer.init(r, uscf);

    ngx_symcache_upstream_conn_leave(helper, former);

    if (rc != NGX_OK || ngx_symcache_helper_local(helper) != NGX_OK) {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        return;
    }

    u->peer.start_time = ngx_current_msec;

    tries = u->conf->next_upstream_tries;

    if (tries && u->peer.tries > tries) {
        u->peer.tries = tries;
    }

    ngx_symcache_upstream_conn_connect(helper);
}


/*
 * Balancers expect the upstream in the request: all of them when they are set
 * up, those of Angie whenever a server is chosen and freed.  If there is one
 * already, of another module, ours is in its place for one call only.
 */

static ngx_http_upstream_t *
ngx_symcache_upstream_conn_enter(ngx_symcache_helper_t *helper)
{
    ngx_http_request_t   *r;
    ngx_http_upstream_t  *former;

    r = helper->ctx->request;

    former = r->upstream;
    r->upstream = &helper->upstream;

    return former;
}


static void
ngx_symcache_upstream_conn_leave(ngx_symcache_helper_t *helper,
    ngx_http_upstream_t *former)
{
    if (former) {
        helper->ctx->request->upstream = former;
    }
}


static void
ngx_symcache_upstream_conn_connect(ngx_symcache_helper_t *helper)
{
    ngx_int_t             rc;
    ngx_log_t            *log;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;
    log = helper->ctx->request->connection->log;

    log->action = "connecting to upstream";

    /*
     * Forget the last server.  If u->keepalive stayed set, the next connection
     * could be kept before its answer has come.
     */

    ngx_symcache_reply_init(helper);

    helper->sent = 0;
    u->request_sent = 0;
    u->request_body_sent = 0;
    u->keepalive = 0;

    if (ngx_symcache_upstream_state_start(helper) != NGX_OK) {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        return;
    }

    rc = ngx_symcache_upstream_conn_peer(helper);

    if (rc == NGX_ERROR
        || ngx_symcache_upstream_state_name(helper) != NGX_OK)
    {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        return;
    }

    if (rc == NGX_BUSY) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "no live upstreams");
        ngx_symcache_upstream_conn_next(helper, NGX_HTTP_UPSTREAM_FT_NOLIVE);
        return;
    }

    if (rc == NGX_DECLINED) {
        ngx_symcache_upstream_conn_next(helper, NGX_HTTP_UPSTREAM_FT_ERROR);
        return;
    }

    /* rc == NGX_OK || rc == NGX_AGAIN || rc == NGX_DONE */

    if (ngx_symcache_upstream_conn_attach(helper) != NGX_OK) {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        return;
    }

    if (rc == NGX_AGAIN) {
        ngx_add_timer(u->peer.connection->write, u->conf->connect_timeout);
        return;
    }

    ngx_symcache_upstream_conn_send(helper);
}


/*
 * Chooses a server, and connects unless a connection is kept.  One on which
 * something has come is replaced by a new one to the same server: that belongs
 * to no question, and would be read as the reply to this one.
 */

static ngx_int_t
ngx_symcache_upstream_conn_peer(ngx_symcache_helper_t *helper)
{
    char                    byte;
    ssize_t                 n;
    ngx_int_t               rc;
    ngx_http_upstream_t    *former;
    ngx_peer_connection_t  *pc;

    pc = &helper->upstream.peer;

    former = ngx_symcache_upstream_conn_enter(helper);

    rc = ngx_event_connect_peer(pc);

    ngx_symcache_upstream_conn_leave(helper, former);

    if ((rc != NGX_DONE && rc != NGX_OK) || !pc->cached) {
        return rc;
    }

    n = recv(pc->connection->fd, &byte, 1, MSG_PEEK);

    if (n == -1 && ngx_socket_errno == NGX_EAGAIN) {
        return rc;
    }

    if (n > 0) {
        ngx_log_error(NGX_LOG_WARN, pc->log, 0,
                      "symcached sent more data than its reply has");
    }

    ngx_symcache_upstream_conn_disconnect(helper);

    pc->cached = 0;

    return ngx_symcache_upstream_peer_connect_anew(pc);
}


/* Attaches the connection, a new one or one that was kept, to the question. */

static ngx_int_t
ngx_symcache_upstream_conn_attach(ngx_symcache_helper_t *helper)
{
    ngx_log_t         *log;
    ngx_connection_t  *c;

    c = helper->upstream.peer.connection;
    log = helper->ctx->request->connection->log;

    c->requests++;
    c->data = helper;
    c->read->handler = ngx_symcache_upstream_conn_handler;
    c->write->handler = ngx_symcache_upstream_conn_handler;

    if (c->pool == NULL) {

        /* not the pool of the request, which a kept connection outlives */

        c->pool = ngx_create_pool(128, log);
        if (c->pool == NULL) {
            return NGX_ERROR;
        }
    }

    c->log = log;
    c->pool->log = log;
    c->read->log = log;
    c->write->log = log;

    return NGX_OK;
}


static void
ngx_symcache_upstream_conn_handler(ngx_event_t *ev)
{
    ngx_connection_t       *c;
    ngx_http_request_t     *r;
    ngx_symcache_helper_t  *helper;

    c = ev->data;
    helper = c->data;

    r = helper->ctx->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    if (ev->timedout) {
        ngx_symcache_upstream_conn_next(helper, NGX_HTTP_UPSTREAM_FT_TIMEOUT);

    } else if (ev->write) {
        ngx_symcache_upstream_conn_send(helper);

    } else {
        ngx_symcache_upstream_conn_read(helper);
    }

    ngx_http_run_posted_requests(c);
}


static void
ngx_symcache_upstream_conn_send(ngx_symcache_helper_t *helper)
{
    ssize_t               n;
    ngx_connection_t     *c;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;
    c = u->peer.connection;

    if (helper->sent == helper->text.len) {
        goto handle;
    }

    ngx_symcache_upstream_state_connected(helper);

    c->log->action = "sending request to upstream";

    n = c->send(c, helper->text.data + helper->sent,
                helper->text.len - helper->sent);

    if (n == NGX_ERROR) {
        ngx_symcache_upstream_conn_next(helper, NGX_HTTP_UPSTREAM_FT_ERROR);
        return;
    }

    if (n > 0) {
        helper->sent += n;
        u->request_sent = 1;
    }

    if (helper->sent < helper->text.len) {
        ngx_add_timer(c->write, u->conf->send_timeout);
        goto handle;
    }

    if (c->write->timer_set) {
        ngx_del_timer(c->write);
    }

    u->request_body_sent = 1;

    c->log->action = "reading response header from upstream";

    if (!helper->held) {
        ngx_add_timer(c->read, u->conf->read_timeout);
    }

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);
    }

handle:

    if (ngx_handle_write_event(c->write, 0) != NGX_OK) {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
    }
}


static void
ngx_symcache_upstream_conn_read(ngx_symcache_helper_t *helper)
{
    ngx_int_t  rc;

    if (ngx_symcache_upstream_conn_buffer(helper) != NGX_OK) {
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        return;
    }

    do {
        rc = ngx_symcache_upstream_conn_recv(helper);

        if (rc == NGX_AGAIN) {
            return;
        }

        if (rc == NGX_OK) {
            rc = ngx_symcache_reply_read(helper);
        }

    } while (rc == NGX_AGAIN);

    switch (rc) {

    case NGX_OK:
        ngx_symcache_upstream_conn_replied(helper);
        break;

    case NGX_DECLINED:
        ngx_symcache_upstream_conn_next(helper, NGX_HTTP_UPSTREAM_FT_ERROR);
        break;

    case NGX_HTTP_UPSTREAM_INVALID_HEADER:
        ngx_symcache_upstream_conn_next(helper,
                                        NGX_HTTP_UPSTREAM_FT_INVALID_HEADER);
        break;

    default: /* NGX_ERROR */
        ngx_symcache_helper_end(helper, NGX_SYMCACHE_REPLY_ERROR);
        break;
    }
}


/*
 * Receives a part of the reply into the buffer.  NGX_OK: something has come;
 * NGX_AGAIN: nothing yet; NGX_DECLINED: the connection has failed;
 * NGX_HTTP_UPSTREAM_INVALID_HEADER: the header does not fit; or NGX_ERROR.
 */

static ngx_int_t
ngx_symcache_upstream_conn_recv(ngx_symcache_helper_t *helper)
{
    ssize_t            n;
    ngx_buf_t         *b;
    ngx_connection_t  *c;

    b = &helper->upstream.buffer;
    c = helper->upstream.peer.connection;

    if (b->last == b->end) {
        ngx_log_error(NGX_LOG_ERR, c->log, 0, "upstream sent too big header");
        return NGX_HTTP_UPSTREAM_INVALID_HEADER;
    }

    n = c->recv(c, b->last, b->end - b->last);

    if (n == NGX_AGAIN) {
        return ngx_handle_read_event(c->read, 0) == NGX_OK ? NGX_AGAIN
                                                           : NGX_ERROR;
    }

    if (n == 0) {
        ngx_log_error(NGX_LOG_ERR, c->log, 0,
                      "upstream prematurely closed connection");
    }

    if (n == NGX_ERROR || n == 0) {
        return NGX_DECLINED;
    }

    b->last += n;

    ngx_symcache_upstream_state_received(helper, n);

    return NGX_OK;
}


/*
 * Allocates the buffer when the first bytes come, so that held requests have
 * none.  nginx's parsers keep their state in a request, but not in the client's
 * here: that is in use if its body is still being read.
 */

static ngx_int_t
ngx_symcache_upstream_conn_buffer(ngx_symcache_helper_t *helper)
{
    u_char              *p;
    size_t               size;
    ngx_http_request_t  *r;

    if (helper->parser) {
        return NGX_OK;
    }

    r = helper->ctx->request;
    size = helper->upstream.conf->buffer_size;

    p = ngx_pmemalign(r->pool, sizeof(ngx_http_request_t) + size,
                      NGX_POOL_ALIGNMENT);
    if (p == NULL) {
        return NGX_ERROR;
    }

    helper->parser = (ngx_http_request_t *) p;
    helper->upstream.buffer.start = p + sizeof(ngx_http_request_t);
    helper->upstream.buffer.end = p + sizeof(ngx_http_request_t) + size;

    ngx_memzero(p, sizeof(ngx_http_request_t));
    helper->parser->connection = r->connection;

    ngx_symcache_reply_init(helper);

    return NGX_OK;
}


/* A whole reply has come: the end, unless another server is to be asked. */

static void
ngx_symcache_upstream_conn_replied(ngx_symcache_helper_t *helper)
{
    ngx_uint_t            why;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    ngx_symcache_upstream_state_end(helper, helper->status.code);

    switch (helper->reply.code) {

    case NGX_SYMCACHE_REPLY_ABSENT:
        why = NGX_HTTP_UPSTREAM_FT_HTTP_404;
        break;

    case NGX_SYMCACHE_REPLY_BUSY:
        why = NGX_HTTP_UPSTREAM_FT_HTTP_503;
        break;

    case NGX_SYMCACHE_REPLY_LOST:
    case NGX_SYMCACHE_REPLY_DRAINING:
        why = NGX_HTTP_UPSTREAM_FT_ERROR;
        break;

    default:
        why = 0;
        break;
    }

    if (u->peer.tries > 1 && ngx_symcache_upstream_conn_retries(helper, why)) {

        /* one that answers has not failed: it is well for other keys */

        if (helper->reply.code != NGX_SYMCACHE_REPLY_LOST) {
            ngx_symcache_upstream_conn_free(helper, NGX_PEER_NEXT);
        }

        ngx_symcache_reply_refused(helper);
        ngx_symcache_upstream_conn_next(helper, why);
        return;
    }

    if (helper->reply.code == NGX_SYMCACHE_REPLY_LOST) {
        (void) ngx_symcache_reply_failed(helper, NGX_SYMCACHE_REPLY_LOST);
    }

    ngx_symcache_helper_end(helper, helper->reply.code);
}


/*
 * Whether the configuration allows to ask another server for this reason.  A
 * notice that no request waits for is sent to one server only.
 */

static ngx_uint_t
ngx_symcache_upstream_conn_retries(ngx_symcache_helper_t *helper,
    ngx_uint_t why)
{
    ngx_msec_t            timeout;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;
    timeout = u->conf->next_upstream_timeout;

    return helper->done != NULL
           && (u->conf->next_upstream & why)
           && (timeout == 0
               || ngx_current_msec - u->peer.start_time < timeout);
}


static void
ngx_symcache_upstream_conn_next(ngx_symcache_helper_t *helper, ngx_uint_t why)
{
    ngx_symcache_reply_e  code;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    ngx_symcache_upstream_state_end(helper,
                                    why == NGX_HTTP_UPSTREAM_FT_TIMEOUT
                                    ? NGX_HTTP_GATEWAY_TIME_OUT
                                    : NGX_HTTP_BAD_GATEWAY);

    /* a status page decides nothing for lookups */

    ngx_symcache_upstream_conn_free(helper, helper->page ? NGX_PEER_NEXT
                                                         : NGX_PEER_FAILED);

    if (why == NGX_HTTP_UPSTREAM_FT_TIMEOUT) {
        ngx_log_error(NGX_LOG_ERR, u->peer.log, NGX_ETIMEDOUT,
                      "upstream timed out");
    }

    /* the server may just have closed a kept connection: this try is free */

    if (u->peer.cached
        && why == NGX_HTTP_UPSTREAM_FT_ERROR
        && !helper->heard)
    {
        u->peer.tries++;
    }

    if (u->peer.tries == 0
        || !ngx_symcache_upstream_conn_retries(helper, why))
    {
        if (why == NGX_HTTP_UPSTREAM_FT_TIMEOUT) {
            code = NGX_SYMCACHE_REPLY_TIMEOUT;

        } else {
            code = helper->heard ? NGX_SYMCACHE_REPLY_ERROR
                                 : NGX_SYMCACHE_REPLY_LOST;
        }

        ngx_symcache_helper_end(helper,
                                ngx_symcache_reply_failed(helper, code));
        return;
    }

    ngx_symcache_upstream_conn_disconnect(helper);
    ngx_symcache_upstream_conn_connect(helper);
}


void
ngx_symcache_upstream_conn_close(ngx_symcache_helper_t *helper)
{
    ngx_http_request_t   *r;
    ngx_http_upstream_t  *u;

    r = helper->ctx->request;
    u = &helper->upstream;

    ngx_symcache_upstream_state_end(helper, 0);
    ngx_symcache_upstream_conn_free(helper, 0);
    ngx_symcache_upstream_conn_disconnect(helper);

    if (r->upstream == u) {
        r->upstream = NULL;
    }

    if (helper->parser) {
        ngx_pfree(r->pool, helper->parser);
        helper->parser = NULL;
    }
}


static void
ngx_symcache_upstream_conn_free(ngx_symcache_helper_t *helper,
    ngx_uint_t state)
{
    ngx_http_upstream_t  *u, *former;

    u = &helper->upstream;

    if (u->peer.free && u->peer.sockaddr) {
        former = ngx_symcache_upstream_conn_enter(helper);

        u->peer.free(&u->peer, u->peer.data, state);
        ngx_symcache_upstream_peer_close(&u->peer, state);
        u->peer.sockaddr = NULL;

        ngx_symcache_upstream_conn_leave(helper, former);
    }
}


static void
ngx_symcache_upstream_conn_disconnect(ngx_symcache_helper_t *helper)
{
    ngx_connection_t  *c;

    c = helper->upstream.peer.connection;

    if (c == NULL) {
        return;
    }

    if (c->pool) {
        ngx_destroy_pool(c->pool);
    }

    ngx_close_connection(c);

    helper->upstream.peer.connection = NULL;
}
