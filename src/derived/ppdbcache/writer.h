/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a PpdbCache.  The output is byte for byte what the "symbolic" library
 * writes for the same input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"

struct ppdbcache_file {
    uint32_t name; /* string offset */
    uint32_t language;
};

/* Where in the source the code of a method is, from an offset of it on. */
struct ppdbcache_point {
    uint32_t method; /* row in MethodDef, from 1 */
    uint32_t il;
    uint32_t line;
    uint32_t file;
};

/* Must be all zero at the beginning. */
struct ppdbcache_writer {
    struct symc_string_table strings;
    struct table file_table; /* by name and language: index + 1 */
    struct ppdbcache_file *files;
    size_t num_files;
    size_t file_room;
    struct ppdbcache_point *points;
    size_t num_points;
    size_t point_room;
    bool is_unsorted;
};

struct ppdbcache_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t stamp;
};

void ppdbcache_writer_free(struct ppdbcache_writer *writer);

/* Adds a file unless there is one of this name and language; *file becomes its
 * index.  Bytes that are not UTF-8 become U+FFFD. */
enum symc_status ppdbcache_writer_file(struct ppdbcache_writer *writer,
                                       const char *name, size_t size,
                                       uint32_t language, uint32_t *file);

/* Adds a point.  Of those of one method and offset the last one counts; it is
 * fastest when they ascend. */
enum symc_status ppdbcache_writer_point(struct ppdbcache_writer *writer,
                                        const struct ppdbcache_point *point);

/* Ends the input and writes the file; an identity of NULL is none.  Afterwards
 * the writer can only be freed. */
enum symc_status
ppdbcache_writer_finish(struct ppdbcache_writer *writer,
                        const struct ppdbcache_identity *identity,
                        const struct symc_sink *sink);
