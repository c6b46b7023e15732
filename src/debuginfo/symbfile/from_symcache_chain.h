/*
 * Copyright (C) the ngx_symcache authors
 *
 * The functions at one location of a SymCache, as a symbfile has them.
 */
#pragma once

#include "base/arena.h"
#include "debuginfo/failure.h"

#define INLINE_CHAIN_MAX 1024

struct inline_chain_link {
    uint32_t function; /* indices in the SymCache */
    uint32_t file;
    uint32_t line;
    struct symc_string name;
};

struct inline_chain {
    size_t count;
    struct inline_chain_link links[INLINE_CHAIN_MAX]; /* outermost first */
};

/*
 * Reads the functions at a location.  Those within one without a name, which a
 * symbfile cannot have, are left out.  Returns 0, or -1 with failure set.
 */
int inline_chain_read(const struct symc_reader *symcache, uint32_t location,
                      struct inline_chain *chain, struct failure *failure);

/* Joins the path of a file in the arena.  It is absent where it is unknown.
 * Returns 0, or -1 with failure set. */
int inline_chain_path(const struct symc_reader *symcache, uint32_t file,
                      struct arena *arena, struct symc_string *path,
                      struct failure *failure);
