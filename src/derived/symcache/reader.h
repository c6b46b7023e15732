/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a SymCache of version 7, 8 or 9 in place: nothing is copied, allocated
 * or changed, and nothing outside of data[0..size) is read, whatever the file
 * says.  If an index or a string offset is out of bounds, what it refers to is
 * absent, as in the "symbolic" library; verify.c reports such errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranges.h"
#include "string.h"

struct symc_reader {
    const uint8_t *data;
    size_t size;
    uint32_t version;
    uint32_t num_files;
    uint32_t num_functions;
    uint32_t num_locations; /* the last num_ranges belong to the ranges */
    uint32_t num_ranges;
    uint32_t string_bytes;
    uint32_t file_size; /* size of a file record */
    size_t files;       /* offsets at which the parts begin */
    size_t functions;
    size_t locations;
    size_t ranges;
    size_t strings;
    bool is_verified; /* strings are UTF-8, and not checked again */
    bool has_srcsrv;  /* if verified: a file has source-server fields, which
                       * say where it is in a version control system */
};

enum symc_reader_status {
    SYMC_OPENED = 0,
    SYMC_FOREIGN = -1, /* not a SymCache, or not a supported version */
    SYMC_DAMAGED = -2  /* a SymCache that is incomplete or inconsistent */
};

struct symc_file_parts {
    struct symc_string comp_dir;
    struct symc_string directory;
    struct symc_string name;
    struct symc_string srcsrv_name;
    struct symc_string srcsrv_directory;
    struct symc_string srcsrv_revision;
};

struct symc_function_parts {
    struct symc_string name;
    uint32_t entry;    /* SYMC_NONE for an inlined instance */
    uint32_t language; /* SYMC_NONE if it is from a public symbol */
};

/* An iterator over the frames at an address. */
struct symc_frames {
    const struct symc_reader *reader;
    uint32_t next; /* location, or SYMC_NONE */
    uint32_t left; /* steps left; a longer chain of callers must be a loop */
};

struct symc_frame {
    struct symc_location location;    /* as stored */
    int is_inlined;                   /* another frame follows */
    struct symc_function_parts function;
};

/* Opens a SymCache in memory, which must stay there while the reader is used.
 * On failure the reader is unchanged and error explains why. */
enum symc_reader_status symc_reader_open(struct symc_reader *reader,
                                         const void *data, size_t size,
                                         char *error, size_t error_size);

/* Returns the string at an offset; its data is NULL if there is no valid one.
 */
struct symc_string symc_reader_string(const struct symc_reader *r,
                                      uint32_t offset);

/* Read a record by its index.  Return 0, or -1 if the index is out of bounds;
 * then all parts are absent (in a location: SYMC_NONE). */
int symc_reader_file(const struct symc_reader *reader, uint32_t index,
                     struct symc_file_parts *file);
int symc_reader_function(const struct symc_reader *reader, uint32_t index,
                         struct symc_function_parts *function);
int symc_reader_location(const struct symc_reader *reader, uint32_t index,
                         struct symc_location *location);

/* Returns the start address of a range; the index must be below num_ranges. */
uint32_t symc_reader_range(const struct symc_reader *reader, uint32_t index);

/* Returns the index of the location of a range, whose own index must be below
 * num_ranges. */
uint32_t symc_reader_range_location(const struct symc_reader *reader,
                                    uint32_t index);

/* Starts to iterate over the frames of a location; a gap has none. */
void symc_reader_frames(const struct symc_reader *reader, uint32_t location,
                        struct symc_frames *frames);

/* An address in an image, and the index of the location found there, or
 * SYMC_NONE. */
struct symc_lookup {
    const struct symc_reader *reader;
    uint64_t address;
    uint32_t location;
};

/* Finds the locations of many addresses, in one image or in several.  This is
 * faster than looking them up one by one. */
void symc_reader_lookup_all(struct symc_lookup *lookups, size_t count);

/* Starts to iterate over the frames at an address, the innermost first.  There
 * are none where nothing is known. */
void symc_reader_lookup(const struct symc_reader *reader, uint64_t address,
                        struct symc_frames *frames);

/* Gets the next frame.  Returns false if there is none. */
bool symc_reader_next(struct symc_frames *frames, struct symc_frame *frame);

/* Is a location a gap?  Then all four of its fields are SYMC_NONE. */
bool symc_location_is_gap(const struct symc_location *location);
