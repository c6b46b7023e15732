/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a SourceCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.  What is
 * out of bounds is absent; verify.c reports such errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

enum sourcecache_part {
    SOURCECACHE_ENTRIES,
    SOURCECACHE_PATHS,
    SOURCECACHE_URLS,
    SOURCECACHE_IDS,
    SOURCECACHE_LINKS,
    SOURCECACHE_ATTRIBUTES,
    SOURCECACHE_MARKS,
    SOURCECACHE_STRINGS,
    SOURCECACHE_PARTS
};

struct sourcecache_reader {
    const uint8_t *data;
    size_t size;
    size_t at[SOURCECACHE_PARTS]; /* offsets at which the parts begin */
    uint32_t count[SOURCECACHE_PARTS];
    uint32_t flags;
};

/* The type of a file, from the source bundle. */
enum sourcecache_type {
    SOURCECACHE_ANY, /* it does not say, which counts as source */
    SOURCECACHE_SOURCE,
    SOURCECACHE_MINIFIED,
    SOURCECACHE_MAP,
    SOURCECACHE_RAM_BUNDLE,
    SOURCECACHE_TYPES
};

/* Why a file has no text. */
enum sourcecache_status {
    SOURCECACHE_TEXT,
    SOURCECACHE_MISSING,  /* the bundle has no such member */
    SOURCECACHE_DAMAGED,  /* its size or checksum is wrong */
    SOURCECACHE_NOT_UTF8,
    SOURCECACHE_TOO_LARGE,
    SOURCECACHE_LINKED, /* it is in no bundle, but its URL leads to it */
    SOURCECACHE_STATUSES
};

/* Strings without data are absent. */
struct sourcecache_entry {
    enum sourcecache_type type;
    enum sourcecache_status status;
    struct symc_string text; /* UTF-8; without data unless the status is
                                 * SOURCECACHE_TEXT */
    uint32_t lines;
    uint32_t mark;              /* for sourcecache_block() */
    const uint8_t *sha256;      /* of the text, 32 bytes */
    struct symc_string name; /* of the member in the bundle */
    struct symc_string path; /* as the bundle writes them */
    struct symc_string url;
    struct symc_string map; /* reference to a source map: from a header,
                             * or the comment in the text */
};

/* Does a file begin as a SourceCache does? */
bool sourcecache_sniff(const uint8_t *data, size_t size);

/* Opens a SourceCache in memory, which must stay there while the reader is
 * used.  On failure the reader is unchanged and error explains why. */
enum symc_reader_status
sourcecache_reader_open(struct sourcecache_reader *reader, const void *data,
                        size_t size, char *error, size_t error_size);

/* Reads a string of the section of strings, where it is stored at p. */
struct symc_string sourcecache_string(const struct sourcecache_reader *r,
                                         const uint8_t *p);

/* Where a record of a part is; its index must be below the part's count. */
const uint8_t *sourcecache_record(const struct sourcecache_reader *r,
                                  enum sourcecache_part part, uint32_t index);

/* Reads the entry with an index; false: there is none. */
bool sourcecache_reader_entry(const struct sourcecache_reader *reader,
                              uint32_t index, struct sourcecache_entry *entry);

/*
 * Find an entry by its path, with \ and / as one in source bundles and Windows
 * PDBs, and without case in these; by its URL, as it is written; by the debug
 * id in its headers and its type.  They return false if there is none.
 */
bool sourcecache_find_path(const struct sourcecache_reader *reader,
                           const char *path, size_t size,
                           struct sourcecache_entry *entry);
bool sourcecache_find_url(const struct sourcecache_reader *reader,
                          const char *url, size_t size,
                          struct sourcecache_entry *entry);
bool sourcecache_find_id(const struct sourcecache_reader *reader,
                         const uint8_t guid[16], uint32_t age,
                         enum sourcecache_type type,
                         struct sourcecache_entry *entry);

/*
 * Writes the URL that the links have for a path to url[0..room), without a NUL.
 * Returns its size, which is more than room if it does not fit; 0: there is
 * none.  It is a stranger's: whoever asks for it checks it.
 */
size_t sourcecache_link(const struct sourcecache_reader *reader,
                        const char *path, size_t size, char *url, size_t room);

/*
 * Finds a part of a text that has a line, from 1, and the 32 lines behind it,
 * as far as there are so many; *line becomes its number in that part.  Returns
 * false if there is no such line.
 */
bool sourcecache_block(const struct sourcecache_reader *reader,
                       const struct sourcecache_entry *entry, uint32_t *line,
                       struct symc_string *block);

/*
 * Finds up to count lines of a text, the first of which has the number first,
 * from 1, and returns how many there are.  They end in front of LF or CR LF.
 */
unsigned sourcecache_text_lines(const char *text, size_t size, uint32_t first,
                                unsigned count, struct symc_string *lines);

/*
 * Checks whether a SourceCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 *
 * Checks every entry, that all texts and strings are UTF-8, the marks of their
 * lines, that keys ascend and name entries, and the order of links.  Takes time
 * proportional to the size of the file, and no memory.  Writes the first
 * violation to error.
 */
enum symc_verify_status
sourcecache_verify(const struct sourcecache_reader *reader, char *error,
                   size_t error_size);
