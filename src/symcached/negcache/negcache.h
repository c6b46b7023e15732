/*
 * Copyright (C) the ngx_symcache authors
 *
 * Negative cache entries.  What a source or a transcoder said for certain lies
 * beside the SymCache files as <pdb>-v<M.m.p>.absent and survives a restart:
 *
 *   notfound 1795235000 0123456789abcdef\n
 *   local: no such file; msdl: 404\n
 *   Ntdll.pdb/NTDLL.pdb\n
 *
 * The third word stands for the sources that were asked: an entry is believed
 * until its time, or until the store looks elsewhere, too.  The last line, if
 * there is one, has the spellings that were looked for, see name_variants.h.
 *
 * What could not be told (an upstream fails, the disk is full) is kept in
 * memory and for a short time only; it never makes a final answer.
 */
#ifndef SYMCACHED_NEGCACHE_H
#define SYMCACHED_NEGCACHE_H

#include <stdbool.h>
#include <time.h>
#include "config/config.h"
#include "metrics/metrics.h"
#include "name_variants.h"
#include "proto/key.h"
#include "forget.h"

#define NEGCACHE_TEXT_MAX 1024

enum negcache_reason {
    NEGCACHE_NOTFOUND,  /* every source said that it has no such file */
    NEGCACHE_MALFORMED, /* the transcoder failed on the PDB */
    NEGCACHE_ERROR,     /* could not be told */
    NEGCACHE_UNCHANGED, /* nothing newer than what is on disk */
    NEGCACHE_REASONS
};

/*
 * What a reason means.  This is the only place where negative caching is
 * decided; docs/operations.md ("Which failure is remembered") has the same
 * table for people, and t/unit/negcache.c compares them.
 */
struct negcache_rule {
    const char *name; /* API: in the file, in answers and in metrics */
    bool on_disk;     /* or in memory, where a restart forgets it */
    bool by_name;     /* holds for the name variants that were looked for */
    bool by_run;      /* a restart of the helper tries once more */
    bool needs_file;  /* holds as long as an older version is on disk */
    bool is_final;    /* the client is told 404, or else to ask again */
    size_t life;      /* offset in struct cache_config: for so many seconds */
    enum metric metric; /* counts the lookups that it answers */
};

extern const struct negcache_rule negcache_rules[NEGCACHE_REASONS];

/* Seconds for which an entry holds, as configured. */
unsigned negcache_life(enum negcache_reason reason,
                       const struct cache_config *cache);

struct negcache_entry {
    enum negcache_reason reason;
    time_t since;
    unsigned valid; /* seconds left, at least 1 */
    char text[NEGCACHE_TEXT_MAX];
    struct name_variants variants; /* of NEGCACHE_NOTFOUND */
};

struct negcache;

/* started: malformed entries from before are tried once more. */
struct negcache *negcache_new(time_t started);
void negcache_free(struct negcache *negcache);

/*
 * Returns true and fills entry if there is one for this version in force.
 * name is the key's as it was asked for, or NULL for any spelling: a miss is
 * one of the spellings that were looked for.  One more is not, when there are
 * NAME_VARIANTS_MAX of them: then it cannot be told, NEGCACHE_ERROR, until the
 * entry's time is over.
 */
bool negcache_find(struct negcache *negcache, const struct store_config *store,
                   const struct cache_config *cache, const symcache_key_t *key,
                   const char *name, const symcache_version_t *version,
                   struct negcache_entry *entry);

/*
 * Keeps an entry where the rule of its reason says.  name is that which was
 * looked for.  seconds is how long it holds, or 0 for the rule's time.  tmp is
 * an unused file on the store's file system, or NULL if there is none.
 *
 * A miss under one more name leaves the entry its time.  An entry that belongs
 * on disk and cannot be written is kept as NEGCACHE_ERROR, and -1 is returned
 * with errno; otherwise 0.
 */
int negcache_add(struct negcache *negcache, const struct store_config *store,
                 const struct cache_config *cache, const symcache_key_t *key,
                 const char *name, const symcache_version_t *version,
                 enum negcache_reason reason, const char *text,
                 unsigned seconds, const char *tmp);

/*
 * Reads a negative entry of a folder, whether it is in force or not; not
 * filled is what depends on that.  Returns false if it is none.
 */
bool negcache_read(int dir, const char *name, struct negcache_entry *entry);

/* Drops the entry of one version, after a success. */
void negcache_drop(struct negcache *negcache, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version);

/*
 * Drops what is on disk if it is a malformed entry, which was not to be
 * believed.  Returns true if there was one.
 */
bool negcache_take_back(const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version);

/* Drops all entries of the PDB name, or of one key if has_id; their number. */
unsigned negcache_forget(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, bool has_id);

unsigned negcache_errors(const struct negcache *negcache); /* in memory */

#endif
