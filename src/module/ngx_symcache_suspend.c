
/*
 * Copyright (C) the ngx_symcache authors
 *
 * A suspended request: only its client, or an event of ours, wakes it.
 */


#include "ngx_symcache.h"


/* bytes of a pool's block for what else is allocated until the answer */

#define NGX_SYMCACHE_SUSPEND_REST  192


static void ngx_symcache_suspend_reading(ngx_http_request_t *r);
static void ngx_symcache_suspend_abandon(ngx_symcache_ctx_t *ctx);


ngx_int_t
ngx_symcache_suspend(ngx_http_request_t *r)
{
    if (!r->discard_body) {
        r->read_event_handler = ngx_symcache_suspend_reading;
    }

    r->write_event_handler = ngx_http_request_empty_handler;

    if (r->connection->read->ready) {
        ngx_post_event(r->connection->read, &ngx_posted_events);
        return NGX_OK;
    }

    return ngx_handle_read_event(r->connection->read, 0);
}


/*
 * A client that goes away is not the end of its request if there is a
 * post_action: then no cleanup is called, but what waits for the former
 * location must not answer in the new one.
 */

static void
ngx_symcache_suspend_reading(ngx_http_request_t *r)
{
    ngx_symcache_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_symcache_module);

    r->main->count++;

    ngx_http_test_reading(r);

    if (ctx && ctx != ngx_http_get_module_ctx(r, ngx_symcache_module)) {
        ngx_symcache_suspend_abandon(ctx);
    }

    if (r->main->count > 1) {
        r->main->count--;
        return;
    }

    ngx_http_finalize_request(r, NGX_DONE);
}


static void
ngx_symcache_suspend_abandon(ngx_symcache_ctx_t *ctx)
{
    if (ctx->wait) {
        ngx_symcache_wait_leave(ctx->wait);
    }

    if (ctx->helper) {
        ngx_symcache_helper_cancel(ctx->helper);
    }
}


/*
 * What does not fit into the last block of the pool has memory of its own:
 * another block costs 4 KB, ten thousand times.
 */

void *
ngx_symcache_suspend_alloc(ngx_pool_t *pool, size_t size)
{
    ngx_pool_t  *p;

    for (p = pool->current; p; p = p->d.next) {

        if ((size_t) (p->d.end - p->d.last)
            >= size + NGX_SYMCACHE_SUSPEND_REST)
        {
            return ngx_palloc(pool, size);
        }
    }

    return ngx_pmemalign(pool, size, NGX_POOL_ALIGNMENT);
}
