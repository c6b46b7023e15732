/*
 * Copyright (C) the ngx_symcache authors
 */
#include "names.h"

#include <string.h>

/* Tables and codes, and the names in the same order.  A dump needs a few of
 * them: they are searched from the beginning, and no pointers have to be
 * relocated for them. */
#define NAME(table, code, name) {NAMES_##table, code},
static const struct {
    uint32_t table;
    uint32_t code;
} codes[] = {
#include "names.inc"
};
#undef NAME

#define NAME(table, code, name) #name "\0"
static const char names[] =
#include "names.inc"
    ;
#undef NAME

const char *names_find(enum names_table table, uint64_t code)
{
    const char *name = names;
    size_t i;

    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i].table == table && codes[i].code == code) {
            return name;
        }
        name += strlen(name) + 1;
    }
    return NULL;
}
