
/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcache_status: the counters of a zone as a page, as JSON and for
 * Prometheus.  It reads the zone only, never the store or the helper.
 */


#include "ngx_symcache_zone.h"


/* the recent requests are the largest part: escaped, below 2 KB each */

#define NGX_SYMCACHE_STATUS_PAGE  (16384 + NGX_SYMCACHE_RECENT * 2048)


typedef u_char *(*ngx_symcache_status_pt)(u_char *p, u_char *last,
    ngx_symcache_report_t *report);


static ngx_int_t ngx_symcache_status_handler(ngx_http_request_t *r);
static ngx_symcache_status_pt ngx_symcache_status_format(
    ngx_http_request_t *r, ngx_str_t *type);
static u_char *ngx_symcache_status_html(u_char *p, u_char *last,
    ngx_symcache_report_t *report);
static u_char *ngx_symcache_status_html_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent);
static u_char *ngx_symcache_status_json(u_char *p, u_char *last,
    ngx_symcache_report_t *report);
static u_char *ngx_symcache_status_json_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent);
static u_char *ngx_symcache_status_prometheus(u_char *p, u_char *last,
    ngx_symcache_report_t *report);
static ngx_uint_t ngx_symcache_status_ratio(ngx_symcache_report_t *report);
static u_char *ngx_symcache_status_copy(u_char *p, u_char *last,
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


static ngx_int_t
ngx_symcache_status_handler(ngx_http_request_t *r)
{
    u_char                   *p;
    ngx_int_t                 rc;
    ngx_buf_t                *b;
    ngx_str_t                 type, value;
    ngx_chain_t               out;
    ngx_symcache_report_t    *report;
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

    report = ngx_palloc(r->pool, sizeof(ngx_symcache_report_t));
    b = ngx_create_temp_buf(r->pool, NGX_SYMCACHE_STATUS_PAGE);

    if (report == NULL || b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_symcache_zone_report(slcf->zone, report);

    p = print(b->pos, b->end, report);

    b->last = p;
    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    ngx_str_set(&value, "no-store");

    if (ngx_symcache_answer_header(r, "Cache-Control",
                                   sizeof("Cache-Control") - 1, &value)
        == NULL)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
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
    ngx_symcache_report_t *report)
{
    ngx_uint_t  i;

    p = ngx_slprintf(p, last,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"refresh\" content=\"5\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<title>SymCache: %V</title>\n<style>\n"
        "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;"
        "padding:0 1em;color:#1a1a1a;background:#fff}\n"
        "table{border-collapse:collapse;width:100%%;margin-bottom:2em}\n"
        "caption{text-align:left;font-weight:bold;padding:.3em 0}\n"
        "th,td{text-align:left;padding:.3em .8em .3em 0;"
        "border-bottom:1px solid #ccc;overflow-wrap:anywhere}\n"
        "td.n{text-align:right;font-variant-numeric:tabular-nums}\n"
        "p.ratio{font-size:2em;margin:.2em 0}\n"
        "</style>\n</head>\n<body>\n<main>\n<h1>SymCache, zone %V</h1>\n",
        &report->name, &report->name);

    i = ngx_symcache_status_ratio(report);

    p = ngx_slprintf(p, last,
        "<p class=\"ratio\">Hit ratio <strong id=\"ratio\">%ui.%ui&nbsp;%%"
        "</strong></p>\n"
        "<p>%ui keys known, %uzK of %uzK free.</p>\n",
        i / 10, i % 10, report->keys, report->free / 1024,
        report->size / 1024);

    p = ngx_slprintf(p, last,
        "<table>\n<caption>Requests</caption>\n<thead><tr>"
        "<th scope=\"col\">Status</th><th scope=\"col\">Meaning</th>"
        "<th scope=\"col\">Number</th></tr></thead>\n<tbody>\n");

    for (i = 0; i < NGX_SYMCACHE_COUNTS; i++) {

        if (i == NGX_SYMCACHE_STATUSES) {
            p = ngx_slprintf(p, last,
                "</tbody>\n</table>\n<table>\n"
                "<caption>Zone and helper</caption>\n<thead><tr>"
                "<th scope=\"col\">Counter</th><th scope=\"col\">Meaning</th>"
                "<th scope=\"col\">Number</th></tr></thead>\n<tbody>\n");
        }

        p = ngx_slprintf(p, last,
            "<tr><th scope=\"row\">%s</th><td>%s</td>"
            "<td class=\"n\" id=\"%s\">%ui</td></tr>\n",
            ngx_symcache_counters[i].name, ngx_symcache_counters[i].text,
            ngx_symcache_counters[i].name, report->counters[i]);
    }

    p = ngx_slprintf(p, last,
        "</tbody>\n</table>\n<table>\n"
        "<caption>Latest requests without a file</caption>\n<thead><tr>"
        "<th scope=\"col\">Seconds ago</th><th scope=\"col\">Status</th>"
        "<th scope=\"col\">PDB</th><th scope=\"col\">Reason</th></tr>"
        "</thead>\n<tbody>\n");

    for (i = 0; i < report->nrecent; i++) {
        p = ngx_symcache_status_html_recent(p, last, &report->recent[i]);
    }

    return ngx_slprintf(p, last,
                        "</tbody>\n</table>\n</main>\n</body>\n</html>\n");
}


static u_char *
ngx_symcache_status_html_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent)
{
    p = ngx_slprintf(p, last, "<tr><td class=\"n\">%T</td><td>%s</td><td>",
                     ngx_time() - recent->time,
                     recent->status == NGX_SYMCACHE_ABSENT ? "absent"
                                                           : "error");

    p = ngx_symcache_status_copy(p, last, recent->name, 1);

    p = ngx_slprintf(p, last, "<br>%s v%ud.%ud.%ud</td><td>", recent->id,
                     recent->version.major, recent->version.minor,
                     recent->version.patch);

    p = ngx_symcache_status_copy(p, last, recent->reason, 1);

    return ngx_slprintf(p, last, "</td></tr>\n");
}


static u_char *
ngx_symcache_status_json(u_char *p, u_char *last,
    ngx_symcache_report_t *report)
{
    ngx_uint_t  i;

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

    return ngx_slprintf(p, last, "]}\n");
}


static u_char *
ngx_symcache_status_json_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent)
{
    p = ngx_slprintf(p, last, "{\"time\":%T,\"status\":\"%s\",\"pdb\":\"",
                     recent->time,
                     recent->status == NGX_SYMCACHE_ABSENT ? "absent"
                                                           : "error");

    p = ngx_symcache_status_copy(p, last, recent->name, 0);

    p = ngx_slprintf(p, last,
                     "\",\"id\":\"%s\",\"version\":\"%ud.%ud.%ud\","
                     "\"reason\":\"", recent->id, recent->version.major,
                     recent->version.minor, recent->version.patch);

    p = ngx_symcache_status_copy(p, last, recent->reason, 0);

    return ngx_slprintf(p, last, "\"}");
}


static u_char *
ngx_symcache_status_prometheus(u_char *p, u_char *last,
    ngx_symcache_report_t *report)
{
    ngx_uint_t  i;

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


/* text of others, escaped for its place; nothing if it does not fit */

static u_char *
ngx_symcache_status_copy(u_char *p, u_char *last, u_char *text,
    ngx_uint_t html)
{
    size_t  len, size;

    len = ngx_strlen(text);

    size = len + (html ? ngx_escape_html(NULL, text, len)
                       : ngx_escape_json(NULL, text, len));

    if (size > (size_t) (last - p)) {
        return p;
    }

    return (u_char *) (html ? ngx_escape_html(p, text, len)
                            : ngx_escape_json(p, text, len));
}
