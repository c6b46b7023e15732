/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the symbol records of one module and builds trees of functions from
 * its nested scopes: procedures, separated code and inlined calls.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "base/arena.h"
#include "debuginfo/failure.h"
#include "inlinees.h"
#include "lines.h"
#include "function_name.h"
#include "derived/symcache/symcache.h"

/* The state of reading, which is kept from module to module so that memory is
 * used again. */
struct pdb_symbols {
    const struct address_map *addresses;
    struct type_names *names;
    struct lines *lines;
    struct symc_writer *writer;
    uint64_t work_limit;
    uint32_t *id_functions; /* function + 1 by index in the id stream */
    size_t num_id_functions;
    uint32_t *last_memo;        /* of the name formatted last, if it */
    struct symc_name last_name; /* has not reached the writer */
    struct inlinees inlinees;
    struct lines_list list;
    struct arena info;
    struct symc_function *nodes; /* trees that are not complete yet */
    size_t num_nodes;
    size_t node_room;
    struct symbols_open *open; /* functions whose scope is open */
    size_t num_open;
    size_t open_room;
    struct enclosing_procedure *procedures; /* to which annotations refer */
    size_t num_procedures;
    size_t procedure_room;
    uint32_t stream; /* for messages */
};

/* Must be all zero at the beginning, except for the first five fields. */
void pdb_symbols_free(struct pdb_symbols *symbols);

/*
 * Reads the symbols of the module that lines_open() was called for, and passes
 * complete functions to the writer.  Returns 0, or -1 with failure set.
 */
int pdb_symbols_read(struct pdb_symbols *symbols, const uint8_t *data,
                     uint32_t size, struct failure *failure);
