/*
 * Copyright (C) the ngx_symcache authors
 *
 * "filters" of a source of a client's own: of which modules it is asked.
 */
#pragma once

#include "client_sources.h"

/* Types of files, as Symbolicator names them; a set has a bit for each. */
enum client_file {
    CLIENT_PE,
    CLIENT_PDB,
    CLIENT_PORTABLEPDB,
    CLIENT_MACH_DEBUG,
    CLIENT_MACH_CODE,
    CLIENT_ELF_DEBUG,
    CLIENT_ELF_CODE,
    CLIENT_WASM_DEBUG,
    CLIENT_WASM_CODE,
    CLIENT_BREAKPAD,
    CLIENT_SOURCEBUNDLE,
    CLIENT_FILES /* others are known and never looked for */
};

/* What a source is asked for as two sources of the tenant. */
enum client_part {
    CLIENT_PART_FILES,
    CLIENT_PART_TEXT, /* Breakpad's, in the layout native */
    CLIENT_PARTS
};

/* Reads the filters into own->filter; a missing or empty list of types is all.
 * Returns whether nothing is wrong; else that is in the walk's error. */
bool client_filter_read(struct schema_walk *walk, uint32_t filters,
                        struct client_filter *filter);

/* What a source is asked for; a set. */
enum client_wish {
    CLIENT_DEBUG_FILES = 1, /* by build id */
    CLIENT_KEY = 2,         /* by the key itself */
    CLIENT_PROGRAMS = 4,
    CLIENT_BUNDLES = 16, /* of source files */
    CLIENT_ALL = 8       /* nothing is left out */
};

/* The kinds that a part of a source is asked for, for a module under one of
 * its keys; 0: it is not asked.  Matching patterns uses up steps
 * (base/glob.h). */
unsigned client_filter_asks(const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            const symcache_key_t *key,
                            const struct client_source *own,
                            enum client_part part, size_t *steps);
