/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a job looked and what each place answered: for its log line, for its
 * negative entry and for "why".  The trails of the latest jobs are kept, as
 * many as memory is set aside for.
 */
#ifndef SYMCACHED_TRAIL_H
#define SYMCACHED_TRAIL_H

#include <cjson/cJSON.h>
#include "source.h"

struct trail;
struct trails;

/* id as id_print() writes it; NULL when out of memory. */
struct trail *trail_new(const char *id);
void trail_free(struct trail *trail);
const char *trail_id(const struct trail *trail);

/* Copies one attempt; beyond a number only their count. */
void trail_add(struct trail *trail, const struct source_attempt *attempt);

/* "local: not found (no such file); msdl: failed (timeout)" */
void trail_print(const struct trail *trail, char *buf, size_t size);

/* Without places, and of the same answers in a row the last. */
void trail_print_brief(const struct trail *trail, char *buf, size_t size);

/* An array of objects; NULL when out of memory. */
cJSON *trail_json(const struct trail *trail);

struct trails *trails_new(void);
void trails_free(struct trails *trails);

/* Takes the trail over; the former one of the same id is dropped. */
void trails_keep(struct trails *trails, struct trail *trail);

/* NULL if no job of this id is remembered. */
const struct trail *trails_find(const struct trails *trails, const char *id);

#endif
