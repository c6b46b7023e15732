/*
 * Copyright (C) the ngx_symcache authors
 *
 * In link-time generated code, some type and id indices are references
 * instead: they select an import of this module, which names another module,
 * and one of that module's exports.
 */
#pragma once

#include <stdint.h>

#include "base/hash_table.h"
#include "dbi.h"
#include "info_stream.h"
#include "msf.h"

#define CROSSREF_BIT 0x80000000u

/* The import subsection of a module; data is NULL if it has none. */
struct crossref_imports {
    const uint8_t *data;
    uint32_t size;
};

/* The module that an import names. */
struct crossref_import {
    uint32_t at;     /* offset in the subsection */
    uint32_t module; /* or one of the marks in crossref.c */
};

#define CROSSREF_IMPORTS 2048 /* a reference has 11 bits for the import */

struct crossref {
    const struct msf *msf;
    const struct dbi *dbi;
    const struct info_stream *info;
    struct crossref_imports imports;
    struct crossref_import *list; /* of imports, read when first needed */
    uint32_t count;
    int is_listed;
    struct table by_name; /* of modules, without case: index + 1 */
    struct crossref_exports *exports; /* per module, read when needed */
    uint64_t export_bytes;            /* bytes read for exports, in total */
    uint64_t work;                    /* references followed, in total */
};

/* Must be all zero at the beginning, except for msf, dbi and info. */
void crossref_free(struct crossref *crossref);

/* Goes on to another module, which has these imports. */
void crossref_module(struct crossref *crossref,
                     const struct crossref_imports *imports);

/* Resolves a reference.  Returns 0 and the index in the TPI or IPI stream, or
 * -1 if there is none. */
int crossref_resolve(struct crossref *crossref, uint32_t reference,
                     uint32_t *index);
