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
 * The third word stands for the sources that were asked: a miss is believed
 * until its time, or until the store looks elsewhere, too.  The last line, if
 * there is one, has the spellings that were looked for, see spelling.h.
 *
 * What could not be told (an upstream fails, the disk is full) is kept in
 * memory and for a short time only; it never makes a final answer.
 */
#ifndef SYMCACHED_ABSENT_H
#define SYMCACHED_ABSENT_H

#include <stdbool.h>
#include <time.h>
#include "config.h"
#include "spelling.h"
#include "proto/symcache_key.h"

#define ABSENT_TEXT_MAX 1024

enum absent_reason {
    ABSENT_NOTFOUND,  /* every source said that it has no such file */
    ABSENT_MALFORMED, /* the transcoder failed on the PDB */
    ABSENT_ERROR,     /* could not be told; memory only */
    ABSENT_UNCHANGED  /* nothing newer than what is on disk; memory only,
                         and only as long as that is on disk */
};

struct absent_entry {
    enum absent_reason reason;
    time_t since;
    unsigned valid; /* seconds left, at least 1 */
    char text[ABSENT_TEXT_MAX];
    struct spellings spellings; /* of ABSENT_NOTFOUND */
};

struct absent;

/* started: malformed entries from before are tried once more. */
struct absent *absent_new(time_t started);
void absent_free(struct absent *absent);

const char *absent_reason_name(enum absent_reason reason);

/*
 * Returns true and fills entry if there is one for this version in force.
 * name is the key's as it was asked for, or NULL for any spelling: a miss is
 * one of the spellings that were looked for.  One more is not, when there are
 * SPELLING_MAX of them: then it cannot be told, ABSENT_ERROR, until the
 * entry's time is over.
 */
bool absent_find(struct absent *absent, const struct store_config *store,
                 const struct cache_config *cache, const symcache_key_t *key,
                 const char *name, const symcache_version_t *version,
                 struct absent_entry *entry);

/*
 * Writes a notfound or malformed entry; name is that which was looked for,
 * tmp an unused file on the store's file system.  A miss in one more spelling
 * leaves the entry its time.  Returns 0, or -1 with errno.
 */
int absent_write(struct absent *absent, const struct store_config *store,
                 const struct cache_config *cache, const symcache_key_t *key,
                 const char *name, const symcache_version_t *version,
                 enum absent_reason reason, const char *text, const char *tmp);

/* Remembers a failure in memory for some seconds. */
void absent_note_error(struct absent *absent, const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version, const char *text,
                       unsigned seconds);

/* The same for ABSENT_UNCHANGED. */
void absent_note_unchanged(struct absent *absent,
                           const struct store_config *store,
                           const symcache_key_t *key,
                           const symcache_version_t *version, const char *text,
                           unsigned seconds);

/* Drops the entry of one version, after a success. */
void absent_drop(struct absent *absent, const struct store_config *store,
                 const symcache_key_t *key, const symcache_version_t *version);

/* Drops all entries of the PDB name, or of one key if has_id; their number. */
unsigned absent_forget(struct absent *absent, const struct store_config *store,
                       const symcache_key_t *key, bool has_id);

unsigned absent_errors(const struct absent *absent); /* in memory */

#endif
