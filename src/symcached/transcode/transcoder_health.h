/*
 * Copyright (C) the ngx_symcache authors
 *
 * How far each transcoder is trusted: may it be run now, and are its failures
 * the fault of the files that it was given?
 *
 * Failures on different files in a row may well be the transcoder's own fault.
 * From the third on, it has to convert a good PDB, the canary, before a
 * failure is blamed on the file.  If it fails on the canary, too, then its
 * former failures of this row are no longer blamed on their files, either.
 *
 * A transcoder is paused for a while when it fails on the canary, or when it
 * fails for different files in a row without a fault of theirs.  After that,
 * one job runs it, and the end of this run decides whether it works again.
 *
 * Knows nothing of jobs and processes.  A reload forgets all of it.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "base/breaker.h"
#include "config/config.h"

/* Failures in a row; the number is documented, so it is API. */
#define TRUST_ROW 3

#define TRUST_TEXT 512

/* A PDB that was called malformed, and the version that was to be made. */
struct transcoder_health_file {
    symcache_key_t key;
    symcache_version_t version;
};

/* The PDB that was converted last, as it was at that time. */
struct transcoder_health_good {
    bool is_known;
    symcache_key_t key;
    dev_t device;
    ino_t inode;
    off_t size;
};

struct transcoder_health {
    SLIST_ENTRY(transcoder_health) next;
    const struct store_config *store;
    const struct transcoder_config *transcoder;
    struct breaker breaker;
    struct transcoder_health_file
        row[TRUST_ROW - 1]; /* believed to be malformed */
    size_t nrow;
    unsigned running; /* jobs that run it */
    bool is_silent;   /* our converter said nothing of its last result */
    bool is_doubted;  /* failed on the canary, and converted nothing since */
    unsigned lies;    /* times that it failed on the canary */
    bool has_faulty;
    symcache_key_t faulty; /* of the latest failure that was no file's fault */
    struct transcoder_health_good good;
    char failure[TRUST_TEXT]; /* why it is left alone */
};

struct transcoder_healths;

struct transcoder_healths *
transcoder_healths_new(void); /* NULL when out of memory */
void transcoder_healths_free(struct transcoder_healths *healths);

/*
 * Forgets the failures of the transcoders of one store; their records stay
 * valid.  With NULL, it frees the records of all transcoders.
 */
void transcoder_healths_reset(struct transcoder_healths *healths,
                              const struct store_config *store);

/* NULL if nothing is known of it yet. */
struct transcoder_health *
transcoder_healths_find(const struct transcoder_healths *healths,
                        const struct transcoder_config *transcoder);

/*
 * The same, but makes a new record if there is none; NULL when out of memory.
 * store and transcoder must live until all records are freed.
 */
struct transcoder_health *
transcoder_healths_get(struct transcoder_healths *healths,
                       const struct store_config *store,
                       const struct transcoder_config *transcoder);

/* Does a job run it to see whether it works again?  Others wait for that. */
bool transcoder_health_is_tried(const struct transcoder_health *health);

/* For how many seconds more it is left alone, or 0. */
unsigned transcoder_health_left(const struct transcoder_health *health);

/*
 * It is run now; call this only if transcoder_health_is_tried() and
 * transcoder_health_left() allow it. Returns true if the end of this run
 * decides whether it works again; this is the is_probe of the function below
 * that is told of the end.
 */
bool transcoder_health_begins(struct transcoder_health *health);

/* The run did not begin, or its end says nothing about the transcoder. */
void transcoder_health_ends(struct transcoder_health *health, bool is_probe);

/* It has converted the PDB of this key, which lies at path. */
void transcoder_health_converted(struct transcoder_health *health,
                                 const symcache_key_t *key, const char *path,
                                 bool is_probe);

/* Is the file at path still the good PDB that it has converted? */
bool transcoder_health_has_good(const struct transcoder_health *health,
                                const char *path);

/*
 * It failed on this key by no fault of the file.  If it is left alone for
 * that, then for so many seconds.
 */
void transcoder_health_failed(struct transcoder_health *health,
                              const symcache_key_t *key, const char *why,
                              unsigned seconds, bool is_probe);

/* It failed on this key.  Is it to be tried on the canary? */
bool transcoder_health_needs_canary(const struct transcoder_health *health,
                                    const symcache_key_t *key);

/* It is not: this failure is believed. version: the one to be made. */
void transcoder_health_believes(struct transcoder_health *health,
                                const symcache_key_t *key,
                                const symcache_version_t *version,
                                bool is_probe);

/* It has converted the canary, so its failure is believed. */
void transcoder_health_canary_lives(struct transcoder_health *health,
                                    const char *canary, bool is_probe);

/*
 * It has failed on the canary, too, and is left alone for so many seconds.
 * This empties the row; the caller has taken back n negative entries of it
 * before.
 */
void transcoder_health_canary_dies(struct transcoder_health *health,
                                   const char *canary, const char *why,
                                   unsigned n, unsigned seconds,
                                   bool is_probe);
