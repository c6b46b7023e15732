/*
 * Copyright (C) the ngx_symcache authors
 *
 * Line mappings of Unity's il2cpp, which makes C++ of C#: JSON,
 *
 *   {"<C++ path>": {"<C# path>": {"<C++ line>": <C# line>}},
 *    "__debug-id__": {...}}
 *
 * as sentry-cli writes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

#define LINE_MAPPING_SIZE_MAX (512u << 20) /* bytes of a file */

struct line_mapping;

/* Is it one, as sentry-cli writes it: with the ids of its debug files? */
bool line_mapping_sniff(const uint8_t *data, size_t size);

/* Finds the first of these ids, a text of *length bytes; or NULL. */
const char *line_mapping_id(const uint8_t *data, size_t size, size_t *length);

/* Reads one.  Returns NULL with a sentence in error. */
struct line_mapping *line_mapping_open(const uint8_t *data, size_t size,
                                       char *error, size_t error_size);
void line_mapping_close(struct line_mapping *mapping); /* NULL is allowed */

/*
 * The C# file of a line of a C++ file, and its line: that of the last mark at
 * or above the line, if it is at most 50 lines above.  Returns NULL if there
 * is none.
 */
struct symc_source *line_mapping_find(struct line_mapping *mapping,
                                      const char *path, size_t path_size,
                                      uint32_t *line);
