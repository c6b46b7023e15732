
/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcache_status: a static page for browsers that reads the JSON form, the
 * JSON form with the counters of a zone and what the helper says of itself, and
 * the counters alone for Prometheus, which can ask the helper itself.  The
 * store is not looked at.
 */


#include "ngx_symcache_status.h"
#include "ngx_symcache_page.h"


/* the recent requests are the largest part: escaped, below 2 KB each */

#define NGX_SYMCACHE_STATUS_SIZE  (16384 + NGX_SYMCACHE_RECENT * 2048)


typedef struct {
    ngx_str_t               name;       /* of ?format= */
    ngx_str_t               type;
    ngx_uint_t              helper;     /* is asked */
    u_char               *(*print)(u_char *p, u_char *last,
                                   ngx_symcache_report_t *report);
} ngx_symcache_status_format_t;


typedef struct {
    ngx_symcache_ctx_t             ctx;      /* of the question to the helper */
    ngx_symcache_status_format_t  *format;
    ngx_str_t                      helper;   /* JSON */
    ngx_symcache_report_t          report;
} ngx_symcache_status_t;


static ngx_symcache_status_format_t *ngx_symcache_status_format(
    ngx_http_request_t *r);
static void ngx_symcache_status_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_status_send(ngx_http_request_t *r,
    ngx_symcache_status_t *status);
static ngx_buf_t *ngx_symcache_status_body(ngx_http_request_t *r,
    ngx_symcache_status_t *status);
static ngx_int_t ngx_symcache_status_headers(ngx_http_request_t *r,
    ngx_str_t *type);


/* the first one is that of a request that names none */

static ngx_symcache_status_format_t  ngx_symcache_status_formats[] = {
    { ngx_string("html"), ngx_string("text/html; charset=utf-8"), 0, NULL },
    { ngx_string("json"), ngx_string("application/json"), 1,
      ngx_symcache_counters_json },
    { ngx_string("prometheus"),
      ngx_string("text/plain; version=0.0.4; charset=utf-8"), 0,
      ngx_symcache_counters_prometheus },
    { ngx_null_string, ngx_null_string, 0, NULL }
};


/*
 * Names on the page are those of others.  The page puts them in as text; should
 * one become markup nevertheless, then nothing of it runs or is fetched.
 */

static ngx_keyval_t  ngx_symcache_status_headers_out[] = {
    { ngx_string("Cache-Control"), ngx_string("no-store") },
    { ngx_string("Content-Security-Policy"),
      ngx_string("default-src 'none'; connect-src 'self'; "
                 "style-src " NGX_SYMCACHE_PAGE_STYLE "; "
                 "script-src " NGX_SYMCACHE_PAGE_SCRIPT "; "
                 "base-uri 'none'; form-action 'none'; "
                 "frame-ancestors 'none'") },
    { ngx_string("X-Content-Type-Options"), ngx_string("nosniff") },
    { ngx_null_string, ngx_null_string }
};


char *
ngx_symcache_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    ngx_http_core_loc_conf_t  *clcf;

    if (slcf->status) {
        return "is duplicate";
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return "conflicts with another directive that answers requests";
    }

    clcf->handler = ngx_symcache_status_handler;
    slcf->status = 1;

    return NGX_CONF_OK;
}


ngx_int_t
ngx_symcache_status_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_symcache_status_t    *status;
    ngx_symcache_loc_conf_t  *slcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    status = ngx_pcalloc(r->pool, sizeof(ngx_symcache_status_t));
    if (status == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    status->format = ngx_symcache_status_format(r);
    if (status->format == NULL) {
        return NGX_HTTP_BAD_REQUEST;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);

    if (!status->format->helper) {
        return ngx_symcache_status_send(r, status);
    }

    if (slcf->upstream.upstream == NULL) {
        ngx_str_set(&status->helper, "{\"state\":\"none\"}");
        return ngx_symcache_status_send(r, status);
    }

    status->ctx.request = r;
    status->ctx.conf = slcf;
    status->ctx.hints = "";

    ngx_http_set_ctx(r, &status->ctx, ngx_symcache_module);

    if (ngx_symcache_suspend(r) != NGX_OK
        || ngx_symcache_helper_page(&status->ctx, &status->helper,
                                    ngx_symcache_status_replied)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static ngx_symcache_status_format_t *
ngx_symcache_status_format(ngx_http_request_t *r)
{
    ngx_str_t                      name;
    ngx_symcache_status_format_t  *format;

    format = ngx_symcache_status_formats;

    if (ngx_http_arg(r, (u_char *) "format", 6, &name) != NGX_OK) {
        return format;
    }

    for ( /* void */ ; format->name.len; format++) {
        if (name.len == format->name.len
            && ngx_strncmp(name.data, format->name.data, name.len) == 0)
        {
            return format;
        }
    }

    return NULL;
}


/* The helper's page is passed on unchanged: it was complete, and JSON. */

static void
ngx_symcache_status_replied(ngx_symcache_ctx_t *ctx)
{
    ngx_http_request_t     *r;
    ngx_symcache_status_t  *status;

    r = ctx->request;

    status = (ngx_symcache_status_t *)
                 ((u_char *) ctx - offsetof(ngx_symcache_status_t, ctx));

    switch (ctx->reply.code) {

    case NGX_SYMCACHE_REPLY_READY:
        break;

    case NGX_SYMCACHE_REPLY_LOST:
        ngx_str_set(&status->helper,
                    "{\"state\":\"silent\",\"reason\":\"no connection\"}");
        break;

    case NGX_SYMCACHE_REPLY_TIMEOUT:
        ngx_str_set(&status->helper,
                    "{\"state\":\"silent\",\"reason\":\"no answer in time\"}");
        break;

    default:
        ngx_str_set(&status->helper,
                    "{\"state\":\"silent\",\"reason\":\"no valid answer\"}");
        break;
    }

    ngx_http_finalize_request(r, ngx_symcache_status_send(r, status));
}


static ngx_int_t
ngx_symcache_status_send(ngx_http_request_t *r, ngx_symcache_status_t *status)
{
    ngx_int_t    rc;
    ngx_buf_t   *b;
    ngx_chain_t  out;

    b = ngx_symcache_status_body(r, status);

    if (b == NULL
        || ngx_symcache_status_headers(r, &status->format->type) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_buf_t *
ngx_symcache_status_body(ngx_http_request_t *r, ngx_symcache_status_t *status)
{
    ngx_buf_t                *b;
    ngx_symcache_loc_conf_t  *slcf;

    if (status->format->print == NULL) {

        b = ngx_calloc_buf(r->pool);
        if (b == NULL) {
            return NULL;
        }

        b->pos = ngx_symcache_page;
        b->last = ngx_symcache_page + sizeof(ngx_symcache_page) - 1;
        b->memory = 1;

        return b;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);

    ngx_symcache_zone_report(slcf->zone, &status->report);

    b = ngx_create_temp_buf(r->pool,
                            NGX_SYMCACHE_STATUS_SIZE + status->helper.len);
    if (b == NULL) {
        return NULL;
    }

    b->last = status->format->print(b->pos, b->end, &status->report);

    if (status->format->helper) {
        b->last = ngx_slprintf(b->last, b->end, ",\"helper\":%V}\n",
                               &status->helper);
    }

    return b;
}


static ngx_int_t
ngx_symcache_status_headers(ngx_http_request_t *r, ngx_str_t *type)
{
    u_char        *p;
    ngx_str_t      value;
    ngx_keyval_t  *h;

    for (h = ngx_symcache_status_headers_out; h->key.len; h++) {

        value = h->value;

        if (ngx_symcache_answer_header(r, (char *) h->key.data, h->key.len,
                                       &value)
            == NULL)
        {
            return NGX_ERROR;
        }
    }

    p = ngx_strlchr(type->data, type->data + type->len, ';');

    r->headers_out.content_type = *type;
    r->headers_out.content_type_len = p ? (size_t) (p - type->data)
                                        : type->len;
    r->headers_out.content_type_lowcase = NULL;

    return NGX_OK;
}
