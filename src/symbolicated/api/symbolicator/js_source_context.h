/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lines of source code around places of scripts and of their originals.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_SOURCE_CONTEXT_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_SOURCE_CONTEXT_H

#include "symbolication/js/js.h"
#include "symbolication/symbolication.h"

/* Whole lines around one, which is there if there are more than before it. */
struct js_lines {
    struct symc_string lines[2 * SOURCE_CONTEXT_LINES + 1];
    unsigned before;
    unsigned count; /* of all */
};

/* Those around a line of a file of a map, whose text the map has; line from
 * 0. */
void js_lines_of_map(struct js_lines *lines,
                     const struct jscache_reader *reader, uint32_t file,
                     uint32_t line);

/* Cuts the lines for an answer.  Returns false if there is none to tell. */
bool js_lines_trim(const struct js_lines *lines, uint32_t column,
                   struct source_context *context);

/* Frames of a script often have the same line, which may be all of it. */
struct js_lines_cache {
    struct js_lines_item {
        struct symc_string text; /* no data: nothing yet */
        uint32_t line;
        struct js_lines lines;
    } items[8];
};

/* The same of a text, line from 1.  The texts must not change as long as the
 * cache is used, and have data; it is all zero at first. */
const struct js_lines *js_lines_cached(struct js_lines_cache *cache,
                                       struct symc_string text, uint32_t line);

#endif
