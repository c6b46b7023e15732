/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source Link: where on the web the source files of a PDB are.  It is a JSON
 * text that maps paths, or beginnings of paths, to URLs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "debuginfo/failure.h"

struct source_link {
    struct symc_text pattern;
    struct symc_text url;
    uint32_t text; /* which text it is from; later ones count more */
};

/* All zero at first. */
struct source_links {
    struct source_link *links;
    size_t count;
    size_t room;
    char **texts; /* the JSON, one for each row */
    size_t num_texts;
    size_t text_room;
    size_t bytes; /* of all texts */
};

void source_links_free(struct source_links *links);

/* Adds the links of a JSON text, {"documents": {pattern: url, ...}}.  Returns
 * 0, or -1 with failure set. */
int source_links_add(struct source_links *links, const void *json, size_t size,
                     struct failure *failure);
