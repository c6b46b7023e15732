/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a CfiCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.  A rule or
 * a program that is out of bounds fails; verify.c reports such errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "format.h"

/* What is mapped from addresses. */
enum cficache_map {
    CFICACHE_RULES,       /* what Breakpad's readers find in the text */
    CFICACHE_CORRECTIONS, /* where that is wrong, or nothing */
    CFICACHE_WIN,         /* STACK WIN, one record an address */
    CFICACHE_MAPS
};

struct cficache_reader {
    const uint8_t *data;
    size_t size;
    uint32_t num_points[CFICACHE_MAPS];
    uint32_t num_sets;
    uint32_t num_rules;
    uint32_t num_wins;
    uint32_t program_bytes;
    uint32_t name_bytes;
    uint32_t file_bytes;
    size_t maps[CFICACHE_MAPS]; /* offsets at which the parts begin */
    size_t sets;
    size_t rules;
    size_t wins;
    size_t programs;
    size_t names;
    size_t file;
};

enum cficache_kind {
    CFICACHE_FAILS,   /* the register is unknown */
    CFICACHE_VALUE,   /* base + number */
    CFICACHE_AT,      /* the word at base + number */
    CFICACHE_PROGRAM, /* what the program at offset number comes to */
    CFICACHE_END      /* of the return address: there is no caller */
};

struct cficache_rule {
    uint8_t kind;
    uint8_t target; /* a name, CFICACHE_CFA or CFICACHE_RA */
    uint8_t base;   /* a name or CFICACHE_CFA */
    int32_t number;
};

/* The rules of a frame.  Both the CFA's and the return address's are known if
 * there is any; without any, the walk cannot go on by CFI. */
struct cficache_row {
    uint32_t first; /* the CFA's; the return address's follows */
    uint32_t count;
};

/* A STACK WIN record.  Numbers as Breakpad's text has them. */
struct cficache_win {
    uint32_t prolog;
    uint32_t epilog;
    uint32_t params;
    uint32_t saved_registers;
    uint32_t locals;
    uint32_t max_stack;
    uint32_t program; /* its offset + 1; 0: there is none, or it fails */
    bool has_program; /* the record is of type 4; otherwise of type 0 */
    bool allocates_base_pointer;
    bool aligns; /* the program has an "@" */
};

/* Does a file begin as a CfiCache does? */
bool cficache_sniff(const uint8_t *data, size_t size);

/* Opens a CfiCache in memory, which must stay there while the reader is used.
 * On failure the reader is unchanged and error explains why. */
enum symc_reader_status cficache_reader_open(struct cficache_reader *reader,
                                             const void *data, size_t size,
                                             char *error, size_t error_size);

/* Writes the names of registers and variables, and returns how many there are.
 * Registers have no "$" in front, variables of STACK WIN programs keep it. */
unsigned cficache_reader_names(const struct cficache_reader *reader,
                               struct symc_string names[CFICACHE_NAMES]);

/*
 * Finds the rules at an address relative to the module's start, with what we
 * know better than Breakpad's text, if corrected is set.  Returns false if no
 * CFI covers the address.
 */
bool cficache_reader_lookup(const struct cficache_reader *reader,
                            uint32_t address, bool corrected,
                            struct cficache_row *row);

/* Returns a rule of a row; index must be below its count. */
struct cficache_rule cficache_reader_rule(const struct cficache_reader *reader,
                                          const struct cficache_row *row,
                                          uint32_t index);

/* Finds the STACK WIN record at an address; one of type 4 hides one of type
 * 0. */
bool cficache_reader_win(const struct cficache_reader *reader,
                         uint32_t address, struct cficache_win *win);

/* Returns a start of a map and what it maps to.  The index must be below
 * num_points. */
uint32_t cficache_reader_point(const struct cficache_reader *reader,
                               enum cficache_map map, uint32_t index,
                               uint32_t *value);

/* Finds the STACK WIN record with a number from 1 on.  Returns false if there
 * is none. */
bool cficache_reader_record(const struct cficache_reader *reader,
                            uint32_t number, struct cficache_win *win);

/* Returns the code of the program of a kind (program.h) at an offset, and its
 * size; or NULL. */
const uint8_t *cficache_reader_program(const struct cficache_reader *reader,
                                       uint32_t offset, unsigned kind,
                                       size_t *size);

/*
 * Checks whether a CfiCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 *
 * Checks that reserved bytes are zero, that the parts fill the file, that maps
 * ascend strictly and refer to sets and records that exist, that sets divide
 * the rules among themselves and begin with CFA and return address, each rule,
 * each name, and that each program always finds what it needs.  Takes time
 * proportional to the size of the file, and memory for a bit for each byte of
 * programs.  Writes the first violation, and where it is, to error.
 */
enum symc_verify_status cficache_verify(const struct cficache_reader *reader,
                                        char *error, size_t error_size);
