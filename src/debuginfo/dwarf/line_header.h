/*
 * Copyright (C) the ngx_symcache authors
 *
 * Headers of line number programs (DWARF 5, section 6.2.4): the files that the
 * rows of a program are of.
 */
#pragma once

#include "reader.h"

struct dwarf_line_file {
    struct dwarf_value name;
    uint64_t directory;
};

/* The code from an address on.  Beyond 32 bits a file number is UINT32_MAX,
 * which no file has, and a line number is cut. */
struct dwarf_row {
    uint64_t address;
    uint32_t file;
    uint32_t line;
};

/* Rows of code that lies together, by address.  Each but the last extends to
 * the next one. */
struct dwarf_sequence {
    uint64_t start;
    uint64_t end;
    uint64_t highest; /* end of this and the sequences before it */
    size_t first;     /* row */
    size_t count;
    uint64_t last_size; /* of the last row, or SYMC_NO_SIZE */
};

/* What a special opcode advances. */
struct dwarf_special_opcode {
    int16_t lines;
    uint8_t operations;
};

/* The program of one unit.  Must be all zero at the beginning. */
struct dwarf_lines {
    uint64_t offset; /* in .debug_line */
    bool has_header;
    bool has_rows;
    struct dwarf_encoding encoding; /* that of the header */
    uint8_t min_length;
    uint8_t max_operations;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *opcode_lengths;
    uint32_t special_of; /* the numbers of the header that special is for */
    struct dwarf_special_opcode special[256];
    struct cursor program;
    struct dwarf_value *directories;
    size_t num_directories;
    size_t directory_room;
    struct dwarf_line_file *files;
    size_t num_files;
    size_t file_room;
    struct dwarf_row *rows;
    size_t num_rows;
    size_t row_room;
    struct dwarf_sequence *sequences;
    size_t num_sequences;
    size_t sequence_room;
    struct table checked; /* offsets of headers that are sound */
};

/*
 * Reads the header of the program at an offset, unless it was the last one
 * that was read.  With is_unused it is only checked, and that once.  Returns
 * 0, or -1 with failure set.
 */
int dwarf_lines_open(struct dwarf_reader *reader,
                     const struct dwarf_unit *unit, uint64_t offset,
                     bool is_unused, struct dwarf_lines *lines);

/* Finds a file by its number.  Sets the values of its name and directory,
 * which may be of no string.  Returns false if there is none. */
bool dwarf_lines_file(const struct dwarf_lines *lines,
                      const struct dwarf_value *unit_name,
                      const struct dwarf_value *comp_dir, uint64_t number,
                      struct dwarf_value *directory, struct dwarf_value *name);

/* Adds an entry to the list of files, which the program may extend.  Returns
 * 0, or -1 if memory runs out. */
int dwarf_lines_add_file(struct dwarf_lines *lines,
                         const struct dwarf_value *name, uint64_t directory);

void dwarf_lines_free(struct dwarf_lines *lines);
