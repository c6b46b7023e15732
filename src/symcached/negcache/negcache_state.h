/*
 * Copyright (C) the ngx_symcache authors
 *
 * The negative cache, for its entries in memory and for those on disk.
 */
#pragma once

#include <sys/queue.h>
#include "base/hash_table.h"
#include "negcache.h"

struct negcache {
    time_t started;
    struct table by_id; /* entries in memory, and: */
    TAILQ_HEAD(memory_entries, memory_entry) by_age; /* oldest first */
    struct absences *absences;
};

/*
 * The hints that a finding depends on, or NULL if it is one of the key: there
 * are none, or the id proves them.  A source cannot look for a hash alone, so
 * such a result is not a finding about the key.
 */
const char *negcache_unproved_hints(const symcache_key_t *key,
                                    const char *hints);

void memory_entries_free(struct negcache *negcache);

void memory_entry_note(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key, const char *name,
                       const char *hints, const symcache_version_t *version,
                       enum negcache_reason reason, const char *text,
                       unsigned seconds, int64_t uploads_changed);

/* Adds a list of servers to those of which the entry knows, whose time it
 * keeps: questions of several servers can be under way. */
void memory_entry_note_loop(struct negcache *negcache,
                            const struct store_config *store,
                            const symcache_key_t *key, const char *name,
                            const char *hints,
                            const symcache_version_t *version, const char *via,
                            unsigned seconds);

/* Drops the entry of one version that was made without hints. */
void memory_entry_drop(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version);

/* Drops what is malformed of a key, with whatever hints. */
bool memory_entry_take_back(struct negcache *negcache,
                            const struct store_config *store,
                            const symcache_key_t *key,
                            const symcache_version_t *version);

/* Drops the entries that begin with the prefix of a store and a name; with a
 * key also the entries of its build id under any name. */
unsigned memory_entries_forget(struct negcache *negcache, const char *prefix,
                               const symcache_key_t *key);
