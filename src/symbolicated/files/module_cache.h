/*
 * Copyright (C) the ngx_symcache authors
 *
 * From a key to the newest file of its kind in a store, opened: a SymCache or
 * a PpdbCache.  Each thread remembers what it found and in which state the
 * folder was, so that a key that is known costs one question to the kernel and
 * no lock.
 *
 * What is published, replaced or removed is seen at the next question, because
 * the folder has changed.  A folder that changed a moment ago may change again
 * within one tick of the clock of the file system, so it is read again until
 * it has settled.
 */
#pragma once

#include "mapped_modules.h"

/* What one thread remembers. */
struct module_cache;

struct module_cache *module_cache_new(struct mapped_modules *mapped);
void module_cache_free(struct module_cache *cache);

enum module_find {
    MODULE_FIND_NONE,   /* the store has nothing of the key */
    MODULE_FIND_ABSENT, /* the same, and module_cache_absent() said so */
    MODULE_FIND_HERE,   /* *module has a reference */
    MODULE_FIND_LOOK    /* mapped_modules_open_newest() tells */
};

/* On whose behalf, and when. */
struct module_asker {
    uint64_t call; /* one value for all rounds of a call, never 0 */
    uint64_t now;  /* of clock_ms() */
};

/* How a key is asked for: with other hints, or the name in another spelling,
 * symcached may find what is absent with these. */
struct module_question {
    const symcache_key_t *key;
    const char *name; /* the key's, as the client wrote it */
    size_t name_size;
    const char *hints; /* see proto/hints.h; or NULL */
};

/*
 * root is the folder of a store, open, and store the number of that folder: of
 * one that stays open the same, of others a negative one, which two of them
 * may share.  *reason: as it was given, of what is absent.
 */
enum module_find module_cache_find(struct module_cache *cache, int store,
                                   int root,
                                   const struct module_question *question,
                                   const struct module_asker *asker,
                                   struct module **module, unsigned *reason);

/* Remembers what was seen; the reference stays the caller's. */
void module_cache_add(struct module_cache *cache, int store,
                      const symcache_key_t *key,
                      const struct module_sight *sight);

/*
 * No source has what is asked for so, until a time; or until the folder
 * changes, or comes, as happens when something is published; or until symcached
 * forgets something in the store, by an upload or a command.  asker is who
 * asked before the answer came.  Only the newest question of a key is
 * remembered.
 */
void module_cache_absent(struct module_cache *cache, int store,
                         const struct module_question *question,
                         const struct module_asker *asker, uint64_t until,
                         unsigned reason);

/* An absence that is remembered. */
struct module_absence {
    uint64_t number;      /* in the cache; never 0 */
    const char *attempts; /* size bytes as they were given, until the cache is
                           * used again; or NULL */
    size_t size;
};

/* Is the key absent, as by module_cache_find()?  Of stores that stay open. */
bool module_cache_find_absence(struct module_cache *cache, int store, int root,
                               const struct module_question *question,
                               const struct module_asker *asker,
                               struct module_absence *absence);

#define MODULE_ATTEMPTS_MAX 4096 /* bytes; more are not remembered */

/* Remembers the helper's text of where it looked for the key, as long as the
 * absence of this number is the one that is remembered.  It is copied. */
void module_cache_add_attempts(struct module_cache *cache, int store,
                               const symcache_key_t *key, uint64_t number,
                               const char *text, size_t size);

/* Forgets modules that were evicted: now and then, so that they can go. */
void module_cache_trim(struct module_cache *cache);
