/*
 * Copyright (C) the ngx_symcache authors
 */
#include "format.h"

#include <string.h>

static const char *const names[] = {
    [FORMAT_PDB] = "pdb",
    [FORMAT_BREAKPAD] = "breakpad",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == FORMATS,
               "a format has no name");

const char *config_format_name(enum original_format format)
{
    return names[format];
}

int config_format_find(const char *name)
{
    int i;

    for (i = 0; i < FORMATS; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}
