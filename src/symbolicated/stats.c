/*
 * Copyright (C) the ngx_symcache authors
 */
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>
#include "metrics/metrics.h"
#include "symbolicated/calls/pending_calls.h"
#include "symbolicated/files/files.h"

/* Microseconds.  One frame takes a few, a thousand a millisecond or two, and
 * conversions seconds. */
static const unsigned bounds[STATS_BUCKETS - 1] = {
    50,     100,    250,     1000,    2500,    10000,
    50000,  250000, 1000000, 5000000, 30000000,
};

static const char *const states[API_MODULE_LATE + 1] = {
    [API_MODULE_UNKNOWN] = NULL,
    [API_MODULE_FOUND] = "found",
    [API_MODULE_MISSING] = "missing",
    [API_MODULE_UNSUPPORTED] = "unsupported",
    [API_MODULE_MALFORMED] = "malformed",
    [API_MODULE_FAILED] = "failed",
    [API_MODULE_LATE] = "late",
};

const char *stats_outcome(enum api_module_state state)
{
    return states[state];
}

void stats_request(struct stats *stats, enum api_protocol protocol, int status,
                   uint64_t usec)
{
    unsigned i, hundreds = (unsigned)status / 100;

    hundreds = hundreds < STATS_HUNDREDS ? hundreds : 0;
    stats_add(&stats->requests[protocol][hundreds], 1);
    for (i = 0; i < STATS_BUCKETS - 1 && usec > bounds[i]; i++) {
    }
    stats_add(&stats->buckets[protocol][i], 1);
    stats_add(&stats->usec[protocol], usec);
}

struct printer {
    struct evbuffer *buf;
    const struct stats *const *stats;
    unsigned n;
};

/* The sum of a counter, by its place in the struct. */
static uint64_t sum_of_stats(const struct printer *p, size_t offset)
{
    uint64_t total = 0;
    unsigned i;

    for (i = 0; i < p->n; i++) {
        total += atomic_load_explicit(
            (const stats_count *)((const char *)p->stats[i] + offset),
            memory_order_relaxed);
    }
    return total;
}

struct stats_sums stats_sums(const struct stats *const *stats, unsigned n)
{
    struct printer p = {NULL, stats, n};
    struct stats_sums sums = {
        .frames = sum_of_stats(&p, offsetof(struct stats, frames)),
        .dumps = sum_of_stats(&p, offsetof(struct stats, dumps)),
        .apple_reports = sum_of_stats(&p, offsetof(struct stats, apple_read)),
        .sources = sum_of_stats(
            &p, offsetof(struct stats, sources[API_MODULE_FOUND])),
        .mappings = sum_of_stats(
            &p, offsetof(struct stats, mappings[API_MODULE_FOUND])),
        .programs = sum_of_stats(
            &p, offsetof(struct stats, programs[API_MODULE_FOUND]))};
    unsigned i, j;

    for (i = 0; i < API_PROTOCOLS; i++) {
        for (j = 0; j < STATS_HUNDREDS; j++) {
            sums.requests +=
                sum_of_stats(&p, offsetof(struct stats, requests[i][j]));
        }
    }
    return sums;
}

static void print_help(const struct printer *p, const char *name,
                       const char *type, const char *help)
{
    evbuffer_add_printf(p->buf, "# HELP %s %s\n# TYPE %s %s\n", name, help,
                        name, type);
}

static void print_requests(const struct printer *p)
{
    unsigned i, j;

    print_help(p, "symbolicated_requests_total", "counter",
               "Requests by protocol and status.");
    for (i = 0; i < API_PROTOCOLS; i++) {
        for (j = 2; j < STATS_HUNDREDS; j++) {
            evbuffer_add_printf(
                p->buf,
                "symbolicated_requests_total{protocol=\"%s\",status=\"%uxx\"} "
                "%" PRIu64 "\n",
                api_protocol_name((enum api_protocol)i), j,
                sum_of_stats(p, offsetof(struct stats, requests[i][j])));
        }
    }
}

static void print_histogram(const struct printer *p, enum api_protocol i)
{
    uint64_t counts[STATS_BUCKETS];
    char labels[64];
    unsigned j;

    for (j = 0; j < STATS_BUCKETS; j++) {
        counts[j] = sum_of_stats(p, offsetof(struct stats, buckets[i][j]));
    }
    snprintf(labels, sizeof(labels), "protocol=\"%s\"", api_protocol_name(i));
    metrics_print_histogram(p->buf, "symbolicated_request_seconds", labels,
                            bounds, STATS_BUCKETS - 1, counts,
                            sum_of_stats(p, offsetof(struct stats, usec[i])),
                            1e6);
}

static void print_histograms(const struct printer *p)
{
    unsigned i;

    print_help(p, "symbolicated_request_seconds", "histogram",
               "Time from a request to its answer.");
    for (i = 0; i < API_PROTOCOLS; i++) {
        print_histogram(p, (enum api_protocol)i);
    }
}

static void print_outcomes(const struct printer *p, const char *name,
                           const char *help, size_t offset)
{
    unsigned i;

    print_help(p, name, "counter", help);
    for (i = 0; i <= API_MODULE_LATE; i++) {
        if (states[i] != NULL) {
            evbuffer_add_printf(
                p->buf, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, states[i],
                sum_of_stats(p, offset + i * sizeof(stats_count)));
        }
    }
}

static void print_modules(const struct printer *p)
{
    print_outcomes(p, "symbolicated_modules_total",
                   "Modules of requests by what became of them.",
                   offsetof(struct stats, modules));
    print_outcomes(p, "symbolicated_sources_total",
                   "The same of their source code.",
                   offsetof(struct stats, sources));
    print_outcomes(p, "symbolicated_mappings_total",
                   "Of the modules, mappings of ProGuard and R8.",
                   offsetof(struct stats, mappings));
    print_outcomes(p, "symbolicated_programs_total",
                   "The same of their machine code.",
                   offsetof(struct stats, programs));
}

static void print_number(const struct printer *p, const char *name,
                         const char *type, const char *help, uint64_t value)
{
    print_help(p, name, type, help);
    evbuffer_add_printf(p->buf, "%s %" PRIu64 "\n", name, value);
}

static void print_times(const struct printer *p)
{
    static const struct {
        const char *part;
        size_t offset;
    } parts[] = {
        {"parse", offsetof(struct stats, parse_usec)},
        {"search", offsetof(struct stats, search_usec)},
        {"answer", offsetof(struct stats, answer_usec)},
    };
    size_t i;

    print_help(p, "symbolicated_seconds_total", "counter",
               "Time by part of the work: reading JSON, getting modules, "
               "looking addresses up and writing JSON.");
    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        evbuffer_add_printf(
            p->buf, "symbolicated_seconds_total{part=\"%s\"} %.6f\n",
            parts[i].part, (double)sum_of_stats(p, parts[i].offset) / 1e6);
    }
}

/* Of calls that go on without their connection. */
static void print_calls(const struct printer *p)
{
    print_number(p, "symbolicated_calls_pending", "gauge",
                 "Requests that run on, to be polled.",
                 sum_of_stats(p, offsetof(struct stats, pending)));
    print_number(p, "symbolicated_answers_lost_total", "counter",
                 "Their answers that were not kept, as there was no room.",
                 sum_of_stats(p, offsetof(struct stats, lost)));
    print_number(p, "symbolicated_kept_bytes", "gauge",
                 "Bytes of such requests, and of their answers.",
                 pending_calls_bytes());
}

/* Of processes that read crash reports. */
static void print_workers(const struct printer *p)
{
    print_number(p, "symbolicated_workers", "gauge",
                 "Processes that read crash reports, or wait for one.",
                 sum_of_stats(p, offsetof(struct stats, works.workers)));
    print_number(p, "symbolicated_workers_started_total", "counter",
                 "Such processes that were started.",
                 sum_of_stats(p, offsetof(struct stats, works.started)));
    print_number(p, "symbolicated_workers_died_total", "counter",
                 "Of these, processes that crashed, or were killed while they "
                 "read.",
                 sum_of_stats(p, offsetof(struct stats, works.died)));
    print_number(p, "symbolicated_bodies_total", "counter",
                 "Crash reports that were given to such a process.",
                 sum_of_stats(p, offsetof(struct stats, works.bodies)));
    print_number(
        p, "symbolicated_files_given_total", "counter",
        "Files that were sent to such a process, as it had not mapped "
        "them.",
        sum_of_stats(p, offsetof(struct stats, works.given)));
    print_number(p, "symbolicated_spool_bytes", "gauge",
                 "Bytes of crash reports and profiles that are kept.",
                 spool_bytes());
}

/* Outcomes of minidumps. */
static void print_walks(const struct printer *p)
{
    unsigned i;

    print_help(p, "symbolicated_dumps_total", "counter",
               "Minidumps by whether they can be read.");
    evbuffer_add_printf(p->buf,
                        "symbolicated_dumps_total{outcome=\"walked\"} %" PRIu64
                        "\n"
                        "symbolicated_dumps_total{outcome=\"unreadable\"} "
                        "%" PRIu64 "\n",
                        sum_of_stats(p, offsetof(struct stats, dumps)),
                        sum_of_stats(p, offsetof(struct stats, unreadable)));
    print_help(p, "symbolicated_walk_seconds_total", "counter",
               "Time in which processes read minidumps and walked stacks.");
    evbuffer_add_printf(
        p->buf, "symbolicated_walk_seconds_total %.6f\n",
        (double)sum_of_stats(p, offsetof(struct stats, walk_usec)) / 1e6);
    print_help(p, "symbolicated_walked_frames_total", "counter",
               "Frames of minidumps by how they were found.");
    for (i = API_TRUST_CONTEXT; i < API_TRUSTS; i++) {
        evbuffer_add_printf(
            p->buf,
            "symbolicated_walked_frames_total{trust=\"%s\"} %" PRIu64 "\n",
            api_trust_names[i],
            sum_of_stats(p, offsetof(struct stats, trusts[i])));
    }
    print_number(p, "symbolicated_modules_without_cfi_total", "counter",
                 "Modules of minidumps whose CFI was needed and is missing.",
                 sum_of_stats(p, offsetof(struct stats, without_cfi)));
}

static void print_apple(const struct printer *p)
{
    print_help(p, "symbolicated_apple_reports_total", "counter",
               "Apple's crash reports by whether they can be read.");
    evbuffer_add_printf(
        p->buf,
        "symbolicated_apple_reports_total{outcome=\"read\"} %" PRIu64 "\n"
        "symbolicated_apple_reports_total{outcome=\"unreadable\"} %" PRIu64
        "\n",
        sum_of_stats(p, offsetof(struct stats, apple_read)),
        sum_of_stats(p, offsetof(struct stats, apple_unreadable)));
}

static void print_scripts(const struct printer *p)
{
    unsigned i;

    print_help(p, "symbolicated_script_frames_total", "counter",
               "Frames of scripts by what became of them.");
    for (i = 0; i < API_SCRIPTS; i++) {
        evbuffer_add_printf(
            p->buf,
            "symbolicated_script_frames_total{outcome=\"%s\"} %" PRIu64 "\n",
            api_script_names[i],
            sum_of_stats(p, offsetof(struct stats, scripts[i])));
    }
}

void stats_print(struct evbuffer *buf, const struct stats *const *stats,
                 unsigned n, const struct mapped_modules_sizes *sizes,
                 time_t started, bool config_stale)
{
    struct printer p = {buf, stats, n};

    print_number(&p, "symbolicated_start_time_seconds", "gauge",
                 "Unix time of the start.", (uint64_t)started);
    print_number(&p, "symbolicated_config_stale", "gauge",
                 "Is the configuration in use not the file's?", config_stale);
    print_requests(&p);
    print_number(&p, "symbolicated_requests_running", "gauge",
                 "Requests that are not answered yet.",
                 sum_of_stats(&p, offsetof(struct stats, running)));
    print_number(&p, "symbolicated_requests_refused_total", "counter",
                 "Requests that are no HTTP, or too slow or too large.",
                 sum_of_stats(&p, offsetof(struct stats, refused)));
    print_calls(&p);
    print_histograms(&p);
    print_number(&p, "symbolicated_frames_total", "counter",
                 "Frames of requests.",
                 sum_of_stats(&p, offsetof(struct stats, frames)));
    print_modules(&p);
    print_number(&p, "symbolicated_asked_total", "counter",
                 "Modules that symcached was asked for.",
                 sum_of_stats(&p, offsetof(struct stats, asked)));
    print_number(&p, "symbolicated_cut_total", "counter",
                 "Answers written again, as a file was cut short.",
                 sum_of_stats(&p, offsetof(struct stats, cut)));
    print_times(&p);
    print_workers(&p);
    print_walks(&p);
    print_apple(&p);
    print_scripts(&p);
    print_number(&p, "symbolicated_files_mapped", "gauge",
                 "SymCache files that are mapped.", sizes->files);
    print_number(&p, "symbolicated_bytes_mapped", "gauge", "Their bytes.",
                 sizes->bytes);
    print_number(&p, "symbolicated_files_opened_total", "counter",
                 "SymCache files that were mapped and verified.",
                 sizes->opened);
    print_number(&p, "symbolicated_files_evicted_total", "counter",
                 "SymCache files that made room for others.", sizes->evicted);
    print_number(&p, "symbolicated_files_returned_total", "counter",
                 "Of these, files that were mapped again.", sizes->returned);
    metrics_print_process(buf);
}
