/*
 * Copyright (C) the ngx_symcache authors
 *
 * The spellings in which a PDB name was looked for.  The cache compares names
 * without case, but some sources do not: a file that is absent there under one
 * spelling may exist under another.  The spelling in lower case is always
 * looked for, too, so lists do not contain it.
 */
#pragma once

#include <stdbool.h>
#include "config/config.h"

/* For each key, so that clients cannot cause any number of lookups. */
#define NAME_VARIANTS_MAX 4

/* Names separated by "/", which no name contains; "" is the empty list. */
struct name_variants {
    char text[NAME_VARIANTS_MAX * (SYMCACHE_NAME_MAX + 1) + 1];
};

/*
 * Could a file be found under this spelling but not under that in lower case?
 */
bool name_variants_counts(const struct store_config *store, const char *name);

bool name_variants_listed(const struct name_variants *list, const char *name);
bool name_variants_full(const struct name_variants *list);

/* Adds a name, unless the list has it already or is full. */
void name_variants_add(struct name_variants *list, const char *name);
