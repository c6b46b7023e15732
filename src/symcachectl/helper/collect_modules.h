/*
 * Copyright (C) the ngx_symcache authors
 *
 * Collects the modules that operands name: lists (see module_list.h), images,
 * PDBs, ELF and Mach-O files, and folders of these.
 */
#pragma once

#include <stdbool.h>

#include "warm_modules.h"

struct collect_modules {
    struct warm_modules *modules;
    bool portable; /* those of portable PDBs, too */
    unsigned bad; /* lines and files that name no module, which was printed */
};

/*
 * Takes one operand; "-" is a list on standard input.  Returns COMMAND_OK; or
 * COMMAND_IO after printing what could not be read.
 */
int collect_modules(struct collect_modules *gather, const char *operand);
