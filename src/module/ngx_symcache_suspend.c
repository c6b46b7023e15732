
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Suspended requests.  Only the client or an event of the module wakes one.
 */


#include "ngx_symcache.h"


/* bytes of a pool's block that are left for what the answer allocates */

#define NGX_SYMCACHE_SUSPEND_REST  192


static void ngx_symcache_suspend_returned(ngx_http_request_t *r);
static void ngx_symcache_suspend_reading(ngx_http_request_t *r);
static void ngx_symcache_suspend_abandon(ngx_symcache_ctx_t *ctx);


ngx_int_t
ngx_symcache_suspend(ngx_http_request_t *r)
{
    r->read_event_handler = ngx_symcache_suspend_reading;
    r->write_event_handler = ngx_http_request_empty_handler;

    if (ngx_symcache_discarding(r)) {
        r->write_event_handler = ngx_symcache_suspend_returned;

        if (ngx_http_post_request(r, NULL) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if (r->connection->read->ready) {
        ngx_post_event(r->connection->read, &ngx_posted_events);
        return NGX_OK;
    }

    return ngx_handle_read_event(r->connection->read, 0);
}


/*
 * When the content handler has returned, nginx sets a read handler of its own
 * for the rest of a discarded body, and one that ignores the client after that.
 * This is called later, and sets ours again.
 */

static void
ngx_symcache_suspend_returned(ngx_http_request_t *r)
{
    r->read_event_handler = ngx_symcache_suspend_reading;
    r->write_event_handler = ngx_http_request_empty_handler;
}


/*
 * If the client goes away, nginx ends the request and calls the cleanups.  But
 * with a post_action the request goes on in another location, and no cleanup is
 * called.  Wait and question belong to the location before and are ended here.
 */

static void
ngx_symcache_suspend_reading(ngx_http_request_t *r)
{
    ngx_event_t         *rev;
    ngx_symcache_ctx_t  *ctx;

    rev = r->connection->read;
    ctx = ngx_http_get_module_ctx(r, ngx_symcache_module);

    r->main->count++;

    if (!ngx_symcache_discarding(r)) {
        ngx_http_test_reading(r);

    } else {
        ngx_http_discarded_request_body_handler(r);

        /* nginx has a write handler of its own when it ends the request */

        if (!ngx_symcache_discarding(r)
            && r->write_event_handler == ngx_http_request_empty_handler)
        {
            /* the body has ended, and the client may have gone with it */

            r->read_event_handler = ngx_symcache_suspend_reading;

            if (rev->timer_set) {
                ngx_del_timer(rev);
            }

            ngx_post_event(rev, &ngx_posted_events);
        }
    }

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
 * Memory that does not fit into a block of the pool is allocated alone, because
 * another block would take 4 KB, and thousands of requests may be held.
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
