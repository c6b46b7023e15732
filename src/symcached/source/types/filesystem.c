/*
 * Copyright (C) the ngx_symcache authors
 *
 * A directory in one of the layouts, whose names are compared without case.
 */
#include "symcached/source/lookup_steps.h"
#include "symcached/source/uploads.h"

#include <string.h>
#include <strings.h>

static bool filesystem_is_pdb(const char *name)
{
    size_t len = strlen(name);

    return len >= 4 && strcasecmp(name + len - 4, ".pdb") == 0;
}

static void begin_filesystem(struct lookup *lookup)
{
    const struct source_config *source = lookup->source;
    struct layout_place places[LAYOUT_PLACES];
    struct lookup_dir dir = {.root = source->path,
                             .flat = source->layout == LAYOUT_FLAT};
    size_t i, n;

    if (symcache_key_is_url(&lookup->key)) {
        bundle_list_begin(lookup);
        return;
    }
    n = layout_places(places, source, &lookup->at, lookup->name, &dir.index2);
    if (dir.flat) {
        /* stands for all PDBs, whatever their names */
        dir.places[dir.nplaces++] = "*.pdb";
    }
    for (i = 0; i < n; i++) {
        if (!dir.flat || places[i].form != FORM_PLAIN ||
            !filesystem_is_pdb(lookup->name)) {
            dir.places[dir.nplaces++] = places[i].path;
        }
    }

    lookup->resume = config_source_is_uploads(source) ? uploads_go_on
                                                      : lookup_end;
    lookup_dir(lookup, &dir);
}

const struct source_type source_filesystem = {
    .name = "filesystem",
    .shared = SOURCE_KEYS_PATH | SOURCE_KEYS_LAYOUT | SOURCE_KEYS_MAP,
    .place = "path",
    .any_case = true,
    .begin = begin_filesystem,
};
