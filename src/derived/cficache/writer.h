/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a CfiCache.  What Breakpad's readers do with the text when they load
 * it is done here: rows are put in order and summed up, of ranges that overlap
 * the first one stays, and what cannot be found is left out.
 */
#pragma once

#include "compile.h"
#include "points.h"
#include "pool.h"
#include "reader.h"

struct cficache_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;
    const char *file; /* the debug file of a PE image; not read if size is 0 */
    size_t file_size;
};

/* The rules of a record, which apply from an address on. */
struct cficache_delta {
    uint32_t address;
    bool fails;
    size_t first; /* of its rules */
    size_t count;
};

/* Must be all zero at the beginning. */
struct cficache_writer {
    struct cficache_names names;
    struct cficache_code code;
    struct cficache_pool programs;
    struct cficache_pool sets;
    struct cficache_spans spans[CFICACHE_WIN];
    struct cficache_points rows; /* of all spans */
    struct cficache_spans wins[2]; /* records of the types 0 and 4 */
    uint8_t *records;
    size_t num_records;
    size_t record_room;
    bool fills_gaps; /* corrections count only where there are no rules */
    /* the range that was begun last */
    bool is_open;
    bool is_unsorted;
    enum cficache_map map;
    uint32_t start;
    uint32_t end;
    struct cficache_delta *deltas;
    size_t num_deltas;
    size_t delta_room;
    struct cficache_rule *rules;
    size_t num_rules;
    size_t rule_room;
};

void cficache_writer_free(struct cficache_writer *writer);

/* Finds the number of a register's name, which is without "$".  Returns false
 * if there is no number left, or no memory. */
bool cficache_writer_name(struct cficache_writer *writer, const char *text,
                          size_t size, uint8_t *name);

/*
 * Begins a range of addresses in the map of rules or corrections, and its first
 * row.  One that is empty, or has no end, is left out with all its rows; of
 * those that overlap, the one that begins first stays, or is the shortest, or
 * was added first.
 */
enum symc_status cficache_writer_range(struct cficache_writer *writer,
                                       enum cficache_map map, uint64_t start,
                                       uint64_t size);

/* Begins the next row of the range: from this address on the rules of it are
 * changed by those that follow. */
enum symc_status cficache_writer_row(struct cficache_writer *writer,
                                     uint64_t address);

/* Adds a rule to the row.  It replaces an earlier one of the same target. */
enum symc_status cficache_writer_rule(struct cficache_writer *writer,
                                      const struct cficache_rule *rule);

/* Adds a rule whose value is the program in writer->code. */
enum symc_status cficache_writer_code(struct cficache_writer *writer,
                                      uint8_t target);

/* Adds the rules of a STACK CFI record, for example ".cfa: $rsp 8 +".  If they
 * are not complete, this row and the next ones of the range fail. */
enum symc_status cficache_writer_text(struct cficache_writer *writer,
                                      const char *text, size_t size);

/*
 * Adds a STACK WIN record with these numbers, and with a program if it is of
 * type 4.  Members that follow from the program are set here.
 */
enum symc_status cficache_writer_win(struct cficache_writer *writer,
                                     uint64_t start, uint32_t size,
                                     struct cficache_win win,
                                     const char *program, size_t program_size);

/* Ends the input and writes the file.  Afterwards the writer can only be
 * freed. */
enum symc_status
cficache_writer_finish(struct cficache_writer *writer,
                       const struct cficache_identity *identity,
                       const struct symc_sink *sink);
