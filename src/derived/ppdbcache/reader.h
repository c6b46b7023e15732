/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a PpdbCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.  What is
 * out of bounds is absent, as in the "symbolic" library; verify.c reports such
 * errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

struct ppdbcache_reader {
    const uint8_t *data;
    size_t size;
    uint32_t num_files;
    uint32_t num_ranges;
    uint32_t string_bytes;
    size_t files; /* offsets at which the parts begin */
    size_t places;
    size_t ranges;
    size_t strings;
};

/* A place in the source.  An absent name has the data NULL. */
struct ppdbcache_place {
    struct symc_string file; /* its whole path */
    uint32_t line;
    uint32_t language; /* as SymCaches number them */
};

/* Does a file begin as a PpdbCache does, of either byte order? */
bool ppdbcache_sniff(const uint8_t *data, size_t size);

/* Opens a PpdbCache in memory, which must stay there while the reader is used.
 * On failure the reader is unchanged and error explains why. */
enum symc_reader_status ppdbcache_reader_open(struct ppdbcache_reader *reader,
                                              const void *data, size_t size,
                                              char *error, size_t error_size);

/* Reads the file with an index.  Returns NULL, or a text that says what is
 * wrong with it; then the file is absent. */
const char *ppdbcache_reader_file(const struct ppdbcache_reader *reader,
                                  uint32_t index, struct symc_string *name,
                                  uint32_t *language);

/* Returns the method and the IL offset of a range as one number, the method in
 * the high half.  The index must be below num_ranges. */
uint64_t ppdbcache_reader_range(const struct ppdbcache_reader *reader,
                                uint32_t index);

/* Reads the line and the index of the file of a range, whose own index must be
 * below num_ranges. */
void ppdbcache_reader_place(const struct ppdbcache_reader *reader,
                            uint32_t index, uint32_t *line, uint32_t *file);

/*
 * Finds the place of an IL offset of a method, which is the row in MethodDef
 * and not the token.  Returns false where nothing is known: before the first
 * place of the method, and if the file has none of it.
 */
bool ppdbcache_reader_lookup(const struct ppdbcache_reader *reader,
                             uint32_t method, uint32_t il,
                             struct ppdbcache_place *place);

/*
 * Checks whether a PpdbCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 *
 * Checks that reserved bytes are zero, that the parts fill the file, that the
 * string section is a sequence of complete strings, every string offset and
 * file index, and that the ranges ascend strictly.  Takes time proportional to
 * the size of the file, and memory for a bit for each byte of strings.  Writes
 * the first violation, and where it is, to error.
 */
enum symc_verify_status ppdbcache_verify(const struct ppdbcache_reader *reader,
                                         char *error, size_t error_size);
