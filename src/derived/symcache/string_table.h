/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds the string section of a SymCache.  It has each distinct string once,
 * in order of first insertion, as a LEB128 length and its bytes.  The section
 * itself is the only copy, or, if it refers, there is none; an index of offsets
 * is used to find a string.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct symc_string_table {
    /* Set by the owner: all texts stay where they are, until the section is
     * written. */
    bool refers;
    uint8_t *data; /* the section, unless it refers */
    size_t size;   /* of the section */
    size_t room;
    const uint8_t **texts; /* if it refers: by the number of a string */
    size_t text_room;
    struct arena repaired; /* texts that did not stay as they were */
    uint32_t *offsets; /* by the number of a string */
    size_t offset_room;
    uint32_t *hashes; /* the same */
    size_t hash_room;
    uint32_t *slots;  /* number + 1 in the low bits, bits of the hash above */
    size_t num_slots; /* a power of two, or 0 */
    size_t slot_room;
    size_t count;
    uint8_t *lossy; /* work space for repairing UTF-8 */
    size_t lossy_room;
};

/* A text to be inserted. */
struct symc_name {
    const char *data; /* any bytes, without a NUL at the end */
    uint32_t size;
    uint32_t hash; /* 0 until it is computed, together with is_ascii */
    int is_ascii;
};

/* Frees everything and sets all to zero, which is how an empty section starts.
 */
void symc_string_table_free(struct symc_string_table *strings);

/* Makes room for this number of strings at once, which saves the steps in
 * between.  Returns 0, or -1 if memory runs out. */
int symc_string_table_reserve(struct symc_string_table *strings, size_t count);

/*
 * Inserts a text unless the section has it.  Bytes that are not UTF-8 become
 * U+FFFD, one for each maximal part of a sequence.  Returns 0 and the offset,
 * or -1 if memory or the 4 GiB of the section run out.
 */
int symc_string_table_insert(struct symc_string_table *strings,
                             const char *text, size_t len, uint32_t *offset);

/* Hashes a name that will be inserted soon, and prefetches the memory that is
 * needed then. */
void symc_string_table_expect(const struct symc_string_table *strings,
                              struct symc_name *name);

/* As symc_string_table_insert(), for a name that symc_string_table_expect()
 * has hashed. */
int symc_string_table_insert_name(struct symc_string_table *strings,
                                  const struct symc_name *name,
                                  uint32_t *offset);

/* Frees what only inserting needs, and keeps the section. */
void symc_string_table_forget(struct symc_string_table *strings);

/* Returns the text of a string by its number, if the section refers. */
const uint8_t *symc_string_table_text(const struct symc_string_table *strings,
                                      size_t number, size_t *size);

/* Writes a length as it is before a text: at most 10 bytes.  Returns how many.
 */
size_t symc_string_table_length(uint8_t *to, size_t size);
