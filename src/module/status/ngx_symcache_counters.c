
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The report of a zone as text: counters, and in JSON also the latest requests
 * without a file.
 */


#include "ngx_symcache_status.h"


typedef struct {
    const char  *name;
    const char  *text;
} ngx_symcache_counter_t;


static u_char *ngx_symcache_counters_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent);
static u_char *ngx_symcache_counters_escape(u_char *p, u_char *last,
    u_char *text);


static ngx_symcache_counter_t  ngx_symcache_counters[] = {
#define X(NAME, name, text)  { #name, text },
    NGX_SYMCACHE_COUNTERS(X)
#undef X
};


u_char *
ngx_symcache_counters_json(u_char *p, u_char *last,
    ngx_symcache_report_t *report)
{
    ngx_uint_t  i;

    p = ngx_slprintf(p, last,
                     "{\"time\":%T,\"zone\":\"%V\",\"keys\":%ui,"
                     "\"size\":%uz,\"free\":%uz,\"requests\":{",
                     ngx_time(), &report->name, report->keys, report->size,
                     report->free);

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
        p = ngx_slprintf(p, last, i ? "," : "");
        p = ngx_symcache_counters_recent(p, last, &report->recent[i]);
    }

    return ngx_slprintf(p, last, "]");
}


static u_char *
ngx_symcache_counters_recent(u_char *p, u_char *last,
    ngx_symcache_recent_t *recent)
{
    p = ngx_slprintf(p, last, "{\"time\":%T,\"status\":\"%s\",\"pdb\":\"",
                     recent->time,
                     recent->status == NGX_SYMCACHE_ABSENT ? "absent"
                                                           : "error");

    p = ngx_symcache_counters_escape(p, last, recent->name);

    p = ngx_slprintf(p, last,
                     "\",\"id\":\"%s\",\"version\":\"%ud.%ud.%ud\","
                     "\"reason\":\"", recent->id, recent->version.major,
                     recent->version.minor, recent->version.patch);

    p = ngx_symcache_counters_escape(p, last, recent->reason);

    return ngx_slprintf(p, last, "\"}");
}


/* Names are UTF-8 and reasons ASCII already; nothing if it does not fit. */

static u_char *
ngx_symcache_counters_escape(u_char *p, u_char *last, u_char *text)
{
    size_t  len;

    len = ngx_strlen(text);

    if (len + ngx_escape_json(NULL, text, len) > (size_t) (last - p)) {
        return p;
    }

    return (u_char *) ngx_escape_json(p, text, len);
}


u_char *
ngx_symcache_counters_prometheus(u_char *p, u_char *last,
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
