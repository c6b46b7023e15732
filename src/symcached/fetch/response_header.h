/*
 * Copyright (C) the ngx_symcache authors
 *
 * A header line of an answer as libcurl hands it over.
 */
#ifndef SYMCACHED_FETCH_RESPONSE_HEADER_H
#define SYMCACHED_FETCH_RESPONSE_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * If line is "name: value", writes value to buf, cut to size, with "?" for
 * each byte outside printable ASCII, and returns true.
 */
bool response_header_value(const char *line, size_t len, const char *name,
                           char *buf, size_t size);

#endif
