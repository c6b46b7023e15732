/*
 * Copyright (C) the ngx_symcache authors
 *
 * "filters" of a source of a client's own: of which modules it is asked.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_OWN_FILTER_H
#define SYMBOLICATED_API_SYMBOLICATOR_OWN_FILTER_H

#include "own_source.h"
#include "request.h"

/* Types of files, as Symbolicator names them; a set has a bit for each. */
enum own_file {
    OWN_PE,
    OWN_PDB,
    OWN_PORTABLEPDB,
    OWN_MACH_DEBUG,
    OWN_MACH_CODE,
    OWN_ELF_DEBUG,
    OWN_ELF_CODE,
    OWN_WASM_DEBUG,
    OWN_WASM_CODE,
    OWN_BREAKPAD,
    OWN_SOURCEBUNDLE,
    OWN_FILES /* others are known and never looked for */
};

/* What a source is asked for as two sources of the tenant. */
enum own_part {
    OWN_PART_FILES,
    OWN_PART_TEXT, /* Breakpad's, in the layout native */
    OWN_PARTS
};

/* Reads the filters into own->filter; a missing or empty list of types is all.
 * Returns whether nothing is wrong; else that is in the walk's error. */
bool own_filter_read(struct schema_walk *walk, uint32_t filters,
                     struct own_filter *filter);

/* What a source is asked for; a set. */
enum own_wish {
    OWN_DEBUG_FILES = 1, /* by build id */
    OWN_KEY = 2,         /* by the key itself */
    OWN_PROGRAMS = 4,
    OWN_BUNDLES = 16, /* of source files */
    OWN_ALL = 8 /* nothing is left out */
};

/* The kinds that a part of a source is asked for, for a module under one of
 * its keys; 0: it is not asked.  Matching patterns uses up steps
 * (base/glob.h). */
unsigned own_filter_asks(const struct symbolicator_request *request,
                         const struct symbolicator_module *module,
                         const symcache_key_t *key,
                         const struct own_source *own, enum own_part part,
                         size_t *steps);

#endif
