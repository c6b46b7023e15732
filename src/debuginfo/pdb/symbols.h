/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the symbol records of one module and builds trees of functions from
 * its nested scopes: procedures, separated code and inlined calls.
 */
#ifndef DEBUGINFO_PDB_SYMBOLS_H
#define DEBUGINFO_PDB_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "debuginfo/failure.h"
#include "inlinees.h"
#include "lines.h"
#include "function_name.h"
#include "tree_batches.h"
#include "derived/symcache/symcache.h"

/* Names of inlined functions that have not reached the writer, by their ids:
 * most are needed again soon. */
#define SYMBOLS_RECENT 256

struct symbols_recent {
    uint32_t *memo;      /* of the id */
    uint64_t generation; /* of the batch that has the name */
    struct symc_name name;
};

/* The state of reading, which is kept from module to module so that memory is
 * used again. */
struct symbols {
    const struct address_map *addresses;
    struct type_names *names;
    struct lines *lines;
    struct tree_batches batches;
    uint64_t work_limit;
    uint32_t *id_functions; /* function + 1 by index in the id stream */
    size_t num_id_functions;
    struct symbols_recent recent[SYMBOLS_RECENT];
    struct inlinees inlinees;
    struct symbols_open *open; /* functions whose scope is open */
    size_t num_open;
    size_t open_room;
    struct symbols_base *bases; /* procedures that annotations refer to */
    size_t num_bases;
    size_t base_room;
    uint32_t stream; /* for messages */
};

/* Must be all zero at the beginning, except for the first five fields, of
 * which the batches tell what of theirs must be set. */
void symbols_free(struct symbols *symbols);

/*
 * Reads the symbols of the module that lines_open() was called for, and passes
 * complete functions on to the batches.  Returns 0, or -1 with failure set.
 */
int symbols_read(struct symbols *symbols, const uint8_t *data, uint32_t size,
                 struct failure *failure);

#endif
