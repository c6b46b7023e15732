
/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcache_status: the counters of a zone, and what the helper says of itself,
 * as a page and as JSON; the counters alone for Prometheus, which can ask the
 * helper itself.  The store is not looked at.
 */


#include "ngx_symcache_status.h"


/* the recent requests are the largest part: escaped, below 2 KB each */

#define NGX_SYMCACHE_STATUS_SIZE  (16384 + NGX_SYMCACHE_RECENT * 2048)


typedef struct {
    ngx_symcache_ctx_t      ctx;        /* of the question to the helper */
    ngx_symcache_page_t     page;
    ngx_uint_t              refresh;    /* the page reloads itself */
    ngx_symcache_report_t   report;
} ngx_symcache_status_t;


typedef u_char *(*ngx_symcache_status_pt)(u_char *p, u_char *last,
    ngx_symcache_status_t *status);


static void ngx_symcache_status_replied(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_status_send(ngx_http_request_t *r,
    ngx_symcache_status_t *status);
static ngx_symcache_status_pt ngx_symcache_status_format(
    ngx_http_request_t *r, ngx_str_t *type);
static u_char *ngx_symcache_status_html(u_char *p, u_char *last,
    ngx_symcache_status_t *status);
static u_char *ngx_symcache_status_html_head(u_char *p, u_char *last,
    ngx_symcache_status_t *status);
static u_char *ngx_symcache_status_html_counters(u_char *p, u_char *last,
    ngx_symcache_report_t *report);
static u_char *ngx_symcache_status_html_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent);
static u_char *ngx_symcache_status_json(u_char *p, u_char *last,
    ngx_symcache_status_t *status);
static u_char *ngx_symcache_status_json_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent);
static u_char *ngx_symcache_status_prometheus(u_char *p, u_char *last,
    ngx_symcache_status_t *status);
static ngx_uint_t ngx_symcache_status_ratio(ngx_symcache_report_t *report);
static u_char *ngx_symcache_status_copy_text(u_char *p, u_char *last,
    u_char *text, ngx_uint_t html);


typedef struct {
    const char  *name;
    const char  *text;
} ngx_symcache_counter_t;


static ngx_symcache_counter_t  ngx_symcache_counters[] = {
#define X(NAME, name, text)  { #name, text },
    NGX_SYMCACHE_COUNTERS(X)
#undef X
};


/* names on the page are others': should one get through, it runs nothing */

static ngx_keyval_t  ngx_symcache_status_headers[] = {
    { ngx_string("Cache-Control"), ngx_string("no-store") },
    { ngx_string("Content-Security-Policy"),
      ngx_string("default-src 'none'; style-src 'unsafe-inline'") },
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
    ngx_str_t                 type, refresh;
    ngx_symcache_status_t    *status;
    ngx_symcache_status_pt    print;
    ngx_symcache_loc_conf_t  *slcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    print = ngx_symcache_status_format(r, &type);
    if (print == NULL) {
        return NGX_HTTP_BAD_REQUEST;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);

    status = ngx_pcalloc(r->pool, sizeof(ngx_symcache_status_t));
    if (status == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    status->refresh = !(ngx_http_arg(r, (u_char *) "refresh", 7, &refresh)
                        == NGX_OK
                        && refresh.len == 3
                        && ngx_strncmp(refresh.data, "off", 3) == 0);

    if (slcf->upstream.upstream == NULL
        || print == ngx_symcache_status_prometheus)
    {
        return ngx_symcache_status_send(r, status);
    }

    status->ctx.request = r;
    status->ctx.conf = slcf;

    ngx_http_set_ctx(r, &status->ctx, ngx_symcache_module);

    if (ngx_symcache_suspend(r) != NGX_OK
        || ngx_symcache_helper_page(&status->ctx, &status->page.body,
                                    ngx_symcache_status_replied)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static void
ngx_symcache_status_replied(ngx_symcache_ctx_t *ctx)
{
    ngx_http_request_t     *r;
    ngx_symcache_status_t  *status;

    r = ctx->request;

    status = (ngx_symcache_status_t *)
                 ((u_char *) ctx - offsetof(ngx_symcache_status_t, ctx));

    status->page.state = (ctx->reply.code == NGX_SYMCACHE_REPLY_READY)
                         ? NGX_SYMCACHE_PAGE_ANSWERED
                         : NGX_SYMCACHE_PAGE_SILENT;

    ngx_http_finalize_request(r, ngx_symcache_status_send(r, status));
}


static ngx_int_t
ngx_symcache_status_send(ngx_http_request_t *r, ngx_symcache_status_t *status)
{
    size_t                    size;
    ngx_int_t                 rc;
    ngx_buf_t                *b;
    ngx_str_t                 type, value;
    ngx_chain_t               out;
    ngx_keyval_t             *h;
    ngx_symcache_status_pt    print;
    ngx_symcache_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_symcache_module);

    ngx_symcache_zone_report(slcf->zone, &status->report);

    size = NGX_SYMCACHE_STATUS_SIZE + ngx_symcache_page_size(&status->page);

    b = ngx_create_temp_buf(r->pool, size);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    print = ngx_symcache_status_format(r, &type);

    b->last = print(b->pos, b->end, status);
    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    for (h = ngx_symcache_status_headers; h->key.len; h++) {

        value = h->value;

        if (ngx_symcache_answer_header(r, (char *) h->key.data, h->key.len,
                                       &value)
            == NULL)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;
    r->headers_out.content_type = type;
    r->headers_out.content_type_len = ngx_strchr(type.data, ';')
                                      ? (u_char *) ngx_strchr(type.data, ';')
                                        - type.data
                                      : (ngx_int_t) type.len;
    r->headers_out.content_type_lowcase = NULL;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_symcache_status_pt
ngx_symcache_status_format(ngx_http_request_t *r, ngx_str_t *type)
{
    ngx_str_t  format;

    if (ngx_http_arg(r, (u_char *) "format", 6, &format) != NGX_OK) {
        ngx_str_set(type, "text/html; charset=utf-8");
        return ngx_symcache_status_html;
    }

    if (format.len == 4 && ngx_strncmp(format.data, "html", 4) == 0) {
        ngx_str_set(type, "text/html; charset=utf-8");
        return ngx_symcache_status_html;
    }

    if (format.len == 4 && ngx_strncmp(format.data, "json", 4) == 0) {
        ngx_str_set(type, "application/json");
        return ngx_symcache_status_json;
    }

    if (format.len == 10 && ngx_strncmp(format.data, "prometheus", 10) == 0) {
        ngx_str_set(type, "text/plain; version=0.0.4; charset=utf-8");
        return ngx_symcache_status_prometheus;
    }

    return NULL;
}


static u_char *
ngx_symcache_status_html(u_char *p, u_char *last,
    ngx_symcache_status_t *status)
{
    ngx_uint_t              i;
    ngx_symcache_report_t  *report;

    report = &status->report;

    p = ngx_symcache_status_html_head(p, last, status);
    p = ngx_symcache_page_html(p, last, &status->page);
    p = ngx_symcache_status_html_counters(p, last, report);

    p = ngx_slprintf(p, last,
        "<section>\n<h2>Latest requests without a file</h2>\n");

    if (report->nrecent == 0) {
        p = ngx_slprintf(p, last, "<p>There was none.</p>\n");

    } else {
        p = ngx_slprintf(p, last,
            "<div class=\"wide\"><table id=\"recent\">\n<thead><tr>"
            "<th scope=\"col\" class=\"n\">When</th>"
            "<th scope=\"col\">Status</th><th scope=\"col\">PDB</th>"
            "<th scope=\"col\">Version</th><th scope=\"col\">Reason</th></tr>"
            "</thead>\n<tbody>\n");

        for (i = 0; i < report->nrecent; i++) {
            p = ngx_symcache_status_html_recent(p, last, &report->recent[i]);
        }

        p = ngx_slprintf(p, last, "</tbody>\n</table></div>\n");
    }

    return ngx_slprintf(p, last,
                        "</section>\n</main>\n</body>\n</html>\n");
}


/* head, and the numbers that a glance is for */

static u_char *
ngx_symcache_status_html_head(u_char *p, u_char *last,
    ngx_symcache_status_t *status)
{
    ngx_uint_t              ratio;
    ngx_symcache_report_t  *report;

    report = &status->report;

    p = ngx_slprintf(p, last,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n%s"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<title>SymCache: %V</title>\n<style>\n"
        "body{font:16px/1.5 sans-serif;max-width:72em;margin:1.5em auto;"
        "padding:0 1em;color:#1a1a1a;background:#fff}\n"
        "h1{font-size:1.5em;margin:0}\n"
        "h2{font-size:1.15em;margin:1.6em 0 .3em}\n"
        "dl{display:flex;flex-wrap:wrap;gap:.8em;margin:1em 0}\n"
        "dl div{border:1px solid #767676;border-radius:.4em;"
        "padding:.4em 1em}\n"
        "dt{font-size:.85em;color:#444}\ndd{margin:0;font-size:1.6em;"
        "font-variant-numeric:tabular-nums}\n"
        ".wide{overflow-x:auto}\n"
        "table{border-collapse:collapse;width:100%%;font-size:.9em}\n"
        "th,td{text-align:left;vertical-align:top;padding:.3em 1em .3em 0;"
        "border-bottom:1px solid #ccc}\n"
        ".k,.t{overflow-wrap:anywhere}\n.k{min-width:25em}\n"
        ".t{min-width:16em}\n.narrow{width:auto}\n"
        ".n{text-align:right;white-space:nowrap;"
        "font-variant-numeric:tabular-nums}\n"
        ".bad{border-left:.4em solid #a40000;padding-left:.8em}\n"
        "a{color:#0645ad}\n"
        "</style>\n</head>\n<body>\n<main>\n<h1>SymCache, zone %V</h1>\n",
        status->refresh ? "<meta http-equiv=\"refresh\" content=\"5\">\n" : "",
        &report->name, &report->name);

    ratio = ngx_symcache_status_ratio(report);

    return ngx_slprintf(p, last,
        "<p>At %V. %s</p>\n<dl>\n"
        "<div><dt>Hit ratio</dt><dd id=\"ratio\">%ui.%ui&nbsp;%%</dd></div>\n"
        "<div><dt>Keys known</dt><dd id=\"keys\">%ui</dd></div>\n"
        "<div><dt>Zone free</dt><dd>%uz of %uz&nbsp;KB</dd></div>\n</dl>\n",
        &ngx_cached_http_time,
        status->refresh
        ? "Refreshes every 5 seconds. <a href=\"?refresh=off\">Stop</a>"
        : "<a href=\"?\">Refresh every 5 seconds</a>",
        ratio / 10, ratio % 10, report->keys, report->free / 1024,
        report->size / 1024);
}


static u_char *
ngx_symcache_status_html_counters(u_char *p, u_char *last,
    ngx_symcache_report_t *report)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_SYMCACHE_COUNTS; i++) {

        if (i == 0 || i == NGX_SYMCACHE_STATUSES) {
            p = ngx_slprintf(p, last,
                "%s<section>\n<h2>%s</h2>\n"
                "<div class=\"wide\"><table class=\"narrow\">\n<thead><tr>"
                "<th scope=\"col\">%s</th><th scope=\"col\">Meaning</th>"
                "<th scope=\"col\" class=\"n\">Number</th></tr></thead>\n"
                "<tbody>\n",
                i ? "</tbody>\n</table></div>\n</section>\n" : "",
                i ? "Zone and questions to the helper" : "Requests",
                i ? "Counter" : "Status");
        }

        p = ngx_slprintf(p, last,
            "<tr><th scope=\"row\">%s</th><td>%s</td>"
            "<td class=\"n\" id=\"%s\">%ui</td></tr>\n",
            ngx_symcache_counters[i].name, ngx_symcache_counters[i].text,
            ngx_symcache_counters[i].name, report->counters[i]);
    }

    return ngx_slprintf(p, last, "</tbody>\n</table></div>\n</section>\n");
}


static u_char *
ngx_symcache_status_html_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent)
{
    p = ngx_slprintf(p, last,
                     "<tr><td class=\"n\">%T s ago</td><td>%s</td>"
                     "<td class=\"k\">",
                     ngx_time() - recent->time,
                     recent->status == NGX_SYMCACHE_ABSENT ? "absent"
                                                           : "error");

    p = ngx_symcache_status_copy_text(p, last, recent->name, 1);

    p = ngx_slprintf(p, last, "/%s</td><td>%ud.%ud.%ud</td><td class=\"t\">",
                     recent->id, recent->version.major, recent->version.minor,
                     recent->version.patch);

    p = ngx_symcache_status_copy_text(p, last, recent->reason, 1);

    return ngx_slprintf(p, last, "</td></tr>\n");
}


static u_char *
ngx_symcache_status_json(u_char *p, u_char *last,
    ngx_symcache_status_t *status)
{
    ngx_uint_t              i;
    ngx_symcache_report_t  *report;

    report = &status->report;

    p = ngx_slprintf(p, last,
                     "{\"zone\":\"%V\",\"keys\":%ui,\"size\":%uz,"
                     "\"free\":%uz,\"requests\":{",
                     &report->name, report->keys, report->size, report->free);

    for (i = 0; i < NGX_SYMCACHE_COUNTS; i++) {

        if (i == NGX_SYMCACHE_STATUSES) {
            p = ngx_slprintf(p, last, "},\"counters\":{");
        }

        p = ngx_slprintf(p, last, "%s\"%s\":%ui",
                         (i == 0 || i == NGX_SYMCACHE_STATUSES) ? "" : ",",
                         ngx_symcache_counters[i].name, report->counters[i]);
    }

    p = ngx_slprintf(p, last, "},\"recent\":[");

    for (i = 0; i < report->nrecent; i++) {

        if (i) {
            p = ngx_slprintf(p, last, ",");
        }

        p = ngx_symcache_status_json_recent(p, last, &report->recent[i]);
    }

    p = ngx_slprintf(p, last, "],\"helper\":");
    p = ngx_symcache_page_json(p, last, &status->page);

    return ngx_slprintf(p, last, "}\n");
}


static u_char *
ngx_symcache_status_json_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent)
{
    p = ngx_slprintf(p, last, "{\"time\":%T,\"status\":\"%s\",\"pdb\":\"",
                     recent->time,
                     recent->status == NGX_SYMCACHE_ABSENT ? "absent"
                                                           : "error");

    p = ngx_symcache_status_copy_text(p, last, recent->name, 0);

    p = ngx_slprintf(p, last,
                     "\",\"id\":\"%s\",\"version\":\"%ud.%ud.%ud\","
                     "\"reason\":\"", recent->id, recent->version.major,
                     recent->version.minor, recent->version.patch);

    p = ngx_symcache_status_copy_text(p, last, recent->reason, 0);

    return ngx_slprintf(p, last, "\"}");
}


static u_char *
ngx_symcache_status_prometheus(u_char *p, u_char *last,
    ngx_symcache_status_t *status)
{
    ngx_uint_t              i;
    ngx_symcache_report_t  *report;

    report = &status->report;

    p = ngx_slprintf(p, last,
        "# HELP symcache_requests_total Finished requests by status.\n"
        "# TYPE symcache_requests_total counter\n");

    for (i = 0; i < NGX_SYMCACHE_STATUSES; i++) {
        p = ngx_slprintf(p, last,
            "symcache_requests_total{zone=\"%V\",status=\"%s\"} %ui\n",
            &report->name, ngx_symcache_counters[i].name,
            report->counters[i]);
    }

    for ( /* void */ ; i < NGX_SYMCACHE_COUNTS; i++) {
        p = ngx_slprintf(p, last,
            "# HELP symcache_%s_total Number of %s.\n"
            "# TYPE symcache_%s_total counter\n"
            "symcache_%s_total{zone=\"%V\"} %ui\n",
            ngx_symcache_counters[i].name, ngx_symcache_counters[i].text,
            ngx_symcache_counters[i].name, ngx_symcache_counters[i].name,
            &report->name, report->counters[i]);
    }

    return ngx_slprintf(p, last,
        "# HELP symcache_zone_keys Keys in the zone.\n"
        "# TYPE symcache_zone_keys gauge\n"
        "symcache_zone_keys{zone=\"%V\"} %ui\n"
        "# HELP symcache_zone_free_bytes Free memory pages of the zone.\n"
        "# TYPE symcache_zone_free_bytes gauge\n"
        "symcache_zone_free_bytes{zone=\"%V\"} %uz\n",
        &report->name, report->keys, &report->name, report->free);
}


/* per mille of the files sent that the store had */

static ngx_uint_t
ngx_symcache_status_ratio(ngx_symcache_report_t *report)
{
    ngx_uint_t  hits, all;

    hits = report->counters[NGX_SYMCACHE_COUNT_HIT]
           + report->counters[NGX_SYMCACHE_COUNT_STALE];

    all = hits + report->counters[NGX_SYMCACHE_COUNT_MISS]
          + report->counters[NGX_SYMCACHE_COUNT_HELD];

    return all ? hits * 1000 / all : 0;
}


static u_char *
ngx_symcache_status_copy_text(u_char *p, u_char *last, u_char *text,
    ngx_uint_t html)
{
    ngx_str_t  value;

    value.data = text;
    value.len = ngx_strlen(text);

    return ngx_symcache_status_copy(p, last, &value, html);
}


u_char *
ngx_symcache_status_copy(u_char *p, u_char *last, ngx_str_t *text,
    ngx_uint_t html)
{
    u_char      *q, *end;
    size_t       size;
    ngx_uint_t   invalid;

    size = text->len + (html ? ngx_escape_html(NULL, text->data, text->len)
                             : ngx_escape_json(NULL, text->data, text->len));

    if (size > (size_t) (last - p)) {
        return p;
    }

    invalid = 0;
    q = text->data;
    end = text->data + text->len;

    while (q < end) {
        if (*q < 0x80) {
            q++;

        } else if (ngx_utf8_decode(&q, end - q) > 0x10ffff) {
            invalid = 1;
            break;
        }
    }

    if (invalid) {
        for (q = text->data; q < end; q++) {
            *q = (*q < 0x80) ? *q : '?';
        }
    }

    return (u_char *) (html ? ngx_escape_html(p, text->data, text->len)
                            : ngx_escape_json(p, text->data, text->len));
}
