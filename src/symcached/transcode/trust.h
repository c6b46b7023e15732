/*
 * Copyright (C) the ngx_symcache authors
 *
 * How far each transcoder is trusted: may it be run now, and are its failures
 * the fault of the files that it was given?
 *
 * Failures on different files in a row may well be the transcoder's own fault.
 * From the third on, it has to convert a good PDB, the canary, before a failure
 * is blamed on the file.  If it fails on the canary, too, then its former
 * failures of this row are no longer blamed on their files, either.
 *
 * A transcoder is paused for a while when it fails on the canary, or when it
 * fails for different files in a row without a fault of theirs.  After that,
 * one job runs it, and the end of this run decides whether it works again.
 *
 * Knows nothing of jobs and processes.  A reload forgets all of it.
 */
#ifndef SYMCACHED_TRANSCODE_TRUST_H
#define SYMCACHED_TRANSCODE_TRUST_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "base/breaker.h"
#include "config/config.h"

/* Failures in a row; the number is documented, so it is API. */
#define TRUST_ROW 3

#define TRUST_TEXT 512

/* A PDB that was called malformed, and the version that was to be made. */
struct trust_file {
    symcache_key_t key;
    symcache_version_t version;
};

/* The PDB that was converted last, as it was at that time. */
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
    unsigned running; /* jobs that run it */
    bool is_silent;  /* our converter said nothing of its last result */
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
 * Forgets the failures of the transcoders of one store; their records stay
 * valid.  With NULL, it frees the records of all transcoders.
 */
void trusts_reset(struct trusts *trusts, const struct store_config *store);

/* NULL if nothing is known of it yet. */
struct trust *trusts_find(const struct trusts *trusts,
                          const struct transcoder_config *transcoder);

/*
 * The same, but makes a new record if there is none; NULL when out of memory.
 * store and transcoder must live until all records are freed.
 */
struct trust *trusts_get(struct trusts *trusts,
                         const struct store_config *store,
                         const struct transcoder_config *transcoder);

/* Does a job run it to see whether it works again?  Others wait for that. */
bool trust_is_tried(const struct trust *trust);

/* For how many seconds more it is left alone, or 0. */
unsigned trust_left(const struct trust *trust);

/*
 * It is run now; call this only if trust_is_tried() and trust_left() allow it.
 * Returns true if the end of this run decides whether it works again; this is
 * the is_probe of the function below that is told of the end.
 */
bool trust_begins(struct trust *trust);

/* The run did not begin, or its end says nothing about the transcoder. */
void trust_ends(struct trust *trust, bool is_probe);

/* It has converted the PDB of this key, which lies at path. */
void trust_converted(struct trust *trust, const symcache_key_t *key,
                     const char *path, bool is_probe);

/* Is the file at path still the good PDB that it has converted? */
bool trust_has_good(const struct trust *trust, const char *path);

/*
 * It failed on this key by no fault of the file.  If it is left alone for that,
 * then for so many seconds.
 */
void trust_failed(struct trust *trust, const symcache_key_t *key,
                  const char *why, unsigned seconds, bool is_probe);

/* It failed on this key.  Is it to be tried on the canary? */
bool trust_needs_canary(const struct trust *trust, const symcache_key_t *key);

/* It is not: this failure is believed. version: the one to be made. */
void trust_believes(struct trust *trust, const symcache_key_t *key,
                    const symcache_version_t *version, bool is_probe);

/* It has converted the canary, so its failure is believed. */
void trust_canary_lives(struct trust *trust, const char *canary,
                        bool is_probe);

/*
 * It has failed on the canary, too, and is left alone for so many seconds.
 * This empties the row; the caller has taken back n negative entries of it
 * before.
 */
void trust_canary_dies(struct trust *trust, const char *canary,
                       const char *why, unsigned n, unsigned seconds,
                       bool is_probe);

#endif
