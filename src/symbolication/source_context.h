/*
 * Copyright (C) the ngx_symcache authors
 *
 * The lines around a place in a source file, as Sentry shows them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "derived/sourcecache/sourcecache.h"
#include "text_lines.h"

#define SOURCE_CONTEXT_LINES 5 /* before the line, and after it */

/* A line, or a part of it; the text before or after the part was cut off. */
struct source_line {
    struct symc_string text;
    bool is_cut_before;
    bool is_cut_behind;
};

struct source_context {
    struct source_line lines[2 * SOURCE_CONTEXT_LINES + 1];
    unsigned before; /* lines before the line itself */
    unsigned count;  /* of all */
};

/*
 * Cuts a line of more than 150 bytes down to 140 around a column, in bytes;
 * never within a character.  The text must be UTF-8.
 */
struct source_line source_line_trim(struct symc_string line,
                                    uint32_t column);

/*
 * Finds a line of a text, from 1, and those around it, each from its
 * beginning. Line 0 is the first one.  Returns false if the text has no such
 * line.
 */
bool source_context_read(struct source_context *context,
                         struct text_lines *known,
                         const struct sourcecache_reader *reader,
                         const struct sourcecache_entry *entry, uint32_t line);

/* The same of any text. */
bool source_context_of_text(struct source_context *context,
                            struct text_lines *known, struct symc_string text,
                            uint32_t line);
