/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a SymCache (versions 7, 8, 9) where it lies, in memory or in a
 * mapping.  Every access is checked; what refers to nothing is as if absent.
 */
#ifndef SYMFILE_READER_H
#define SYMFILE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "symfile_format.h"

struct symfile {
    const uint8_t *data;
    size_t size;
    uint32_t version;
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;
    uint32_t num_files;
    uint32_t num_functions;
    uint32_t num_locations;
    uint32_t num_ranges;
    uint32_t file_size; /* bytes of a file record */
    const uint8_t *files;
    const uint8_t *functions;
    const uint8_t *locations;
    const uint8_t *ranges;
    const uint8_t *strings;
    uint32_t strings_size;
};

struct symfile_string {
    const char *data; /* not ended by NUL; NULL = absent */
    size_t size;
};

/* One function at an address, inlined or not. */
struct symfile_frame {
    struct symfile_string function; /* "?" if it has none */
    uint32_t entry;                 /* SYMFILE_NONE for an inlined one */
    uint32_t language;
    uint32_t file; /* index, or SYMFILE_NONE */
    uint32_t line; /* 0 = unknown */
    uint32_t next; /* location of the caller, or SYMFILE_NONE */
};

struct symfile_file {
    struct symfile_string comp_dir;
    struct symfile_string directory;
    struct symfile_string name;
    struct symfile_string srcsrv_name;
    struct symfile_string srcsrv_directory;
    struct symfile_string srcsrv_revision;
};

/* Checks the header and that all parts are inside.  Returns 0, or -1 with a
 * sentence in error. */
int symfile_open(struct symfile *file, const uint8_t *data, size_t size,
                 char *error, size_t error_size);

/* The innermost location at an address; SYMFILE_NONE if there is none. */
uint32_t symfile_find(const struct symfile *file, uint64_t address);

/*
 * The frame of a location.  Returns 1, or 0 for a gap and for an index out of
 * range.  Callers that follow next stop after num_locations frames: a hostile
 * file may have a loop.
 */
int symfile_frame(const struct symfile *file, uint32_t location,
                  struct symfile_frame *frame);

/* Returns 1, or 0 for an index out of range. */
int symfile_get_file(const struct symfile *file, uint32_t index,
                     struct symfile_file *out);

/* The string at an offset; absent if it is not whole or not UTF-8. */
struct symfile_string symfile_get_string(const struct symfile *file,
                                         uint32_t offset);

uint32_t symfile_range(const struct symfile *file, uint32_t index);
const char *symfile_arch_name(uint32_t arch);

#endif
