/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /metrics: counters, and gauges of the moment.
 */
#include "pages.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include "http/http.h"
#include "metrics/metrics.h"
#include "symcached/job/job.h"
#include "symcached/upload/upload.h"
#include "ready.h"

void metrics_page(const struct scheduler *scheduler,
                  const struct ready *ready, const struct uploads *uploads,
                  time_t started, struct evhttp_request *req)
{
    struct evbuffer *buf = evbuffer_new();
    struct scheduler_gauges g;

    if (buf == NULL) {
        reply_empty(req, 503);
        return;
    }

    scheduler_gauges(scheduler, &g);
    metrics_print(buf);
    scheduler_print_sources(scheduler, buf);
    metrics_print_gauge(buf, "symcached_jobs_queued",
                        "Jobs that wait for a slot.", g.queued);
    metrics_print_gauge(buf, "symcached_jobs_downloading",
                        "Jobs that ask a source.", g.downloading);
    metrics_print_gauge(buf, "symcached_jobs_transcoding",
                        "Jobs whose transcoder runs.", g.transcoding);
    metrics_print_gauge(buf, "symcached_waiters",
                        "Lookups that are held on the socket.", g.waiters);
    metrics_print_gauge(buf, "symcached_failures_remembered",
                        "Keys not tried again yet because of a failure.",
                        g.failures);
    metrics_print_gauge(buf, "symcached_modules_missing",
                        "Modules that were asked for and had no symbols.",
                        g.missing);
    metrics_print_gauge(buf, "symcached_draining",
                        "Are lookups refused that need a new job?",
                        g.draining);
    metrics_print_gauge(buf, "symcached_ready",
                        "Does /readyz say that requests may be sent here?",
                        ready_why_not(ready) == NULL);
    metrics_print_gauge(buf, "symcached_uploads_ready",
                        "Do the disk of uploads and their tier take files?",
                        ready_why_no_uploads(ready) == NULL);
    metrics_print_gauge(buf, "symcached_uploads_untold",
                        "Messages that other machines have not had yet.",
                        (double)uploads_count_untold(uploads));
    metrics_print_gauge(buf, "symcached_start_time_seconds",
                        "When the process started, as Unix time.",
                        (double)started);
    metrics_print_process(buf);
    reply_text(req, buf);
}
