/*
 * Copyright (C) the ngx_symcache authors
 *
 * Spellings of a PDB name that were looked for.  The cache compares names
 * without case, and some sources do not: what is absent there in one spelling
 * may be there in another.  All are looked for in lower case, too, which
 * therefore is in no list.
 */
#ifndef SYMCACHED_NEGCACHE_NAME_VARIANTS_H
#define SYMCACHED_NEGCACHE_NAME_VARIANTS_H

#include <stdbool.h>
#include "config/config.h"

#define NAME_VARIANTS_MAX                                                     \
    4 /* in a list: what one key may cost until its time */

/* Names parted by "/", which no name has; "" is the empty list. */
struct name_variants {
    char text[NAME_VARIANTS_MAX * (SYMCACHE_NAME_MAX + 1) + 1];
};

/* Can this spelling be found where the one in lower case is not? */
bool name_variants_counts(const struct store_config *store, const char *name);

bool name_variants_listed(const struct name_variants *list, const char *name);
bool name_variants_full(const struct name_variants *list);

/* Adds a name, if it is not in the list and there is room. */
void name_variants_add(struct name_variants *list, const char *name);

#endif
