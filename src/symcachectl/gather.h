/*
 * Copyright (C) the ngx_symcache authors
 *
 * The modules that are meant by operands: lists (see list.h), images and
 * PDBs, folders of images and PDBs.
 */
#ifndef SYMCACHECTL_GATHER_H
#define SYMCACHECTL_GATHER_H

#include "modules.h"

struct gather {
    struct modules *modules;
    unsigned bad; /* lines and files that name no module; said so */
};

/*
 * One operand; "-" is a list from standard input.  Returns COMMAND_OK, or
 * COMMAND_IO after having said what could not be read.
 */
int gather_from(struct gather *gather, const char *operand);

#endif
