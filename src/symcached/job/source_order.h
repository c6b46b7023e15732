/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which source of a store a job asks next.  Sources are asked in the order of
 * the store, once for the version that the job is to make and then for lower
 * ones: a SymCache server gives the version of its configuration, and an
 * original gives what the store's transcoder of its format makes of it.  At
 * the end, if no source failed, they are asked in spellings that they never
 * had.
 *
 * Knows nothing of lookups.
 */
#pragma once

#include <stdbool.h>
#include "config/config.h"

/* Stands for the transcoder of an original, of which nothing is made. */
extern const struct transcoder_config order_original;

/* Sources of a store that are first asked in the spellings that they have had,
 * and in the others when all were asked. */
#define ORDER_VARIANTS 16

struct source_order {
    const struct store_config *store;
    const symcache_key_t *key;
    const symcache_version_t *target;
    const struct transcoder_config *transcoders[FORMATS]; /* of originals of
                                                             each format, or
                                                             NULL */
    unsigned formats;  /* of originals that lead to the target */
    uint64_t absent;   /* a bit for each source that has no such original */
    uint64_t left_out; /* likewise, of which some spellings were not asked */
    uint8_t variants[ORDER_VARIANTS]; /* those that were, of the first ones */
    bool is_last;   /* spellings that a source has never had are asked now */
    bool is_unsure; /* a source failed: it comes to no absence */
    symcache_version_t on_disk; /* the best on disk that serves the same */
    bool has_on_disk;
    bool not_newer; /* a source was left out: no newer than what is on disk */
    unsigned next;
    unsigned end; /* how many sources, the first ones, are asked */
    unsigned pass;
    bool debug_files; /* no SymCaches: their contents are not known */
};

/* All of them must live as long as the order. */
void source_order_begin(struct source_order *order,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const struct transcoder_config *target);

/* Returns the source to ask next, or NULL when all were given. */
const struct source_config *source_order_next(struct source_order *order);

/*
 * Is there a source that can lead to a version: a SymCache server, or one of
 * originals that a transcoder takes?
 */
bool source_order_has_way(const struct store_config *store,
                          const symcache_key_t *key,
                          const symcache_version_t *target);

/* Notes that a source has no such original, so that it is not asked again. */
void source_order_absent(struct source_order *order,
                         const struct source_config *source);

/*
 * In which spellings a source is asked, if `had` are those in which it has
 * answered: a set of source/layout.h.  That is kept for its second turn.
 */
unsigned source_order_variants(struct source_order *order,
                               const struct source_config *source,
                               unsigned had);

/* Notes that a source was not asked in all spellings.  It gets a second turn
 * after all others, unless one of them fails. */
void source_order_left_out(struct source_order *order,
                           const struct source_config *source);

/* Begins again with the first source, and looks again at what is on disk. */
void source_order_rewind(struct source_order *order);
