/*
 * Copyright (C) the ngx_symcache authors
 *
 * A header line of an answer as libcurl hands it over.
 */
#ifndef BASE_HEADER_LINE_H
#define BASE_HEADER_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * If line is "name: value", writes value to buf, cut to size, with "?" for
 * each byte outside printable ASCII, and returns true.
 */
bool header_line_value(const char *line, size_t len, const char *name,
                       char *buf, size_t size);

#endif
