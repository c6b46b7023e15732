/*
 * Copyright (C) the ngx_symcache authors
 *
 * What each source answered since the start.  It is kept by the source's name,
 * as long as the configuration has that.
 */
#pragma once

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include "lookup.h"

struct source_stats;

struct source_stats *source_stats_new(void);
void source_stats_free(struct source_stats *source_stats);

/* Counts one attempt, unless the configuration has ruled it out. */
void source_stats_add(struct source_stats *source_stats,
                      const struct lookup_attempt *attempt);

/* Forgets the sources that config does not have. */
void source_stats_keep(struct source_stats *source_stats,
                       const struct config *config);

/* For each source of the configuration, without any secret. */
cJSON *source_stats_json(const struct source_stats *source_stats,
                         const struct config *config);

/* Appends symcached_source_attempts_total{source=,outcome=}. */
void source_stats_print(const struct source_stats *source_stats,
                        struct evbuffer *buf);
