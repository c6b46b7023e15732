
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests that wait for the helper.  All requests of a worker that wait for
 * the same answer share one question: the first one leads and asks, the others
 * follow and are suspended without a connection to the helper.
 *
 *     idle --> LEADS -----------------------------------> idle, answered
 *       |       ^ |  ^ after a pause: job still runs, or helper was lost
 *       |       | +--+
 *       |    PROMOTED, when its leader's client or hold is gone
 *       |       ^
 *       +--> FOLLOWS --> WOKEN, its leader has the answer --> idle, answered
 *
 * From every state, when the client is gone, and from all but WOKEN, when the
 * hold is over: idle.
 */


#include "ngx_symcache.h"
#include "ngx_symcache_zone.h"
#include "ngx_symcache_helper.h"


/*
 * milliseconds before the helper is asked again if it has said "still running"
 * before the time to wait was over: 1, 2, ... 16 seconds
 */

#define NGX_SYMCACHE_WAIT_PAUSE      1000
#define NGX_SYMCACHE_WAIT_PAUSE_MAX  16000

/*
 * milliseconds before a helper that could not be reached is asked again: it may
 * be restarting, or its queue of connections may be full.  50, 100, ... 800,
 * which is 1.6 seconds in all
 */

#define NGX_SYMCACHE_WAIT_LOST       50
#define NGX_SYMCACHE_WAIT_LOST_MAX   5

/*
 * milliseconds beyond the end of a hold for the helper's answer to arrive.  A
 * held question has no other limit, and a server that has not answered by then
 * is not marked as failed.
 */

#define NGX_SYMCACHE_WAIT_MARGIN     500


typedef enum {
    NGX_SYMCACHE_WAIT_IDLE = 0,
    NGX_SYMCACHE_WAIT_LEADS,       /* it is in the tree */
    NGX_SYMCACHE_WAIT_PROMOTED,    /* the same, and its event is posted */
    NGX_SYMCACHE_WAIT_FOLLOWS,     /* it is in its leader's queue */
    NGX_SYMCACHE_WAIT_WOKEN        /* its event is posted */
} ngx_symcache_wait_e;


struct ngx_symcache_wait_s {
    ngx_rbtree_node_t      node;
    ngx_queue_t            queue;      /* leader: its followers */
    ngx_symcache_ctx_t    *ctx;
    ngx_event_t            event;      /* pause, end of the hold, wake-up */
    ngx_symcache_wait_e    state;
    ngx_uint_t             hold;
    ngx_uint_t             lost;       /* questions, in a row */
};


static void ngx_symcache_wait_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_symcache_wait_t *ngx_symcache_wait_lookup(ngx_symcache_ctx_t *ctx,
    ngx_uint_t hold);
static ngx_int_t ngx_symcache_wait_cmp(ngx_symcache_wait_t *a,
    ngx_symcache_wait_t *b);
static ngx_int_t ngx_symcache_wait_create(ngx_symcache_ctx_t *ctx);
static uint32_t ngx_symcache_wait_hash(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_wait_lead(ngx_symcache_wait_t *w,
    ngx_symcache_wait_e state);
static ngx_int_t ngx_symcache_wait_ask(ngx_symcache_wait_t *w);
static ngx_msec_int_t ngx_symcache_wait_left(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_wait_replied(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_wait_pause(ngx_symcache_wait_t *w);
static void ngx_symcache_wait_timer(ngx_symcache_wait_t *w, ngx_msec_t timer);
static void ngx_symcache_wait_event(ngx_event_t *ev);
static void ngx_symcache_wait_share(ngx_symcache_wait_t *w);
static void ngx_symcache_wait_post(ngx_symcache_wait_t *w,
    ngx_symcache_wait_e state);
static void ngx_symcache_wait_clear(ngx_symcache_wait_t *w);
static void ngx_symcache_wait_finish(ngx_symcache_ctx_t *ctx);
static void ngx_symcache_wait_cleanup(void *data);


void
ngx_symcache_wait_init(ngx_symcache_main_conf_t *smcf)
{
    ngx_rbtree_init(&smcf->waits, &smcf->waits_sentinel,
                    ngx_symcache_wait_insert);
}


ngx_int_t
ngx_symcache_wait_start(ngx_symcache_ctx_t *ctx)
{
    ngx_http_request_t   *r;
    ngx_symcache_wait_t  *w, *leader;

    r = ctx->request;

    if (ngx_symcache_wait_create(ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    w = ctx->wait;
    w->node.key = ngx_symcache_wait_hash(ctx);
    w->hold = (!ctx->retries && ctx->conf->hold_timeout != 0);

    if (w->hold && ctx->deadline == 0) {
        ctx->deadline = ngx_current_msec + ctx->conf->hold_timeout;
    }

    if (!w->hold && ngx_symcache_wait_lookup(ctx, 1) != NULL) {

        /* the job runs: a held request waits for its end */

        ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));
        ctx->reply.code = NGX_SYMCACHE_REPLY_PENDING;

        return ctx->replied(ctx);
    }

    if (ngx_symcache_suspend(r) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    leader = ngx_symcache_wait_lookup(ctx, w->hold);

    if (leader) {
        ngx_queue_insert_tail(&leader->queue, &w->queue);
        w->state = NGX_SYMCACHE_WAIT_FOLLOWS;

        if (w->hold) {
            ngx_add_timer(&w->event, ngx_symcache_wait_left(ctx));
        }

    } else {
        ngx_queue_init(&w->queue);
        ngx_symcache_wait_lead(w, NGX_SYMCACHE_WAIT_LEADS);

        if (ngx_symcache_wait_ask(w) != NGX_OK) {
            ngx_symcache_wait_leave(w);
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    r->main->count++;

    return NGX_DONE;
}


static ngx_int_t
ngx_symcache_wait_create(ngx_symcache_ctx_t *ctx)
{
    ngx_http_cleanup_t   *cln;
    ngx_symcache_wait_t  *w;

    if (ctx->wait) {
        return NGX_OK;
    }

    w = ngx_symcache_suspend_alloc(ctx->request->pool,
                                   sizeof(ngx_symcache_wait_t));
    if (w == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(w, sizeof(ngx_symcache_wait_t));

    cln = ngx_http_cleanup_add(ctx->request, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_symcache_wait_cleanup;
    cln->data = w;

    w->ctx = ctx;

    w->event.handler = ngx_symcache_wait_event;
    w->event.data = w;
    w->event.log = ctx->request->connection->log;

    ctx->wait = w;

    return NGX_OK;
}


/* Computed for each question, because ngx_rbtree_delete() clears the key. */

static uint32_t
ngx_symcache_wait_hash(ngx_symcache_ctx_t *ctx)
{
    uint32_t  hash;

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, ctx->asked.key.guid, 16);
    ngx_crc32_update(&hash, (u_char *) ctx->asked.key.name,
                     ctx->asked.key.name_len);
    ngx_crc32_final(hash);

    return hash;
}


static void
ngx_symcache_wait_insert(ngx_rbtree_node_t *temp, ngx_rbtree_node_t *node,
    ngx_rbtree_node_t *sentinel)
{
    ngx_rbtree_node_t    **p;
    ngx_symcache_wait_t   *w, *t;

    w = (ngx_symcache_wait_t *) node;

    for ( ;; ) {

        if (node->key != temp->key) {
            p = (node->key < temp->key) ? &temp->left : &temp->right;

        } else {
            t = (ngx_symcache_wait_t *) temp;
            p = (ngx_symcache_wait_cmp(w, t) < 0) ? &temp->left : &temp->right;
        }

        if (*p == sentinel) {
            break;
        }

        temp = *p;
    }

    *p = node;
    node->parent = temp;
    node->left = sentinel;
    node->right = sentinel;
    ngx_rbt_red(node);
}


static ngx_symcache_wait_t *
ngx_symcache_wait_lookup(ngx_symcache_ctx_t *ctx, ngx_uint_t hold)
{
    ngx_int_t                  rc;
    ngx_uint_t                 mode;
    ngx_rbtree_node_t         *node, *sentinel;
    ngx_symcache_wait_t       *w, *t;
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(ctx->request, ngx_symcache_module);

    node = smcf->waits.root;
    sentinel = smcf->waits.sentinel;

    w = ctx->wait;
    mode = w->hold;
    w->hold = hold;

    while (node != sentinel) {

        if (w->node.key != node->key) {
            node = (w->node.key < node->key) ? node->left : node->right;
            continue;
        }

        t = (ngx_symcache_wait_t *) node;
        rc = ngx_symcache_wait_cmp(w, t);

        if (rc == 0) {
            w->hold = mode;
            return t;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    w->hold = mode;

    return NULL;
}


/* 0: the helper would give both the same answer. */

static ngx_int_t
ngx_symcache_wait_cmp(ngx_symcache_wait_t *a, ngx_symcache_wait_t *b)
{
    int              rc;
    symcache_ask_t  *x, *y;
    symcache_key_t  *k, *l;

    if (a->ctx->conf != b->ctx->conf) {
        return a->ctx->conf < b->ctx->conf ? -1 : 1;
    }

    if (a->hold != b->hold) {
        return a->hold < b->hold ? -1 : 1;
    }

    k = &a->ctx->asked.key;
    l = &b->ctx->asked.key;

    rc = symcache_key_cmp_id(k, l);
    if (rc) {
        return rc;
    }

    /* by hints and spelling: a source may have a file for one of them only */

    rc = ngx_strcmp(a->ctx->hints, b->ctx->hints);
    if (rc) {
        return rc;
    }

    rc = ngx_memn2cmp((u_char *) a->ctx->asked.name,
                      (u_char *) b->ctx->asked.name,
                      k->name_len, l->name_len);
    if (rc) {
        return rc;
    }

    /* by the helpers on the way, so that the helper can see a circle */

    rc = ngx_memn2cmp(a->ctx->via.data, b->ctx->via.data,
                      a->ctx->via.len, b->ctx->via.len);
    if (rc) {
        return rc;
    }

    if (a->ctx->redirects != b->ctx->redirects) {
        return a->ctx->redirects < b->ctx->redirects ? -1 : 1;
    }

    x = &a->ctx->ask;
    y = &b->ctx->ask;

    rc = symcache_version_cmp(&x->version, &y->version);
    if (rc) {
        return rc;
    }

    if (x->has_exceeds != y->has_exceeds) {
        return x->has_exceeds < y->has_exceeds ? -1 : 1;
    }

    return x->has_exceeds ? symcache_version_cmp(&x->exceeds, &y->exceeds) : 0;
}


static void
ngx_symcache_wait_lead(ngx_symcache_wait_t *w, ngx_symcache_wait_e state)
{
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(w->ctx->request, ngx_symcache_module);

    ngx_rbtree_insert(&smcf->waits, &w->node);

    w->state = state;
}


static ngx_int_t
ngx_symcache_wait_ask(ngx_symcache_wait_t *w)
{
    ngx_uint_t      wait;
    ngx_msec_int_t  left;

    wait = 0;

    if (w->hold) {
        left = ngx_symcache_wait_left(w->ctx);

        wait = ngx_max(left / 1000, 1);
        wait = ngx_min(wait, SYMCACHE_WAIT_MAX);

        /*
         * The helper cannot be told to wait for less than a second.  In the
         * last one, its answer may come too late and is not waited for.
         */

        ngx_symcache_wait_timer(w, left < 1000
                                   ? left : left + NGX_SYMCACHE_WAIT_MARGIN);
    }

    if (ngx_symcache_helper_ask(w->ctx, w->hold, wait,
                                ngx_symcache_wait_replied)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!w->lost) {
        ngx_symcache_zone_count(w->ctx, NGX_SYMCACHE_COUNT_ASKED);
    }

    return NGX_OK;
}


static ngx_msec_int_t
ngx_symcache_wait_left(ngx_symcache_ctx_t *ctx)
{
    ngx_msec_int_t  left;

    left = (ngx_msec_int_t) (ctx->deadline - ngx_current_msec);

    return ngx_max(left, 0);
}


static void
ngx_symcache_wait_replied(ngx_symcache_ctx_t *ctx)
{
    ngx_symcache_wait_t  *w;

    w = ctx->wait;

    if (ctx->reply.code == NGX_SYMCACHE_REPLY_LOST) {
        w->lost++;
        ctx->asks--;

    } else {
        w->lost = 0;
    }

    /* a question that is asked again after a loss counts once */

    if (ctx->reply.code <= NGX_SYMCACHE_REPLY_TIMEOUT && w->lost <= 1) {
        ngx_symcache_zone_count(ctx, NGX_SYMCACHE_COUNT_FAILED);
    }

    if (w->hold
        && (ctx->reply.code == NGX_SYMCACHE_REPLY_PENDING
            || ctx->reply.code == NGX_SYMCACHE_REPLY_TIMEOUT
            || (w->lost && w->lost <= NGX_SYMCACHE_WAIT_LOST_MAX)))
    {
        if (ngx_symcache_wait_left(ctx) == 0) {

            /* the holds of followers may end later */

            ngx_symcache_wait_leave(w);
            ngx_symcache_wait_finish(ctx);
            return;
        }

        if (ctx->reply.code != NGX_SYMCACHE_REPLY_TIMEOUT) {
            ngx_symcache_wait_pause(w);
            return;
        }
    }

    ngx_symcache_wait_share(w);
    ngx_symcache_wait_finish(ctx);
}


static void
ngx_symcache_wait_pause(ngx_symcache_wait_t *w)
{
    ngx_msec_t           pause;
    ngx_symcache_ctx_t  *ctx;

    ctx = w->ctx;

    if (w->lost) {

        /* at random, so that not all ask at the same moment */

        pause = NGX_SYMCACHE_WAIT_LOST << (w->lost - 1);
        pause += ngx_random() % NGX_SYMCACHE_WAIT_LOST;

    } else {
        pause = NGX_SYMCACHE_WAIT_PAUSE << ngx_min(ctx->asks - 1, 4);
        pause = ngx_max(pause, (ngx_msec_t) ctx->reply.retry_after * 1000);
        pause = ngx_min(pause, NGX_SYMCACHE_WAIT_PAUSE_MAX);
    }

    pause = ngx_min(pause, (ngx_msec_t) ngx_symcache_wait_left(ctx));

    ngx_symcache_wait_timer(w, pause);
}


/* Deletes the timer first, as ngx_add_timer() keeps one that is similar. */

static void
ngx_symcache_wait_timer(ngx_symcache_wait_t *w, ngx_msec_t timer)
{
    if (w->event.timer_set) {
        ngx_del_timer(&w->event);
    }

    ngx_add_timer(&w->event, timer);
}


static void
ngx_symcache_wait_event(ngx_event_t *ev)
{
    ngx_connection_t     *c;
    ngx_symcache_ctx_t   *ctx;
    ngx_symcache_wait_t  *w;

    w = ev->data;
    ctx = w->ctx;
    c = ctx->request->connection;

    ngx_http_set_log_request(c->log, ctx->request);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "symcache wait event, state:%d", w->state);

    switch (w->state) {

    case NGX_SYMCACHE_WAIT_WOKEN:
        ngx_symcache_wait_clear(w);
        ngx_symcache_wait_finish(ctx);
        break;

    case NGX_SYMCACHE_WAIT_LEADS:
    case NGX_SYMCACHE_WAIT_PROMOTED:

        if (!w->hold || ngx_symcache_wait_left(ctx) > 0) {
            w->state = NGX_SYMCACHE_WAIT_LEADS;

            if (ngx_symcache_wait_ask(w) != NGX_OK) {
                ngx_symcache_wait_leave(w);
                ngx_http_finalize_request(ctx->request,
                                          NGX_HTTP_INTERNAL_SERVER_ERROR);
            }

            break;
        }

        /* fall through */

    case NGX_SYMCACHE_WAIT_FOLLOWS:

        /* the hold is over, even if the helper has been told to wait longer */

        ngx_symcache_wait_leave(w);

        if (ctx->helper) {
            ngx_symcache_helper_cancel(ctx->helper);
        }

        ngx_memzero(&ctx->reply, sizeof(ngx_symcache_reply_t));
        ctx->reply.code = NGX_SYMCACHE_REPLY_PENDING;

        ngx_symcache_wait_finish(ctx);
        break;

    default: /* NGX_SYMCACHE_WAIT_IDLE */
        ngx_log_error(NGX_LOG_ALERT, c->log, 0,
                      "symcache wait event without a wait");
        break;
    }

    ngx_http_run_posted_requests(c);
}


/* Hands the leader's reply to all of its followers. */

static void
ngx_symcache_wait_share(ngx_symcache_wait_t *w)
{
    ngx_queue_t               *q;
    ngx_symcache_wait_t       *f;
    ngx_symcache_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(w->ctx->request, ngx_symcache_module);

    ngx_rbtree_delete(&smcf->waits, &w->node);
    ngx_symcache_wait_clear(w);

    while (!ngx_queue_empty(&w->queue)) {
        q = ngx_queue_head(&w->queue);
        ngx_queue_remove(q);

        f = ngx_queue_data(q, ngx_symcache_wait_t, queue);
        ngx_symcache_helper_copy(f->ctx, w->ctx);
        f->ctx->forgotten = w->ctx->forgotten;
        f->ctx->asks++;

        ngx_symcache_zone_count(f->ctx, NGX_SYMCACHE_COUNT_SHARED);

        ngx_symcache_wait_post(f, NGX_SYMCACHE_WAIT_WOKEN);
    }
}


void
ngx_symcache_wait_leave(ngx_symcache_wait_t *w)
{
    ngx_queue_t               *q;
    ngx_symcache_wait_t       *f;
    ngx_symcache_wait_e        state;
    ngx_symcache_main_conf_t  *smcf;

    state = w->state;

    ngx_symcache_wait_clear(w);

    if (state == NGX_SYMCACHE_WAIT_FOLLOWS) {
        ngx_queue_remove(&w->queue);
        return;
    }

    if (state != NGX_SYMCACHE_WAIT_LEADS
        && state != NGX_SYMCACHE_WAIT_PROMOTED)
    {
        return;
    }

    smcf = ngx_http_get_module_main_conf(w->ctx->request, ngx_symcache_module);

    ngx_rbtree_delete(&smcf->waits, &w->node);

    if (ngx_queue_empty(&w->queue)) {
        return;
    }

    q = ngx_queue_head(&w->queue);
    ngx_queue_remove(q);

    f = ngx_queue_data(q, ngx_symcache_wait_t, queue);
    ngx_queue_init(&f->queue);

    if (!ngx_queue_empty(&w->queue)) {
        ngx_queue_add(&f->queue, &w->queue);
        ngx_queue_init(&w->queue);
    }

    ngx_symcache_wait_post(f, NGX_SYMCACHE_WAIT_PROMOTED);
    ngx_symcache_wait_lead(f, NGX_SYMCACHE_WAIT_PROMOTED);
}


/*
 * The event is posted and not called: the caller may be in the middle of
 * another request.
 */

static void
ngx_symcache_wait_post(ngx_symcache_wait_t *w, ngx_symcache_wait_e state)
{
    ngx_symcache_wait_clear(w);

    w->state = state;

    ngx_post_event(&w->event, &ngx_posted_events);
}


static void
ngx_symcache_wait_clear(ngx_symcache_wait_t *w)
{
    if (w->event.timer_set) {
        ngx_del_timer(&w->event);
    }

    if (w->event.posted) {
        ngx_delete_posted_event(&w->event);
    }

    w->state = NGX_SYMCACHE_WAIT_IDLE;
}


static void
ngx_symcache_wait_finish(ngx_symcache_ctx_t *ctx)
{
    ngx_http_request_t  *r;

    r = ctx->request;

    ngx_http_finalize_request(r, ctx->replied(ctx));
}


static void
ngx_symcache_wait_cleanup(void *data)
{
    ngx_symcache_wait_leave(data);
}
