/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a SourceCache.  Texts are written as they come; all else is kept until
 * the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "reader.h"

/* A file that is added.  Strings of a size of 0 are absent; the path and the
 * URL are by what it is found. */
struct sourcecache_file {
    enum sourcecache_type type;
    struct symc_text name;
    struct symc_text path;
    struct symc_text url;
    struct symc_text map;
    bool has_id;
    uint8_t guid[16];
    uint32_t age;
};

struct sourcecache_part_data {
    uint8_t *data;
    size_t size;
    size_t room;
};

/* Must be all zero at the beginning. */
struct sourcecache_writer {
    const struct symc_sink *sink;
    uint64_t written;
    uint32_t flags;
    struct sourcecache_part_data parts[SOURCECACHE_PARTS];
    uint32_t counts[SOURCECACHE_PARTS];
};

/* The id of the module; all zero, if it has none. */
struct sourcecache_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
};

void sourcecache_writer_free(struct sourcecache_writer *writer);

/* Begins the file; flags: SOURCECACHE_SLASHES, SOURCECACHE_FOLDS (format.h). */
enum symc_status
sourcecache_writer_begin(struct sourcecache_writer *writer,
                         const struct sourcecache_identity *identity,
                         uint32_t flags, const struct symc_sink *sink);

/*
 * Adds a file, whose text is missing until it is written; its index is the
 * number of those before it.  Of those with one path, URL, or debug id and
 * type, the last one is found.
 */
enum symc_status
sourcecache_writer_file(struct sourcecache_writer *writer,
                        const struct sourcecache_file *file);

/*
 * Writes the text of a file, at most SOURCECACHE_TEXT_MAX bytes.  Is it not
 * UTF-8, the file gets that as its status instead.
 */
enum symc_status sourcecache_writer_text(struct sourcecache_writer *writer,
                                            uint32_t file, const char *text,
                                            size_t size);

/* Has a file a text? */
bool sourcecache_writer_has_text(const struct sourcecache_writer *writer,
                                 uint32_t file);

/* Says why a file has no text. */
void sourcecache_writer_status(struct sourcecache_writer *writer,
                               uint32_t file, enum sourcecache_status status);

/* Sets the reference to the source map of a file that has none. */
enum symc_status sourcecache_writer_map(struct sourcecache_writer *writer,
                                           uint32_t file, const char *map,
                                           size_t size);

/* Adds a pattern of paths, which is a prefix if it ends with *, and its URL. */
enum symc_status
sourcecache_writer_link(struct sourcecache_writer *writer,
                        const struct symc_text *pattern,
                        const struct symc_text *url);

enum symc_status
sourcecache_writer_attribute(struct sourcecache_writer *writer,
                             const struct symc_text *name,
                             const struct symc_text *value);

/* Ends the file.  Afterwards the writer can only be freed. */
enum symc_status
sourcecache_writer_finish(struct sourcecache_writer *writer);
