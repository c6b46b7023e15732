/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a pass of cleaning has done, as JSON: its process writes it, and the
 * helper makes metrics and lines of its log of it.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdio.h>
#include "config/config.h"
#include "symcached/space/space.h"

struct evict_pass;

/* Returns 0, or -1 with errno. */
int evict_report_write(const struct evict_pass *evict_pass, bool dry_run,
                       unsigned ms, FILE *f);

/* Returns NULL if the file has no report. */
cJSON *evict_report_read(int fd);

/* Counts what was removed, and logs what was unusual. */
void evict_report_take(const struct config *config, const cJSON *report);

/* Shows the sizes of the stores that still exist. */
void evict_report_show(const cJSON *report, const struct config *config);

/* The part about the file system of the request, or NULL. */
const cJSON *evict_report_space(const cJSON *report,
                                const struct space_request *request);

/* A member's number, or 0. */
double evict_report_number(const cJSON *object, const char *name);
