/*
 * Copyright (C) the ngx_symcache authors
 *
 * What one worker counts: it alone writes, everybody may read.  And the
 * Prometheus text of the sums over all of them.
 */
#pragma once

#include <event2/buffer.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "symbolicated/api/api.h"
#include "worker_pool/worker_pool.h"

#define STATS_HUNDREDS 6 /* 0 has the statuses that are none */
#define STATS_BUCKETS 12 /* of the histogram; the last has no bound */

typedef atomic_uint_least64_t stats_count;

struct stats {
    stats_count requests[API_PROTOCOLS][STATS_HUNDREDS]; /* of the status */
    stats_count buckets[API_PROTOCOLS][STATS_BUCKETS];
    stats_count usec[API_PROTOCOLS];
    struct work_counts works;
    stats_count running; /* requests that are not answered yet */
    stats_count pending; /* of these, calls without a connection */
    stats_count lost;    /* answers of such calls: there was no room */
    stats_count refused; /* requests that cannot be read */
    stats_count frames;
    stats_count modules[API_MODULE_LATE + 1];
    stats_count sources[API_MODULE_LATE + 1]; /* source code of modules */
    stats_count mappings[API_MODULE_LATE + 1]; /* of the JVM */
    stats_count programs[API_MODULE_LATE + 1]; /* machine code of modules */
    stats_count asked; /* questions to symcached */
    stats_count cut;   /* files that were cut short while they were read */
    stats_count parse_usec;
    stats_count search_usec;
    stats_count answer_usec;
    stats_count dumps; /* minidumps that were walked */
    stats_count unreadable; /* and others that are none */
    stats_count apple_read; /* Apple's crash reports, */
    stats_count apple_unreadable;
    stats_count walk_usec;
    stats_count trusts[API_TRUSTS];
    stats_count without_cfi;
    stats_count scripts[API_SCRIPTS];
};

static inline void stats_add(stats_count *count, uint64_t n)
{
    atomic_store_explicit(
        count, atomic_load_explicit(count, memory_order_relaxed) + n,
        memory_order_relaxed);
}

/* A state's name as an outcome; NULL: it is none. */
const char *stats_outcome(enum api_module_state state);

/* One request that was answered. */
void stats_request(struct stats *stats, enum api_protocol protocol, int status,
                   uint64_t usec);

/* What n workers have done. */
struct stats_sums {
    uint64_t requests;
    uint64_t frames;
    uint64_t dumps;
    uint64_t apple_reports;
    uint64_t sources; /* source code of modules that was found */
    uint64_t mappings; /* of the JVM, that were found */
    uint64_t programs; /* machine code of modules that was found */
};

struct stats_sums stats_sums(const struct stats *const *stats, unsigned n);

struct mapped_modules_sizes;

/* Appends the sums of n workers' counters, what is mapped, when the process
 * started, and whether its configuration is not the file's. */
void stats_print(struct evbuffer *buf, const struct stats *const *stats,
                 unsigned n, const struct mapped_modules_sizes *sizes,
                 time_t started, bool config_stale);
