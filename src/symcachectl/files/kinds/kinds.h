/*
 * Copyright (C) the ngx_symcache authors
 *
 * What verify, dump and lookup print of files of each derived kind.
 */
#pragma once

#include "derived/derived.h"
#include "symcachectl/files/addresses.h"
#include "symcachectl/terminal/output.h"

struct kind_printer {
    /* What is in a sound file, behind ": sound: ". */
    void (*counts)(struct output *output, const union derived_reader *reader);

    /* Prints all that is in the file.  Returns 0, or -1 without memory.  NULL:
     * it has no names. */
    int (*dump)(struct output *output, const union derived_reader *reader);

    /* Prints what is at an address that parse() has read.  Returns whether
     * something is; or -1 without memory.  NULL: nothing has an address. */
    int (*lookup)(struct output *output, const union derived_reader *reader,
                  uint64_t address, bool is_json);
    addresses_parse_fn parse;
    const char *no_address; /* how a text that it refuses is called */
};

/* The row of a kind that input_open() opens. */
const struct kind_printer *kind_printer(symcache_kind_e kind);

extern const struct kind_printer kind_symcache, kind_ppdbcache, kind_jscache,
    kind_sourcecache;

/* Prints what, a number, and a line feed. */
void kind_print_number(struct output *output, const char *what,
                       uint64_t number);

/* Prints "id", and the id as it is written in listings. */
void kind_print_guid(struct output *output, const uint8_t guid[16]);

/* Prints the name and the version of a kind. */
void kind_print_version(struct output *output, const char *name,
                        uint32_t version);

/* Prints ", ", a count, and what is counted. */
void kind_print_count(struct output *output, uint32_t count, const char *what);
