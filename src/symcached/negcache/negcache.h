/*
 * Copyright (C) the ngx_symcache authors
 *
 * Negative cache entries: files known to be absent or unusable, with the
 * reason.  The rule of each reason says where its entries are kept.  On disk,
 * those of absent keys share a file (absences.h).  What is malformed, and all
 * entries of former releases, are files beside the SymCache files,
 * <pdb>-v<M.m.p>.absent:
 *
 *   notfound 1795235000 0123456789abcdef\n
 *   local: no such file; msdl: 404\n
 *   Ntdll.pdb/NTDLL.pdb\n
 *
 * The third word is the fingerprint of the store.  An entry is believed until
 * its time is over, or until the store has other sources or transcoders.
 * The last line, which is optional, lists the spellings that were looked for
 * (name_variants.h).
 *
 * What was found out with the hints of a client (proto/hints.h) is in memory
 * only, and holds for the same hints, spelling, sources and transcoders; but
 * for the URL that the id of a key proves, without which in turn nothing is
 * found out of such a key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "config/config.h"
#include "metrics/metrics.h"
#include "name_variants.h"
#include "proto/key.h"
#include "forget_malformed.h"

#define NEGCACHE_TEXT_MAX 1024

/* The store has no uploads, or it is not known when they changed. */
#define NEGCACHE_NO_UPLOADS (-1)

enum negcache_reason {
    NEGCACHE_NOTFOUND,  /* every source said that it has no such file */
    NEGCACHE_WRONG_FORMAT, /* one has it, of a format of which this is not
                              made; the others have none */
    NEGCACHE_MALFORMED, /* the transcoder failed on the PDB, or nothing can
                           read what a source has */
    NEGCACHE_ERROR,     /* could not be told */
    NEGCACHE_LOOP,      /* absent, but for certain servers; holds for their
                           questions.  The text has their ids (via_header.h),
                           lists with "; " between */
    NEGCACHE_UNCHANGED, /* nothing newer than what is on disk */
    NEGCACHE_REASONS
};

/*
 * The rule of a reason: where its entries are kept, for how long, and which
 * answer they give.  Which reason an outcome has, and with which life, the
 * caller decides (remember_outcome() in job/job_end.c).  docs/caching.md
 * ("Which failure is remembered") has the same table for people, and
 * t/unit/negcache.c compares them.
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
    int64_t uploads_changed; /* where the rule says by_name: when uploads with
                                its id had last changed as it was looked for,
                                see decision_uploads_changed() */
    unsigned valid; /* seconds left, at least 1 */
    char text[NEGCACHE_TEXT_MAX];
    struct name_variants variants; /* where the rule says by_name */
};

struct negcache;

/* started is when the helper was started, see negcache_rule.by_run. */
struct negcache *negcache_new(time_t started);
void negcache_free(struct negcache *negcache);

/*
 * Looks for an entry of this version that is still believed.  Returns true and
 * fills entry if there is one.  hints are those of the client, or "", or NULL:
 * what is said of the key.  name is the name as the client spelled it, or,
 * without hints, NULL for any spelling.
 * A miss holds only for the spellings that were looked for.  Once there are
 * NAME_VARIANTS_MAX of them, a further spelling is not looked for; the result
 * for it is NEGCACHE_ERROR until the entry expires.
 */
bool negcache_find(struct negcache *negcache, const struct store_config *store,
                   const struct cache_config *cache, const symcache_key_t *key,
                   const char *name, const char *hints,
                   const symcache_version_t *version,
                   struct negcache_entry *entry);

/* The same among the entries in memory alone: what was found out after the one
 * on disk, for a caller that does not believe that one any more. */
bool negcache_find_noted(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, const char *name,
                         const char *hints, const symcache_version_t *version,
                         struct negcache_entry *entry);

/* The latest entry in memory that was found out of the version with hints, of
 * whichever client, and is believed for those.  Returns false if there is none;
 * hints has room for SYMCACHE_HINTS_MAX. */
bool negcache_find_hinted(const struct negcache *negcache,
                          const struct store_config *store,
                          const symcache_key_t *key,
                          const symcache_version_t *version,
                          struct negcache_entry *entry, char *hints);

/* Is there an entry on disk that says that the file is absent, and whose time
 * is over? */
bool negcache_was_absent(struct negcache *negcache,
                         const struct store_config *store,
                         const struct cache_config *cache,
                         const symcache_key_t *key,
                         const symcache_version_t *version);

/*
 * Is it known, without listing the folder of a key, that this version is absent
 * and that there is no file of the key's kind?  That is so where there is no
 * such folder, or after negcache_set_alone() as long as it does not change; a
 * minute at most.
 */
bool negcache_is_alone(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version);
void negcache_set_alone(struct negcache *negcache,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version);

/* Does negcache_add() write the entry?  Others are only in memory. */
bool negcache_is_written(enum negcache_reason reason,
                         const symcache_key_t *key, const char *hints);

/*
 * Keeps an entry where the rule of its reason says, or in memory if there were
 * hints.  name is the name that was looked for.  seconds is how long the entry
 * holds, or 0 for the time of the rule.  tmp is the path of an unused file on
 * the store's file system, or NULL if there is none.
 *
 * A miss under one more name does not extend the time of the entry.  An entry
 * that belongs on disk and cannot be written is kept as NEGCACHE_ERROR
 * instead; then -1 is returned with errno, and otherwise 0.
 */
int negcache_add(struct negcache *negcache, const struct store_config *store,
                 const struct cache_config *cache, const symcache_key_t *key,
                 const char *name, const char *hints,
                 const symcache_version_t *version,
                 enum negcache_reason reason, const char *text,
                 unsigned seconds, int64_t uploads_changed, const char *tmp);

/*
 * Reads a negative entry from a folder, whether it is still believed or not;
 * entry->valid is not filled.  Returns false if the file is not an entry.
 */
bool negcache_read(int dir, const char *name, struct negcache_entry *entry);

/* Drops every NEGCACHE_ERROR and NEGCACHE_LOOP, because another configuration
 * may have other answers. */
void negcache_drop_errors(struct negcache *negcache);

/* Drops the entry of one version, because the file exists now.  An entry that
 * was made with hints is left, because it is not used as long as the file
 * exists. */
void negcache_drop(struct negcache *negcache, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version);

/*
 * Removes the malformed entries of a key, which turned out to be the
 * transcoder's fault: from disk, and from memory with whatever hints.  Returns
 * true if there was one.
 */
bool negcache_take_back(struct negcache *negcache,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version);

/* Drops from memory what was called malformed in a store since then.  Returns
 * the number of entries; forget_malformed.h has those on disk. */
unsigned negcache_forget_malformed(struct negcache *negcache,
                                   const struct store_config *store,
                                   time_t since);

/*
 * Do the hints of a client name the build id of the key as the module's code
 * id?  A debug file has no name where it lies by its build id, so these are the
 * modules that may be made of it.
 */
bool negcache_hints_name(const char *hints, const symcache_key_t *key);

/*
 * Drops all entries of a PDB name, or only those of one key if has_id: of a
 * build id also those in memory that were found out with it as a code id.
 * Returns how many there were; *errnum is 0, or says why there may be more in
 * files.
 */
unsigned negcache_forget(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, bool has_id, int *errnum);

unsigned negcache_errors(const struct negcache *negcache); /* in memory */
