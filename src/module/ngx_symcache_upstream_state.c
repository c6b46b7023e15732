
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The states of the upstream, one for each server that was asked, from which
 * $upstream_addr, $upstream_status, $upstream_response_time and the like are
 * made.  Those of notifications, which have no part in the answer, are not
 * recorded: they are there for balancers (least_time), which read them.
 */


#include "ngx_symcache_helper.h"


#define NGX_SYMCACHE_UPSTREAM_STATE_UNSET  (ngx_msec_t) -1

/* a long hold may ask many times: the last state is replaced from then on */

#define NGX_SYMCACHE_UPSTREAM_STATE_MAX    32


static ngx_http_upstream_state_t *ngx_symcache_upstream_state_add(
    ngx_symcache_ctx_t *ctx);


ngx_int_t
ngx_symcache_upstream_state_start(ngx_symcache_helper_t *helper)
{
    ngx_http_upstream_t        *u;
    ngx_http_upstream_state_t  *state;

    u = &helper->upstream;

    if (helper->done) {
        state = ngx_symcache_upstream_state_add(helper->ctx);

    } else {
        state = u->state;

        if (state == NULL) {
            state = ngx_palloc(helper->ctx->request->pool,
                               sizeof(ngx_http_upstream_state_t));
        }
    }

    if (state == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(state, sizeof(ngx_http_upstream_state_t));

    state->response_time = NGX_SYMCACHE_UPSTREAM_STATE_UNSET;
    state->connect_time = NGX_SYMCACHE_UPSTREAM_STATE_UNSET;
    state->header_time = NGX_SYMCACHE_UPSTREAM_STATE_UNSET;

    u->state = state;
    u->start_time = ngx_current_msec;

    return NGX_OK;
}


static ngx_http_upstream_state_t *
ngx_symcache_upstream_state_add(ngx_symcache_ctx_t *ctx)
{
    ngx_array_t                *states;
    ngx_http_request_t         *r;
    ngx_http_upstream_state_t  *state;

    r = ctx->request;
    states = r->upstream_states;

    if (states == NULL) {
        states = ngx_array_create(r->pool, 1,
                                  sizeof(ngx_http_upstream_state_t));
        if (states == NULL) {
            return NULL;
        }

        r->upstream_states = states;

    } else if (!ctx->nstates) {

        /* an empty state separates those of another module from ours */

        state = ngx_array_push(states);
        if (state == NULL) {
            return NULL;
        }

        ngx_memzero(state, sizeof(ngx_http_upstream_state_t));
    }

    if (ctx->nstates == NGX_SYMCACHE_UPSTREAM_STATE_MAX) {
        state = states->elts;
        return &state[states->nelts - 1];
    }

    ctx->nstates++;

    return ngx_array_push(states);
}


ngx_int_t
ngx_symcache_upstream_state_name(ngx_symcache_helper_t *helper)
{
    ngx_str_t            *name;
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    if (ngx_symcache_peers_change(u->upstream)) {

        name = ngx_palloc(helper->ctx->request->pool,
                          sizeof(ngx_str_t) + u->peer.name->len);
        if (name == NULL) {
            return NGX_ERROR;
        }

        name->len = u->peer.name->len;
        name->data = (u_char *) (name + 1);
        ngx_memcpy(name->data, u->peer.name->data, name->len);

        u->peer.name = name;
    }

    u->state->peer = u->peer.name;

    return NGX_OK;
}


void
ngx_symcache_upstream_state_connected(ngx_symcache_helper_t *helper)
{
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    if (u->state->connect_time == NGX_SYMCACHE_UPSTREAM_STATE_UNSET) {
        u->state->connect_time = ngx_current_msec - u->start_time;
    }
}


void
ngx_symcache_upstream_state_received(ngx_symcache_helper_t *helper, size_t n)
{
    helper->upstream.state->bytes_received += n;
}


void
ngx_symcache_upstream_state_header(ngx_symcache_helper_t *helper)
{
    ngx_http_upstream_t  *u;

    u = &helper->upstream;

    u->state->header_time = ngx_current_msec - u->start_time;
}


void
ngx_symcache_upstream_state_end(ngx_symcache_helper_t *helper,
    ngx_uint_t status)
{
    ngx_http_upstream_t        *u;
    ngx_http_upstream_state_t  *state;

    u = &helper->upstream;
    state = u->state;

    if (state == NULL
        || state->response_time != NGX_SYMCACHE_UPSTREAM_STATE_UNSET)
    {
        return;
    }

    state->status = status;
    state->response_time = ngx_current_msec - u->start_time;

    state->bytes_sent = helper->sent;
    state->response_length = helper->received;
}
