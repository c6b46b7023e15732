/*
 * Copyright (C) the ngx_symcache authors
 *
 * How good the PDB is that a file was made from: which source it came from,
 * and whether it has public symbols only.  Beside the file as an extended
 * attribute, so that it comes and goes with the file; where the file system
 * has none, nothing is known and nothing is bettered.
 */
#ifndef SYMCACHED_STORE_PROVENANCE_H
#define SYMCACHED_STORE_PROVENANCE_H

#include <stdbool.h>
#include <time.h>
#include "config/config.h"

#define PROVENANCE_SOURCE_MAX 96 /* with the number in a symbol path */

struct provenance {
    char source[PROVENANCE_SOURCE_MAX + 1];
    bool publics_only;
    time_t checked; /* when better sources were asked last */
};

/* Returns false if nothing is known of the file. */
bool provenance_read(const char *file, struct provenance *provenance);

void provenance_write(const char *file, const struct provenance *provenance);

/* A file that has just been made of what a source had. */
void provenance_note(const char *file, const char *source, bool publics_only);

/* A file that is made of another one now, of which all is known, or nothing.
 */
void provenance_copy(const char *from, const char *to);

/*
 * Does the file stay, having all symbols, where this source has public symbols
 * only?  Then neither this source nor worse ones are better any more: to ask
 * it again would mean to receive the same again.
 */
bool provenance_keeps(const char *file, const char *source, bool publics_only);

/* The sources of the store that are better: so many, the first ones. */
size_t provenance_better(const struct provenance *provenance,
                         const struct store_config *store);

#endif
