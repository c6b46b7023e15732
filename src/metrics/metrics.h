/*
 * Copyright (C) the ngx_symcache authors
 *
 * Counters and histograms of symcached, gauges of any daemon, and their text
 * for Prometheus.  The names are part of the interface to users, so they must
 * not change without need.
 */
#pragma once

#include <stdint.h>
#include <event2/buffer.h>

/*
 * X(id, name, labels, help).  Counters of one name must be next to each other;
 * the help of the first is printed.  A counter whose name has "_seconds" counts
 * milliseconds, and is printed in seconds.
 */
#define METRICS_COUNTERS(X)                                                   \
    X(LOOKUP_HIT, "symcached_lookups_total", "answer=\"hit\"",                \
      "Answers to lookups on the socket.")                                    \
    X(LOOKUP_STALE, "symcached_lookups_total", "answer=\"stale\"", "")        \
    X(LOOKUP_NOT_MODIFIED, "symcached_lookups_total",                         \
      "answer=\"not_modified\"", "")                                          \
    X(LOOKUP_ABSENT, "symcached_lookups_total", "answer=\"absent\"", "")      \
    X(LOOKUP_REDIRECT, "symcached_lookups_total", "answer=\"redirect\"", "")  \
    X(LOOKUP_PENDING, "symcached_lookups_total", "answer=\"pending\"", "")    \
    X(LOOKUP_BUSY, "symcached_lookups_total", "answer=\"busy\"", "")          \
    X(NEGCACHE_NOTFOUND, "symcached_remembered_total", "reason=\"notfound\"", \
      "Lookups that what is remembered of the key kept from a job.")          \
    X(NEGCACHE_WRONG_FORMAT, "symcached_remembered_total",                    \
      "reason=\"wrong-format\"", "")                                          \
    X(NEGCACHE_MALFORMED, "symcached_remembered_total",                       \
      "reason=\"malformed\"", "")                                             \
    X(NEGCACHE_ERROR, "symcached_remembered_total", "reason=\"error\"", "")   \
    X(NEGCACHE_LOOP, "symcached_remembered_total", "reason=\"loop\"", "")     \
    X(NEGCACHE_UNCHANGED, "symcached_remembered_total",                       \
      "reason=\"unchanged\"", "")                                             \
    X(OUTDATED_TIME, "symcached_outdated_total", "why=\"time\"",              \
      "Negative entries that were found and not believed any more.")          \
    X(OUTDATED_RESTART, "symcached_outdated_total", "why=\"restart\"", "")    \
    X(OUTDATED_SOURCES, "symcached_outdated_total", "why=\"sources\"", "")    \
    X(OUTDATED_SPELLING, "symcached_outdated_total", "why=\"spelling\"", "")  \
    X(TOUCHED, "symcached_touched_total", "",                                 \
      "Files whose use was noted in their mtime.")                            \
    X(LOOKUP_ABORTED, "symcached_lookups_aborted_total", "",                  \
      "Clients that went away while their lookup was held.")                  \
    X(REQUEST_REFUSED, "symcached_requests_refused_total", "",                \
      "Requests on the socket answered 400 or 405, or for unknown paths.")    \
    X(CONNECTION_SHARE, "symcached_connections_closed_total",                 \
      "why=\"share\"", "Connections that were closed before their request.")  \
    X(CONNECTION_LATE, "symcached_connections_closed_total", "why=\"late\"",  \
      "")                                                                     \
    X(METADATA_COMPLETE, "symcached_metadata_total", "answer=\"complete\"",   \
      "Answers to inquiries for metadata.")                                   \
    X(METADATA_INCOMPLETE, "symcached_metadata_total",                        \
      "answer=\"incomplete\"", "")                                            \
    X(METADATA_BUSY, "symcached_metadata_total", "answer=\"busy\"", "")       \
    X(JOB_STARTED, "symcached_jobs_started_total", "", "Jobs started.")       \
    X(JOB_UPGRADE, "symcached_upgrades_started_total", "",                    \
      "Jobs started in the background, to replace an older version.")         \
    X(UPGRADE_SKIPPED, "symcached_upgrades_skipped_total", "",                \
      "Upgrades not started because as many as may run were running.")        \
    X(BETTER_ASKED, "symcached_better_asked_total", "",                       \
      "Jobs started in the background, to ask better sources again.")         \
    X(BETTER_FOUND, "symcached_better_found_total", "",                       \
      "Files replaced by those of a better source.")                          \
    X(JOB_PUBLISHED, "symcached_jobs_finished_total",                         \
      "outcome=\"published\"", "Jobs by their end.")                          \
    X(JOB_NOTFOUND, "symcached_jobs_finished_total", "outcome=\"notfound\"",  \
      "")                                                                     \
    X(JOB_WRONG_FORMAT, "symcached_jobs_finished_total",                      \
      "outcome=\"wrong-format\"", "")                                         \
    X(JOB_MALFORMED, "symcached_jobs_finished_total",                         \
      "outcome=\"malformed\"", "")                                            \
    X(JOB_ERROR, "symcached_jobs_finished_total", "outcome=\"error\"", "")    \
    X(JOB_LOOP, "symcached_jobs_finished_total", "outcome=\"loop\"", "")      \
    X(JOB_UNCHANGED, "symcached_jobs_finished_total",                         \
      "outcome=\"unchanged\"", "")                                            \
    X(JOB_STOPPED, "symcached_jobs_finished_total", "outcome=\"stopped\"",    \
      "")                                                                     \
    X(PACKED_CABINET_FOUND, "symcached_packed_total",                         \
      "kind=\"cabinet\",outcome=\"published\"",                               \
      "Jobs for files that are served packed, by their end.")                 \
    X(PACKED_CABINET_ABSENT, "symcached_packed_total",                        \
      "kind=\"cabinet\",outcome=\"notfound\"", "")                            \
    X(PACKED_CABINET_FAILED, "symcached_packed_total",                        \
      "kind=\"cabinet\",outcome=\"error\"", "")                               \
    X(PACKED_GZIP_FOUND, "symcached_packed_total",                            \
      "kind=\"gzip\",outcome=\"published\"", "")                              \
    X(PACKED_GZIP_ABSENT, "symcached_packed_total",                           \
      "kind=\"gzip\",outcome=\"notfound\"", "")                               \
    X(PACKED_GZIP_FAILED, "symcached_packed_total",                           \
      "kind=\"gzip\",outcome=\"error\"", "")                                  \
    X(PACKED_SYMGZIP_FOUND, "symcached_packed_total",                         \
      "kind=\"symgzip\",outcome=\"published\"", "")                           \
    X(PACKED_SYMGZIP_ABSENT, "symcached_packed_total",                        \
      "kind=\"symgzip\",outcome=\"notfound\"", "")                            \
    X(PACKED_SYMGZIP_FAILED, "symcached_packed_total",                        \
      "kind=\"symgzip\",outcome=\"error\"", "")                               \
    X(JOB_REFUSED, "symcached_jobs_refused_total", "",                        \
      "Jobs not started: the queue was full, or the helper drained.")         \
    X(PLACE_PLAIN, "symcached_places_total", "form=\"plain\"",                \
      "Places looked in, by what was looked for.")                            \
    X(PLACE_PACKED, "symcached_places_total", "form=\"packed\"", "")          \
    X(PLACE_POINTER, "symcached_places_total", "form=\"pointer\"", "")        \
    X(PLACE_INDEX, "symcached_places_total", "form=\"index2\"", "")           \
    X(DOWNLOAD_BYTES, "symcached_download_bytes_total", "",                   \
      "Bytes received from sources.")                                         \
    X(FETCH_RETRY, "symcached_fetch_retries_total", "",                       \
      "Requests to sources repeated after a passing failure.")                \
    X(FETCH_NO_SPACE, "symcached_fetch_no_room_total", "",                    \
      "Downloads refused because cache.min_free would not be left.")          \
    X(PREFETCH_USED, "symcached_lookahead_total", "result=\"used\"",          \
      "Sources looked up before their turn, as the one before was silent.")   \
    X(PREFETCH_DROPPED, "symcached_lookahead_total", "result=\"dropped\"",    \
      "")                                                                     \
    X(FETCH_PAUSED, "symcached_fetches_refused_total", "reason=\"pause\"",    \
      "Requests not made: the host wants a pause, or fails.")                 \
    X(FETCH_BROKEN, "symcached_fetches_refused_total", "reason=\"breaker\"",  \
      "")                                                                     \
    X(BREAKER_OPEN, "symcached_breaker_changes_total", "to=\"open\"",         \
      "Changes of the circuit breakers of hosts.")                            \
    X(BREAKER_HALF_OPEN, "symcached_breaker_changes_total",                   \
      "to=\"half_open\"", "")                                                 \
    X(BREAKER_CLOSED, "symcached_breaker_changes_total", "to=\"closed\"", "") \
    X(RESUME_DONE, "symcached_resumes_total", "result=\"whole\"",             \
      "Downloads that broke off and were continued where they had ended.")    \
    X(RESUME_REFUSED, "symcached_resumes_total", "result=\"restarted\"", "")  \
    X(DIGEST_MATCH, "symcached_digests_total", "result=\"match\"",            \
      "Downloads whose server sent a SHA-256.")                               \
    X(DIGEST_DIFFER, "symcached_digests_total", "result=\"differ\"", "")      \
    X(DOWNLOAD_REUSED, "symcached_downloads_reused_total", "",                \
      "Jobs that found their PDB among the downloads.")                       \
    X(SYMCACHE_FETCHED, "symcached_symcache_answers_total",                   \
      "answer=\"found\"", "Answers of SymCache servers among the sources.")   \
    X(SYMCACHE_PENDING, "symcached_symcache_answers_total",                   \
      "answer=\"pending\"", "")                                               \
    X(SYMCACHE_NOT_MODIFIED, "symcached_symcache_answers_total",              \
      "answer=\"not_modified\"", "")                                          \
    X(SYMCACHE_GAVE_UP, "symcached_symcache_gave_up_total", "",               \
      "SymCache servers that said \"ask again\" for too long.")               \
    X(LOOP_REFUSED, "symcached_loops_refused_total", "",                      \
      "Lookups refused because they had come through this helper.")           \
    X(TIER_HIT, "symcached_tier_gets_total", "result=\"hit\"",                \
      "Files asked for in a tier.")                                           \
    X(TIER_ABSENT, "symcached_tier_gets_total", "result=\"absent\"", "")      \
    X(TIER_GET_REFUSED, "symcached_tier_gets_total", "result=\"refused\"",    \
      "")                                                                     \
    X(TIER_GET_FAILED, "symcached_tier_gets_total", "result=\"failed\"", "")  \
    X(TIER_STORED, "symcached_tier_puts_total", "result=\"stored\"",          \
      "Files to be stored in a tier, or to be kept there.")                   \
    X(TIER_EXISTS, "symcached_tier_puts_total", "result=\"exists\"", "")      \
    X(TIER_FRESH, "symcached_tier_puts_total", "result=\"refreshed\"", "")    \
    X(TIER_REMOVED, "symcached_tier_puts_total", "result=\"removed\"", "")    \
    X(TIER_PUT_FAILED, "symcached_tier_puts_total", "result=\"failed\"", "")  \
    X(TIER_DROPPED, "symcached_tier_dropped_total", "",                       \
      "Files that were not stored in a tier because too many waited.")        \
    X(TIER_REFUSED_META, "symcached_tier_refused_total", "why=\"metadata\"",  \
      "Objects of tiers that were not used.")                                 \
    X(TIER_REFUSED_MAC, "symcached_tier_refused_total", "why=\"mac\"", "")    \
    X(TIER_REFUSED_DIGEST, "symcached_tier_refused_total", "why=\"digest\"",  \
      "")                                                                     \
    X(TIER_REFUSED_CONTENT, "symcached_tier_refused_total",                   \
      "why=\"content\"", "")                                                  \
    X(TIER_RECEIVED, "symcached_tier_bytes_total", "direction=\"received\"",  \
      "Bytes of bodies from and to tiers.")                                   \
    X(TIER_SENT, "symcached_tier_bytes_total", "direction=\"sent\"", "")      \
    X(TIER_GET_MS, "symcached_tier_seconds_total", "way=\"get\"",             \
      "Time that files took in a tier, with their checks.")                   \
    X(TIER_PUT_MS, "symcached_tier_seconds_total", "way=\"put\"", "")         \
    X(TIER_BREAKER_OPEN, "symcached_tier_breaker_changes_total",              \
      "to=\"open\"", "Changes of the circuit breakers of tiers.")             \
    X(TIER_BREAKER_CLOSED, "symcached_tier_breaker_changes_total",            \
      "to=\"closed\"", "")                                                    \
    X(TRANSCODE_RUNS, "symcached_transcodes_total", "",                       \
      "Transcoder processes that ended.")                                     \
    X(TRANSCODE_REFUSED, "symcached_transcodes_refused_total", "",            \
      "Runs not made: the transcoder is left alone.")                         \
    X(TRANSCODER_PAUSED, "symcached_transcoder_pauses_total", "",             \
      "Times that a transcoder was left alone for a while.")                  \
    X(CANARY_GOOD, "symcached_canaries_total", "result=\"good\"",             \
      "Transcoders tried on a good PDB, as they failed on others.")           \
    X(CANARY_BAD, "symcached_canaries_total", "result=\"bad\"", "")           \
    X(TAKEN_BACK, "symcached_malformed_taken_back_total", "",                 \
      "Malformed entries dropped: the transcoder was at fault.")              \
    X(PUBLISHED_BYTES, "symcached_published_bytes_total", "",                 \
      "Bytes of SymCache files published.")                                   \
    X(GZIP_MADE, "symcached_gzip_made_total", "", "Gzip files (.gz) made.")   \
    X(GZIP_BYTES, "symcached_gzip_bytes_total", "", "Their bytes.")           \
    X(GZIP_FAILED, "symcached_gzip_failed_total", "",                         \
      "Gzip files that could not be made.")                                   \
    X(GZIP_SKIPPED, "symcached_gzip_skipped_total", "",                       \
      "Gzip files left for the next use because too many waited.")            \
    X(FORGOTTEN, "symcached_forgotten_total", "",                             \
      "Negative entries dropped on request.")                                 \
    X(UPLOADED_FILES, "symcached_uploaded_files_total", "",                   \
      "Files that clients uploaded, and that were stored.")                   \
    X(UPLOADED_BYTES, "symcached_uploaded_bytes_total", "", "Their bytes.")   \
    X(UPLOADS_SAME, "symcached_uploads_same_total", "",                       \
      "Uploaded files that were there already.")                              \
    X(UPLOADS_REMOVED, "symcached_uploads_removed_total", "",                 \
      "Uploaded files that were kept no longer.")                             \
    X(UPLOADS_BUILDS_REMOVED, "symcached_uploads_builds_removed_total", "",   \
      "Builds of uploads that were kept no longer.")                          \
    X(UPLOADS_REFUSED_TOKEN, "symcached_uploads_refused_total",               \
      "reason=\"token\"", "Uploads that were not taken, by reason.")          \
    X(UPLOADS_REFUSED_CONTENT, "symcached_uploads_refused_total",             \
      "reason=\"content\"", "")                                               \
    X(UPLOADS_REFUSED_CONFLICT, "symcached_uploads_refused_total",            \
      "reason=\"conflict\"", "")                                              \
    X(UPLOADS_REFUSED_BUSY, "symcached_uploads_refused_total",                \
      "reason=\"busy\"", "")                                                  \
    X(UPLOADS_REFUSED_SPACE, "symcached_uploads_refused_total",               \
      "reason=\"no-room\"", "")                                               \
    X(UPLOADS_REFUSED_FAILED, "symcached_uploads_refused_total",              \
      "reason=\"failed\"", "")                                                \
    X(UPLOADS_INDEXED, "symcached_uploads_indexed_total", "",                 \
      "Uploaded files that were found by their id, under another name.")      \
    X(CLEANED_UNUSED, "symcached_cleaned_files_total", "reason=\"unused\"",   \
      "Files removed, by reason.")                                            \
    X(CLEANED_EXPIRED, "symcached_cleaned_files_total", "reason=\"expired\"", \
      "")                                                                     \
    X(CLEANED_SIZE, "symcached_cleaned_files_total", "reason=\"max_size\"",   \
      "")                                                                     \
    X(CLEANED_FREE, "symcached_cleaned_files_total", "reason=\"min_free\"",   \
      "")                                                                     \
    X(CLEANED_UNUSED_BYTES, "symcached_cleaned_bytes_total",                  \
      "reason=\"unused\"", "Their bytes.")                                    \
    X(CLEANED_EXPIRED_BYTES, "symcached_cleaned_bytes_total",                 \
      "reason=\"expired\"", "")                                               \
    X(CLEANED_SIZE_BYTES, "symcached_cleaned_bytes_total",                    \
      "reason=\"max_size\"", "")                                              \
    X(CLEANED_FREE_BYTES, "symcached_cleaned_bytes_total",                    \
      "reason=\"min_free\"", "")                                              \
    X(CLEAN_PASSES, "symcached_clean_passes_total", "result=\"ok\"",          \
      "Passes of cleaning.")                                                  \
    X(CLEAN_PASSES_FAILED, "symcached_clean_passes_total",                    \
      "result=\"failed\"", "")                                                \
    X(TENANTS_STARTED, "symcached_tenants_total", "result=\"started\"",       \
      "Tenants that clients' sources asked for.")                             \
    X(TENANTS_REFUSED, "symcached_tenants_total", "result=\"refused\"", "")   \
    X(TENANTS_REMOVED, "symcached_tenants_total", "result=\"removed\"", "")   \
    X(RELOADS, "symcached_reloads_total", "result=\"ok\"",                    \
      "Reloads of the configuration.")                                        \
    X(RELOADS_FAILED, "symcached_reloads_total", "result=\"failed\"", "")

#define METRICS_ENUM(id, name, labels, help) METRIC_##id,

enum metric { METRICS_COUNTERS(METRICS_ENUM) METRICS_N };

#undef METRICS_ENUM

void metrics_add(enum metric metric, uint64_t n);

/* What a counter has reached. */
uint64_t metrics_counted(enum metric metric);

/* X(id, name, help): histograms of seconds. */
#define METRICS_HISTOGRAMS(X)                                                 \
    X(LOOKUP, "symcached_lookup_seconds",                                     \
      "Time from a lookup on the socket to its answer.")                      \
    X(JOB, "symcached_job_seconds", "Time from a job's start to its end.")    \
    X(DOWNLOAD, "symcached_download_seconds",                                 \
      "Time that jobs spent in sources.")                                     \
    X(TRANSCODE, "symcached_transcode_seconds",                               \
      "Time that transcoder processes ran.")

#define METRICS_ENUM(id, name, help) METRICS_##id,

enum metrics_histogram {
    METRICS_HISTOGRAMS(METRICS_ENUM) METRICS_HISTOGRAMS_N
};

#undef METRICS_ENUM

/* Counts something that took so many milliseconds. */
void metrics_observe(enum metrics_histogram histogram, unsigned ms);

/*
 * Sets a gauge that is printed with the counters from now on; labels may be
 * "".  name and help must stay valid, as they are not copied.
 */
void metrics_show(const char *name, const char *labels, const char *help,
                  double value);

/* Removes all gauges of that name. */
void metrics_hide(const char *name);

/* Appends all counters, histograms, and the gauges of metrics_show(). */
void metrics_print(struct evbuffer *buf);

/* Appends one gauge with its help. */
void metrics_print_gauge(struct evbuffer *buf, const char *name,
                         const char *help, double value);

/*
 * Appends the samples of a histogram, without its help.  counts[i] is the
 * number of values above upper[i - 1] and up to upper[i], counts[n] of those
 * above all bounds.  A second is so many units of bounds and sum.  labels may
 * be "".
 */
void metrics_print_histogram(struct evbuffer *buf, const char *name,
                             const char *labels, const unsigned *upper,
                             unsigned n, const uint64_t *counts, uint64_t sum,
                             double second);

/*
 * process.c: for a daemon's start, before its sandbox and after it has raised
 * its limit of descriptors.
 */
void metrics_process_start(void);

/*
 * Appends the process metrics of Prometheus' client libraries, under their
 * names; values that the kernel does not report are left out.  Any thread may
 * call it.
 */
void metrics_print_process(struct evbuffer *buf);
