/*
 * Copyright (C) the ngx_symcache authors
 *
 * Data shared by lookups: connections, and the state of each source and of its
 * host.
 */
#pragma once

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <stdbool.h>
#include "config/config.h"

struct event_base;
struct sources;
struct tiers;

/* The types that a source may have, for config_read(). */
extern const struct source_type *const source_types[];

/* tiers has what the disk of "uploads" lacks; it lives longer. */
struct sources *sources_new(struct event_base *base, struct tiers *tiers);

/* Calls freed whenever a source that was busy may be free again. */
void sources_watch(struct sources *sources, void (*freed)(void *arg),
                   void *arg);

void sources_free(struct sources *sources); /* no lookup may be running */

/*
 * Drops the state of sources that config does not have, and of their hosts,
 * and closes connections of former configurations.  No lookup in one of these
 * may be running.
 */
void sources_keep(struct sources *sources, const struct config *config);

/* Where a source is: its url or path, in the configuration. */
const char *source_place(const struct source_config *source);

/*
 * Has the source's host or directory as many lookups as it may have, so that
 * another one would be too many?
 */
bool source_busy(const struct sources *sources, const struct config *config,
                 const struct source_config *source);

/* The spellings in which a source has answered, a set of layout.h; 0: in none,
 * or it has no others. */
unsigned source_variants(struct sources *sources,
                         const struct source_config *source);

/* The state of the source's host or directory, as an object; or NULL. */
cJSON *source_host(const struct sources *sources,
                   const struct source_config *source);

/* Appends the metrics of hosts. */
void sources_print(const struct sources *sources, struct evbuffer *buf);
