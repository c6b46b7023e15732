/*
 * Copyright (C) the ngx_symcache authors
 *
 * Line records of one module: reads those of procedures, and sorts and cleans
 * up those of procedures and of inlined calls.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "crossref.h"
#include "debuginfo/failure.h"
#include "source_files.h"
#include "derived/symcache/symcache.h"

/* Where lines of a tree of functions are collected. */
struct lines_list {
    struct symc_line *data;
    size_t count;
    size_t room;
    uint64_t *work; /* for sorting */
    size_t work_room;
};

/* The C13 part of one module. */
struct lines {
    const struct address_map *addresses;
    struct source_files *sources;
    struct lines_section *sections; /* of lines, by section and offset */
    size_t num_sections;
    size_t next_section; /* the one after the one used last */
    size_t section_room;
    const uint8_t *checksums;
    uint32_t checksums_size;
    uint32_t *files;      /* source index + 1 by checksum offset / 4 */
    uint32_t known_files; /* checksums_size if files is in use, else 0 */
    size_t file_room;
    size_t cleared_files; /* so many of files were set to 0 once */
    uint32_t *used_files; /* indices of those that are not 0 now */
    size_t num_used_files;
    size_t used_file_room;
    const uint8_t *inlinees; /* first subsection of inlinee lines, or NULL */
    uint32_t inlinees_size;
    struct crossref_imports imports;
    uint64_t count; /* records read so far, in all modules together */
};

/* A line record whose address and source file are not looked up yet. */
struct lines_record {
    uint32_t section;
    uint32_t offset;
    uint32_t line;
    uint32_t file; /* offset of its checksum */
    uint32_t length;
    int has_length;
};

/* Must be all zero at the beginning, except for addresses and sources. */
void lines_free(struct lines *lines);

/* Goes on to another module.  Returns 0, or -1 if its C13 part is damaged. */
int lines_open(struct lines *lines, const uint8_t *c13, uint32_t size);

/* Appends the lines of the procedure at section:offset.  Returns 0, or -1 if
 * they are damaged. */
int lines_of_procedure(struct lines *lines, uint32_t section, uint32_t offset,
                       struct lines_list *list);

/* Appends one record, unless it has no address or is empty.  Returns 0, or -1
 * on failure. */
int lines_add(struct lines *lines, const struct lines_record *record,
              struct lines_list *list);

/* Sorts the lines from index first on and merges those that differ only in
 * their columns.  Returns 0, or -1 if memory runs out. */
int lines_tidy(struct lines_list *list, size_t first);

/* Drops the lines from index first on that are outside of [start, start +
 * size). */
void lines_clip(struct lines_list *list, size_t first, uint64_t start,
                uint64_t size);

void lines_list_free(struct lines_list *list);
