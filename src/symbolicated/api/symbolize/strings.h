/*
 * Copyright (C) the ngx_symcache authors
 *
 * The table of strings of an answer, which grows as the answer does, and begins
 * anew before it becomes too large.
 */
#ifndef SYMBOLICATED_API_SYMBOLIZE_STRINGS_H
#define SYMBOLICATED_API_SYMBOLIZE_STRINGS_H

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"

#define STRINGS_NEAR 4096 /* a power of two */

struct strings {
    char *data;
    size_t size;
    size_t room;
    size_t *ends; /* of each string in data; the first one is empty */
    size_t count;
    size_t ends_room;
    size_t told;        /* strings that are in the answer */
    struct table table; /* places + 1 */
    struct strings_near {
        const void *what;
        uint32_t place;
    } near[STRINGS_NEAR]; /* what became of what lies in mapped files */
    struct strings_wish {
        struct symc_string string;
        uint64_t hash;
        uint32_t *near;
        uint32_t place;
    } *wishes; /* of strings_want() */
    size_t nwishes;
    size_t wishes_room;
    bool has_failed;
};

/* Begins the table.  All zero before. */
void strings_begin(struct strings *strings);

/* All that is new is in the answer.  A table that is large begins anew. */
void strings_tell(struct strings *strings);

/* Mapped files go. */
void strings_forget_files(struct strings *strings);

/* The place of what lies at an address of a mapped file, which is its caller's
 * to set; *is_known: whether it is there. */
uint32_t *strings_near(struct strings *strings, const void *what,
                       bool *is_known);

/* The place of a string, which is added if it is new. */
uint32_t strings_add(struct strings *strings,
                     const struct symc_string *string);

/*
 * The same later, for many strings at once, which wait for memory together:
 * returns a number with the bit STRINGS_WANTED, of which strings_get() makes
 * the place.  The string stays until strings_settle(), and so does near, the
 * result of strings_near().
 */
#define STRINGS_WANTED UINT32_C(0x80000000)
uint32_t strings_want(struct strings *strings,
                      const struct symc_string *string, uint32_t *near);
void strings_settle(struct strings *strings);
uint32_t strings_get(const struct strings *strings, uint32_t number);

struct symc_string strings_at(const struct strings *strings, size_t place);

void strings_free(struct strings *strings);

#endif
