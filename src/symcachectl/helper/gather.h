/*
 * Copyright (C) the ngx_symcache authors
 *
 * Collects the modules that operands name: lists (see module_list.h), images,
 * PDBs, ELF and Mach-O files, and folders of these.
 */
#ifndef SYMCACHECTL_HELPER_GATHER_H
#define SYMCACHECTL_HELPER_GATHER_H

#include "symcachectl/files/modules.h"

struct gather {
    struct modules *modules;
    unsigned bad; /* lines and files that name no module, which was printed */
};

/*
 * Takes one operand; "-" is a list on standard input.  Returns COMMAND_OK; or
 * COMMAND_IO after printing what could not be read.
 */
int gather_from(struct gather *gather, const char *operand);

#endif
