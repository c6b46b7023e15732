/*
 * Copyright (C) the ngx_symcache authors
 *
 * A directory in one of the layouts, whose names are compared without case.
 */
#include "lookup.h"

void source_filesystem_begin(struct lookup *lookup)
{
    struct layout_place places[LAYOUT_PLACES];
    struct lookup_tree tree = {.root = lookup->source->path,
                               .flat = lookup->source->layout == LAYOUT_FLAT};
    size_t i;

    tree.nplaces = layout_places(places, lookup->source, &lookup->key,
                                 lookup->name, &tree.ntiers);
    for (i = 0; i < tree.nplaces; i++) {
        tree.places[i] = places[i].path;
    }

    if (tree.flat) {
        tree.places[0] = "*.pdb";
    }

    lookup->resume = lookup_end;
    lookup_tree(lookup, &tree);
}
