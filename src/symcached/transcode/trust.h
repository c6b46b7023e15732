/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is thought of each transcoder: may it be run now, and are its failures
 * those of the files that it was given?
 *
 * Failures on different files in a row may well be its own.  From the third
 * on it has to convert a good PDB, the canary, before a failure is believed
 * to be the file's.  If it cannot, what it said before in this row is not
 * believed any more, either.
 *
 * It is left alone for a while when it fails on the canary, or says for
 * different files in a row that it is not their fault; then one job runs it,
 * and the end of that decides.
 *
 * Knows nothing of jobs and processes; all is forgotten with a reload.
 */
#ifndef SYMCACHED_TRANSCODE_TRUST_H
#define SYMCACHED_TRANSCODE_TRUST_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "base/breaker.h"
#include "config/config.h"

/* files in a row; API by its description */
#define TRUST_ROW 3

#define TRUST_TEXT 512

/* What was called malformed, and of which version of SymCache. */
struct trust_file {
    symcache_key_t key;
    symcache_version_t version;
};

/* A PDB that was converted, while it lies where it lay then. */
struct trust_good {
    bool is_known;
    symcache_key_t key;
    dev_t device;
    ino_t inode;
    off_t size;
};

struct trust {
    SLIST_ENTRY(trust) next;
    const struct store_config *store;
    const struct transcoder_config *transcoder;
    struct breaker breaker;
    struct trust_file row[TRUST_ROW - 1]; /* believed to be malformed */
    size_t nrow;
    bool is_doubted; /* failed on the canary, and converted nothing since */
    unsigned lies;   /* times that it failed on the canary */
    bool has_faulty;
    symcache_key_t faulty; /* of the latest failure that was no file's fault */
    struct trust_good good;
    char failure[TRUST_TEXT]; /* why it is left alone */
};

struct trusts;

struct trusts *trusts_new(void); /* NULL when out of memory */
void trusts_free(struct trusts *trusts);

/*
 * Forgets what is thought of the transcoders of one store, which stay known,
 * or, with NULL, all of them.
 */
void trusts_reset(struct trusts *trusts, const struct store_config *store);

/* NULL if nothing is known of it yet. */
struct trust *trusts_find(const struct trusts *trusts,
                          const struct transcoder_config *transcoder);

/*
 * The same, but a new one then; NULL when out of memory.  Both must live until
 * trusts_reset(NULL).
 */
struct trust *trusts_get(struct trusts *trusts,
                         const struct store_config *store,
                         const struct transcoder_config *transcoder);

/* Does a job run it to see whether it works again?  Others wait for that. */
bool trust_is_tried(const struct trust *trust);

/* Seconds that it is left alone, or 0. */
unsigned trust_left(const struct trust *trust);

/*
 * It is run now, neither tried nor left alone.  Returns true if the end of
 * this run decides; it is then to be given to trust_ends() or one of the
 * others as is_probe.
 */
bool trust_begins(struct trust *trust);

/* The run did not come about, or its end says nothing. */
void trust_ends(struct trust *trust, bool is_probe);

/* It has converted the PDB of this key, which lies at path. */
void trust_converted(struct trust *trust, const symcache_key_t *key,
                     const char *path, bool is_probe);

/* Is the good PDB still the one that it has converted?  path is where. */
bool trust_has_good(const struct trust *trust, const char *path);

/* It failed on this key by no fault of the file; seconds are of the pause. */
void trust_failed(struct trust *trust, const symcache_key_t *key,
                  const char *why, unsigned seconds, bool is_probe);

/* It failed on this key.  Is it to be tried on the canary? */
bool trust_needs_canary(const struct trust *trust, const symcache_key_t *key);

/* If not, this failure is believed; version is what was to be made. */
void trust_believes(struct trust *trust, const symcache_key_t *key,
                    const symcache_version_t *version, bool is_probe);

/* It has converted the canary: so is this failure. */
void trust_canary_lives(struct trust *trust, const char *canary,
                        bool is_probe);

/*
 * It has failed on the canary, too, and is left alone for so many seconds.
 * The caller takes back what is in the row, n of them, which is empty then.
 */
void trust_canary_dies(struct trust *trust, const char *canary,
                       const char *why, unsigned n, unsigned seconds,
                       bool is_probe);

#endif
