/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reason_names.h"

#include <stddef.h>
#include <stdlib.h>

/* All names in one piece, so that no pointers have to be relocated for them;
 * each line of the list has its place in it. */
#define PASTE(a, b) a##b
#define MEMBER(line) PASTE(name, line)
#define NAME(table, code, name) char MEMBER(__LINE__)[sizeof(#name)];
struct texts {
#include "reason_names.inc"
};
#undef NAME

#define NAME(table, code, name) #name,
static const struct texts names = {
#include "reason_names.inc"
};
#undef NAME

#define NAME(table, code, name)                                               \
    {NAMES_##table, code, offsetof(struct texts, MEMBER(__LINE__))},
static const struct code {
    uint32_t table;
    uint32_t code;
    uint32_t name;
} codes[] = {
#include "reason_names.inc"
};
#undef NAME

static int compare_codes(const void *a, const void *b)
{
    const struct code *x = a, *y = b;

    if (x->table != y->table) {
        return x->table < y->table ? -1 : 1;
    }
    return x->code < y->code ? -1 : x->code > y->code;
}

const char *reason_names_find(enum reason_names_table table, uint64_t code)
{
    const struct code wanted = {table, (uint32_t)code, 0}, *found;

    found = code <= UINT32_MAX
                ? bsearch(&wanted, codes, sizeof(codes) / sizeof(codes[0]),
                          sizeof(codes[0]), compare_codes)
                : NULL;
    return found != NULL ? (const char *)&names + found->name : NULL;
}
