/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the records of a symbfile in memory, in their order.  Texts point into
 * the file; they are UTF-8, and absent if their data is NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

/* From this address, which is relative to the range's, up to the next one. */
struct symbfile_line {
    uint64_t offset;
    uint32_t line; /* 0: unknown */
};

/* A function at an address; unless it is the innermost one, file and line are
 * those of the call. */
struct symbfile_frame {
    struct symc_string func;
    struct symc_string file;    /* absent or empty: unknown */
    uint32_t line;              /* 0: unknown */
};

/*
 * A range of code of one function, inlined or not, from one source file; or a
 * return pad: the address before the one to which a call returns.
 */
struct symbfile_record {
    bool is_pad;
    uint64_t offset; /* in the file, for messages */
    uint64_t address;
    /* of a range */
    uint64_t size;
    struct symc_string func;
    struct symc_string file;
    struct symc_string call_file; /* absent: the file of the caller */
    uint32_t call_line;
    uint32_t depth; /* 0: not inlined */
    const struct symbfile_line *lines; /* ascending */
    size_t num_lines;
    /* of a pad, outermost first */
    const struct symbfile_frame *frames;
    size_t num_frames;
};

struct symbfile_numbers {
    uint32_t *list;
    size_t count;
    size_t room;
};

struct symbfile_reader {
    const uint8_t *data;
    size_t size;
    size_t at;
    bool is_joined; /* several files in a row, see symbfile_reader_joined() */
    size_t file_at; /* of the current file: its magic, */
    size_t records; /* and what follows its header */
    bool has_header;
    bool has_address; /* of the record before */
    uint64_t address;
    struct symc_string *strings; /* the current table */
    size_t num_strings;
    size_t string_room;
    struct symbfile_numbers columns[3]; /* work space */
    struct symbfile_line *lines;        /* of the last record */
    size_t line_room;
    struct symbfile_frame *frames; /* the same */
    size_t frame_room;
    bool is_out_of_memory;
    char error[160]; /* what is wrong, as the rest of a sentence */
};

/* Does a file begin as a symbfile does? */
bool symbfile_sniff(const uint8_t *data, size_t size);

/* Begins to read data[0..size). */
void symbfile_reader_init(struct symbfile_reader *reader, const uint8_t *data,
                          size_t size);
/* The same of symbfiles in a row: symbfile_reader_next() returns 2 where
 * another one begins, at reader->file_at. */
void symbfile_reader_joined(struct symbfile_reader *reader,
                            const uint8_t *data, size_t size);
void symbfile_reader_free(struct symbfile_reader *reader);

/*
 * Reads the next range or pad, whose arrays stay until the next call.  Returns
 * 1, 0 at the end, or -1 with the reader's error, which names an offset.
 */
int symbfile_reader_next(struct symbfile_reader *reader,
                         struct symbfile_record *record);
