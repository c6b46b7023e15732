/*
 * Copyright (C) the ngx_symcache authors
 *
 * How good the PDB is that a file was made from: which source it came from,
 * and whether it has public symbols only.  Beside the file as an extended
 * attribute, so that it comes and goes with the file; where the file system
 * has none, nothing is known and nothing is bettered.
 */
#ifndef SYMCACHED_QUALITY_H
#define SYMCACHED_QUALITY_H

#include <stdbool.h>
#include <time.h>
#include "config.h"

#define QUALITY_SOURCE_MAX 96 /* with the number in a symbol path */

struct quality {
    char source[QUALITY_SOURCE_MAX + 1];
    bool publics_only;
    time_t checked; /* when better sources were asked last */
};

/* Returns false if nothing is known of the file. */
bool quality_read(const char *file, struct quality *quality);

void quality_write(const char *file, const struct quality *quality);

/* A file that has just been made of what a source had. */
void quality_note(const char *file, const char *source, bool publics_only);

/* A file that is made of another one now, of which all is known, or nothing.
 */
void quality_copy(const char *from, const char *to);

/*
 * Does the file stay, having all symbols, where this source has public symbols
 * only?  Then neither this source nor worse ones are better any more: to ask
 * it again would mean to receive the same again.
 */
bool quality_keeps(const char *file, const char *source, bool publics_only);

/* The sources of the store that are better: so many, the first ones. */
size_t quality_better(const struct quality *quality,
                      const struct store_config *store);

#endif
