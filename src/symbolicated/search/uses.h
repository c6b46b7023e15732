/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tells symcached which files are used, or it would take them for unused and
 * remove them: each at most hourly, those of a while together in one question.
 */
#ifndef SYMBOLICATED_SEARCH_USES_H
#define SYMBOLICATED_SEARCH_USES_H

#include "symbolicated/settings.h"
#include "symbolicated/api/api.h"
#include "symbolicated/files/files.h"

struct event_base;

/* Of one thread. */
struct uses;

struct uses *uses_new(struct event_base *base); /* NULL without memory */
void uses_free(struct uses *uses);

/* The file of a module, in that store of the settings, was used now. */
void uses_note(struct uses *uses, struct settings *settings, size_t store,
               const struct api_module *wanted, struct module *module,
               uint64_t now);

#endif
