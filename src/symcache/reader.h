/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a SymCache of version 7, 8 or 9 where it lies: nothing is copied,
 * allocated or changed, and nothing outside of (data, size) is touched
 * whatever the file says.  What an index or a string offset cannot reach is
 * absent, as for the "symbolic" library; verify.h finds such faults.
 */
#ifndef SYMCACHE_READER_H
#define SYMCACHE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranges.h"
#include "string.h"

struct symfile_reader {
    const uint8_t *data;
    size_t size;
    uint32_t version;
    uint32_t num_files;
    uint32_t num_functions;
    uint32_t num_locations; /* those of ranges are the last num_ranges */
    uint32_t num_ranges;
    uint32_t string_bytes;
    uint32_t file_size; /* of a record */
    size_t files;       /* where the parts begin */
    size_t functions;
    size_t locations;
    size_t ranges;
    size_t strings;
};

enum symfile_open_status {
    SYMFILE_OPENED = 0,
    SYMFILE_FOREIGN = -1, /* no SymCache, or none that can be read here */
    SYMFILE_DAMAGED = -2  /* a SymCache that is not all there */
};

struct symfile_file_parts {
    struct symfile_string comp_dir;
    struct symfile_string directory;
    struct symfile_string name;
    struct symfile_string srcsrv_name;
    struct symfile_string srcsrv_directory;
    struct symfile_string srcsrv_revision;
};

struct symfile_function_parts {
    struct symfile_string name;
    uint32_t entry;    /* or SYMFILE_NONE: an inlined instance */
    uint32_t language; /* or SYMFILE_NONE: from the public symbol table */
};

/* What is at an address, one frame after the other. */
struct symfile_frames {
    const struct symfile_reader *reader;
    uint32_t next; /* location, or SYMFILE_NONE */
    uint32_t left; /* steps until it must be a loop */
};

struct symfile_frame {
    struct symfile_location location; /* as stored */
    int is_inlined;                   /* another frame follows */
    struct symfile_function_parts function;
};

/* On failure leaves the reader alone and a sentence in error. */
enum symfile_open_status symfile_reader_open(struct symfile_reader *reader,
                                             const void *data, size_t size,
                                             char *error, size_t error_size);

/* The string at an offset; data NULL when there is none, or a broken one. */
struct symfile_string symfile_reader_string(const struct symfile_reader *r,
                                            uint32_t offset);

/* Records by index.  They return 0, or -1 when there is no such index; then
 * all parts are absent (of a location: SYMFILE_NONE). */
int symfile_reader_file(const struct symfile_reader *reader, uint32_t index,
                        struct symfile_file_parts *file);
int symfile_reader_function(const struct symfile_reader *reader,
                            uint32_t index,
                            struct symfile_function_parts *function);
int symfile_reader_location(const struct symfile_reader *reader,
                            uint32_t index, struct symfile_location *location);

/* Whether some file has its place in a version control system, which a PDB
 * with a source server tells.  Takes time in proportion to the files. */
int symfile_reader_has_srcsrv(const struct symfile_reader *reader);

/* Start address of a range; the index must be below num_ranges. */
uint32_t symfile_reader_range(const struct symfile_reader *reader,
                              uint32_t index);

/* The location of a range, whose index must be below num_ranges. */
uint32_t symfile_reader_range_location(const struct symfile_reader *reader,
                                       uint32_t index);

/* The frames of a location; none when it is a gap. */
void symfile_reader_frames(const struct symfile_reader *reader,
                           uint32_t location, struct symfile_frames *frames);

/* An address of some image, and the location that is there, or SYMFILE_NONE.
 */
struct symfile_lookup {
    const struct symfile_reader *reader;
    uint64_t address;
    uint32_t location;
};

/* Finds the locations of many addresses, of one image or of several, which
 * takes less time than one after the other. */
void symfile_reader_lookup_all(struct symfile_lookup *lookups, size_t count);

/* The frames at an address, innermost first; none where nothing is known. */
void symfile_reader_lookup(const struct symfile_reader *reader,
                           uint64_t address, struct symfile_frames *frames);

/* The next frame.  Returns 1, or 0 when there is none. */
bool symfile_reader_next(struct symfile_frames *frames,
                         struct symfile_frame *frame);

/* 1 when all four fields say "nothing here". */
bool symfile_location_is_gap(const struct symfile_location *location);

#endif
