/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of functions and paths of source files, each once, in the order in
 * which they came.
 */
#pragma once

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"

#define NAME_TABLE_NEAR 4096 /* a power of two */

struct name_table {
    char *data;
    size_t size;
    size_t room;
    size_t *ends; /* of each string in data; the first one is empty */
    size_t count;
    size_t ends_room;
    size_t told; /* of an answer that grows: strings that are in it */
    struct table table; /* places + 1 */
    struct name_table_near {
        const void *what;
        uint32_t place;
    } near[NAME_TABLE_NEAR]; /* places of strings that lie in mapped files */
    struct name_table_wish {
        struct symc_string string;
        uint64_t hash;
        uint32_t *near;
        uint32_t place;
    } *wishes; /* of name_table_want() */
    size_t nwishes;
    size_t wishes_room;
    bool has_failed;
};

/* Begins the table.  All zero before. */
void name_table_begin(struct name_table *names);

/* All that is new is in the answer.  A table that is large begins anew. */
void name_table_tell(struct name_table *names);

/* Forgets the places of strings in mapped files, because the files are
 * unmapped. */
void name_table_forget_files(struct name_table *names);

/* The place of the string at an address of a mapped file; the caller sets it.
 * *is_known: whether it is set already. */
uint32_t *name_table_near(struct name_table *names, const void *what,
                          bool *is_known);

/* The place of a string, which is added if it is new. */
uint32_t name_table_add(struct name_table *names,
                        const struct symc_string *string);

/*
 * The same later, for many strings at once, which wait for memory together:
 * returns a number with the bit NAME_TABLE_WANTED, of which name_table_get()
 * makes the place.  The string stays until name_table_settle(), and so does
 * near, the result of name_table_near().
 */
#define NAME_TABLE_WANTED UINT32_C(0x80000000)
uint32_t name_table_want(struct name_table *names,
                         const struct symc_string *string, uint32_t *near);
void name_table_settle(struct name_table *names);
uint32_t name_table_get(const struct name_table *names, uint32_t number);

struct symc_string name_table_at(const struct name_table *names, size_t place);

void name_table_free(struct name_table *names);
