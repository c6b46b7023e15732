/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tells symcached which files are used, or it would take them for unused and
 * remove them: each at most hourly, those of a while together in one question.
 */
#pragma once

#include "symbolicated/settings.h"
#include "symbolicated/api/api.h"
#include "symbolicated/files/files.h"

struct event_base;

/* Of one thread. */
struct usage_report;

struct usage_report *
usage_report_new(struct event_base *base); /* NULL without memory */
void usage_report_free(struct usage_report *report);

/* The file of a module, in that store of the settings, was used now. */
void usage_report_add(struct usage_report *report, struct settings *settings,
                      size_t store, const struct api_module *wanted,
                      struct module *module, uint64_t now);
