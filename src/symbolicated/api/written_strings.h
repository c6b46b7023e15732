/*
 * Copyright (C) the ngx_symcache authors
 *
 * Strings that stand in an answer already, and are copied from there when the
 * same function or file comes again: joined, demangled and escaped as they
 * are.
 */
#pragma once

#include "json/json.h"
#include "derived/symcache/symcache.h"

#define FRAGMENTS_BITS 11 /* at most so many bits of a hash */

/* Up to two values that belong to an index of a SymCache. */
struct written_string {
    const struct symc_reader *reader; /* NULL: of none */
    uint32_t index;
    uint32_t answer; /* its number: others have nothing of this one */
    size_t at[2];
    size_t size[2];
};

/* What was written last, of functions or of files; one that has the same hash
 * takes the place of another. */
struct written_strings {
    uint32_t answer; /* the number of the one that is written */
    unsigned bits;   /* few for few frames, which share cache lines then */
    struct written_string slots[1 << FRAGMENTS_BITS];
};

/* Forgets all, for an answer to so many frames.  All zero before the first
 * one. */
void written_strings_begin(struct written_strings *fragments, size_t nframes);

/* The slot of an index.  Returns whether its values are there; if not, the
 * caller writes them now, or sets reader to NULL. */
bool written_strings_find(struct written_strings *fragments,
                          const struct symc_reader *reader, uint32_t index,
                          struct written_string **found);

/* Writes a string, and remembers it as a part of a fragment, 0 or 1. */
void written_string_write(struct written_string *fragment, int part,
                          struct json_writer *w,
                          const struct symc_string *string);

/* Writes a part again. */
void written_string_again(const struct written_string *fragment, int part,
                          struct json_writer *w);
