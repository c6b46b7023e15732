/*
 * Copyright (C) the ngx_symcache authors
 *
 * The quality of the PDB that a file was made from: the source that it came
 * from, and whether it has public symbols only.  This is kept in an extended
 * attribute of the file, so that it comes and goes with the file.  Where the
 * file system has no such attributes, nothing is known, and no better PDB is
 * looked for.
 */
#pragma once

#include <stdbool.h>
#include <time.h>
#include "config/config.h"
#include "proto/provenance.h"

struct provenance {
    char source[SYMCACHE_PROVENANCE_SOURCE + 1];
    symcache_extent_e extent;
    time_t checked; /* when better sources were last asked */
    unsigned features; /* what the original has, a set of proto/kind.h; 0: not
                          known */
    unsigned builder;  /* of our converter that made the file; 0: not known */
    bool is_incomplete; /* it lacks names or lines of another original */
};

/* Returns false if nothing is known of the file. */
bool provenance_read(const char *file, struct provenance *provenance);

/* Is it known to lack names or lines of another original? */
bool provenance_is_incomplete(const char *file);

void provenance_write(const char *file, const struct provenance *provenance);

/* Notes where the original of a new file came from. */
void provenance_note(const char *file, const char *source,
                     symcache_extent_e extent, unsigned features);

/* Notes that our converter, as it is now, made a file of which the source is
 * known; or if it is to be made anew later, that an earlier one did. */
void provenance_note_builder(const char *file, bool is_to_be_made_anew,
                             bool is_incomplete);

/* Notes where the original of a file was looked for, a text of at most
 * SYMCACHE_PLACES_MAX bytes (proto/provenance.h). */
void provenance_note_places(const char *file, const char *places);

/* The file `to` is made from the file `from`: copies the source and places
 * noted for that, if there are any. */
void provenance_copy(const char *from, const char *to);

/* Does the file have all symbols, while an original of this extent has not? */
bool provenance_is_fuller(const char *file, symcache_extent_e extent);

/*
 * Does the file stay because it has all symbols, while this source has public
 * symbols only?  Then this source and those after it are not better than the
 * file, which is noted: otherwise the same PDB would be fetched again.
 */
bool provenance_keeps(const char *file, const char *source,
                      symcache_extent_e extent);

/* The number of sources, from the first one on, that are better. */
size_t provenance_better(const struct provenance *provenance,
                         const struct store_config *store);
