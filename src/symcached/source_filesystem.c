/*
 * Copyright (C) the ngx_symcache authors
 *
 * A directory in the layout of symstore.
 */
#include <stdio.h>

#include "lookup.h"

void source_filesystem_begin(struct lookup *lookup)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    char rel[2 * SYMCACHE_NAME_MAX + SYMCACHE_ID_TEXT_MAX + 3];

    symcache_id_print(id, &lookup->key);
    snprintf(rel, sizeof(rel), "%s/%s/%s", lookup->key.name, id,
             lookup->key.name);

    lookup->resume = lookup_end;
    lookup_tree(lookup, lookup->source->path, rel, false);
}
