/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lines and columns of a script, as source maps count them: a line ends with
 * LF only, and a column is a number of units of UTF-16.
 */
#ifndef DEBUGINFO_SOURCEMAP_SCRIPT_LINES_H
#define DEBUGINFO_SOURCEMAP_SCRIPT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script_lines {
    const char *text;
    uint32_t size;
    uint32_t *starts; /* in bytes */
    size_t count;
    size_t room;
    uint32_t *units; /* before each step of bytes; NULL: all is ASCII */
};

#define SCRIPT_LINES_STEP 128

/* Looks for the lines of a text.  *lines must be freed in any case.  Returns
 * 0, or -1 when out of memory. */
int script_lines_read(struct script_lines *lines, const char *text,
                      size_t size);
void script_lines_free(struct script_lines *lines);

/* Finds the line and column, both from 0, of a byte.  Returns false if the
 * text has no such byte. */
bool script_lines_find(const struct script_lines *lines, uint32_t at,
                       uint32_t *line, uint32_t *column);

#endif
