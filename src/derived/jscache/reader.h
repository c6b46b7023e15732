/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a JsCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.  Strings
 * that are out of bounds are absent; verify.c reports such errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "format.h"

struct jscache_reader {
    const uint8_t *data;
    size_t size;
    uint32_t num_positions;
    uint32_t num_files;
    uint32_t num_lines;
    uint32_t string_bytes;
    uint32_t num_ignored;
    size_t positions; /* offsets at which the parts begin */
    size_t mappings;
    size_t files;
    size_t lines;
    size_t strings;
    size_t ignored;
};

enum jscache_scope {
    JSCACHE_SCOPE_NONE,      /* outside of all functions, or not known */
    JSCACHE_SCOPE_ANONYMOUS, /* in a function without a name */
    JSCACHE_SCOPE_NAMED
};

/* The original of a place in the minified text. */
struct jscache_token {
    uint32_t minified_line; /* where the token begins in the minified text */
    uint32_t minified_column;
    uint32_t file;           /* an index, or JSCACHE_NONE */
    uint32_t line;           /* of the original, from 0; 2^32 - 1: see file */
    uint32_t column;         /* from 0, in units of UTF-16 */
    struct symc_string name; /* that the map gives the token; or absent */
    enum jscache_scope scope;
    struct symc_string function; /* of JSCACHE_SCOPE_NAMED */
};

/* An original file. */
struct jscache_file {
    struct symc_string name; /* as in the map, after its sourceRoot */
    struct symc_string text; /* absent, if the map has none */
    bool is_ignored; /* by the map's list: not a part of the program itself */
};

/* Does a file begin as a JsCache does? */
bool jscache_sniff(const uint8_t *data, size_t size);

/* Opens a JsCache in memory, which must stay there while the reader is used.
 * On failure the reader is unchanged and error explains why. */
enum symc_reader_status jscache_reader_open(struct jscache_reader *reader,
                                            const void *data, size_t size,
                                            char *error, size_t error_size);

/*
 * Finds the token at a line and column of the minified text, both from 0; the
 * column in units of UTF-16.  It is the last one that begins there or before,
 * on the same line; of several that begin at one place, the last.  Returns
 * false if there is none, or if it is of no original.
 *
 * Upstream drops each token that is equal to the one before it in all but the
 * place, even if it is the first of its line, and then finds nothing in that
 * line up to the next one.  Only with has_all_lines it is found: this is the
 * correction "map-lines".
 */
bool jscache_reader_lookup(const struct jscache_reader *reader, uint32_t line,
                           uint32_t column, bool has_all_lines,
                           struct jscache_token *token);

/* Returns the token with an index, which must be below num_positions, whether
 * it is of an original or not. */
void jscache_reader_token(const struct jscache_reader *reader, uint32_t index,
                          struct jscache_token *token);

/* Returns false if there is no file with that index. */
bool jscache_reader_file(const struct jscache_reader *reader, uint32_t index,
                         struct jscache_file *file);

/* Returns a line of a file's text, from 0, without LF and CR at its end; false
 * if the map has no such line.  A text that ends with LF has no line after
 * it. */
bool jscache_reader_line(const struct jscache_reader *reader, uint32_t file,
                         uint32_t line, struct symc_string *text);

/* The same of up to count lines from a line on.  Returns how many there are. */
unsigned jscache_reader_lines(const struct jscache_reader *reader,
                              uint32_t file, uint32_t line, unsigned count,
                              struct symc_string *lines);

/*
 * Checks whether a JsCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 *
 * Checks that reserved bytes are zero, that the parts fill the file, that the
 * string section is a sequence of complete strings, every string offset and
 * index, that positions do not descend, and that the lines of each text
 * ascend. Takes time proportional to the size of the file, and memory for a
 * bit for each byte of strings.  Writes the first violation, and where it is,
 * to error.
 */
enum symc_verify_status jscache_verify(const struct jscache_reader *reader,
                                       char *error, size_t error_size);
