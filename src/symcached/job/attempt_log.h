/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a job looked and what each place answered: for its log line, for its
 * negative entry and for "why".  A limited number of logs, those of the latest
 * jobs, is kept.
 */
#pragma once

#include <cjson/cJSON.h>
#include "symcached/source/lookup.h"

struct attempt_log;
struct attempt_logs;

/* id as store_key_print() writes it; NULL when out of memory. */
struct attempt_log *attempt_log_new(const char *id);
void attempt_log_free(struct attempt_log *attempt_log);
const char *attempt_log_id(const struct attempt_log *attempt_log);

/* Copies one attempt; of those beyond a limit only the number is kept. */
void attempt_log_add(struct attempt_log *attempt_log,
                     const struct lookup_attempt *attempt);

/* Copies what the tier answered.  It is kept apart: a tier is no source, and
 * what it answers explains no outcome. */
void attempt_log_tier(struct attempt_log *attempt_log,
                      const struct lookup_attempt *attempt);

/* The same as an object, or NULL if no tier was asked. */
cJSON *attempt_log_tier_json(const struct attempt_log *attempt_log);

/*
 * The file found by the latest attempt turned out to be unusable.  If that
 * attempt found nothing, one is added for this source and place.
 */
void attempt_log_mark_unusable(struct attempt_log *attempt_log,
                               const char *source, const char *place,
                               const char *why);

/*
 * "msdl: https://... failed (timeout); local: /srv/a.pdb not found (no such
 * file)".  What failed comes first, as it explains an error and the end may be
 * cut off.  Brief: without places, and of equal answers in a row only the last
 * one.
 */
void attempt_log_print(const struct attempt_log *attempt_log, bool brief,
                       char *buf, size_t size);

/*
 * The attempts as text for SYMCACHE_PLACES_ATTRIBUTE, to be freed; NULL if
 * there are none, or they do not fit.
 */
char *attempt_log_places(const struct attempt_log *attempt_log);

/* An array of objects; NULL when out of memory. */
cJSON *attempt_log_json(const struct attempt_log *attempt_log);

struct attempt_logs *attempt_logs_new(void);
void attempt_logs_free(struct attempt_logs *attempt_logs);

/* Takes the log over; the former one of the same id is dropped. */
void attempt_logs_keep(struct attempt_logs *attempt_logs,
                       struct attempt_log *attempt_log);

/* NULL if no job of this id is remembered. */
struct attempt_log *attempt_logs_find(const struct attempt_logs *attempt_logs,
                                      const char *id);
