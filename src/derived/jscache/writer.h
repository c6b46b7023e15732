/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes a JsCache: first its files, then rows for all tokens of the map.
 */
#pragma once

#include "derived/symcache/symcache.h"
#include "format.h"

/* A token of a map.  Names and scopes are offsets of jscache_writer_text(), or
 * the values of format.h. */
struct jscache_row {
    uint32_t minified_line;
    uint32_t minified_column;
    uint32_t file;
    uint32_t line;
    uint32_t column;
    uint32_t name;
    uint32_t scope;
};

struct jscache_writer {
    struct symc_string_table strings; /* refers to all texts */
    uint8_t *files;              /* records as they are written */
    size_t num_files;
    size_t file_room;
    uint32_t *lines;
    size_t num_lines;
    size_t line_room;
    uint32_t *ignored;
    size_t num_ignored;
    size_t ignored_room;
};

void jscache_writer_init(struct jscache_writer *writer);
void jscache_writer_free(struct jscache_writer *writer);

/* Adds a file.  Both texts must stay where they are until the end; the second
 * one is absent if its data is NULL. */
enum symc_status jscache_writer_file(struct jscache_writer *writer,
                                     struct symc_string name,
                                     struct symc_string text, bool is_ignored);

/* Returns the offset of a text, which must stay where it is until the end. */
enum symc_status jscache_writer_text(struct jscache_writer *writer,
                                     struct symc_string text,
                                     uint32_t *offset);

/*
 * Writes the file.  Rows must not descend.  A row that is equal to the one
 * before it in all but the place is left out if it is of the same line; rows
 * are moved for that.
 */
enum symc_status jscache_writer_finish(struct jscache_writer *writer,
                                       struct jscache_row *rows, size_t n,
                                       const struct symc_sink *sink);
