/*
 * Copyright (C) the ngx_symcache authors
 *
 * The contents of /v1/jobs, /v1/sources and /v1/misses and the reports of
 * other programs, in one object that nginx's module passes on to browsers
 * unchanged.
 */
#pragma once

#include <time.h>
#include <cjson/cJSON.h>

struct status {
    const char *config_stale; /* see server_config_stale() */
    const char *not_ready;    /* of ready_why_not(), or "" */
    const char *uploads_not_ready; /* of ready_why_no_uploads(), or "" */
    time_t started;
    cJSON *disks;                   /* of ready_disks() */
    cJSON *jobs, *sources, *misses; /* the objects of the three pages */
    cJSON *tiers;                   /* of scheduler_tiers() */
    cJSON *reports;                 /* of daemon_reports_json() */
    cJSON *tenants; /* of guests_json() or guest_process_json() */
};

/*
 * Makes of these, which it frees:
 *
 *   {"state": "answered", "config_stale": "", "version": "1.0.0",
 *    "started": 1, "not_ready": "", "uploads_not_ready": "",
 *    "disks": [...], "jobs": {...}, "running": [...], "sources": [...],
 *    "tiers": [...], "misses": [...], "symbolicated": [...],
 *    "tenants": [...]}
 *
 * Each item has all of its fields.  At most 40 items of a kind are taken, with
 * fields of bounded length only, so that the page stays below the 256 KB that
 * the module takes.  The caller frees the object; NULL without memory.
 */
cJSON *status_page_json(struct status *status);
