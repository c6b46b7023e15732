/*
 * Copyright (C) the ngx_symcache authors
 *
 * Type and id indices of link-time generated code that are not indices but
 * references: import of this module -> name of another module -> its export.
 */
#ifndef DEBUGINFO_PDB_CROSSREF_H
#define DEBUGINFO_PDB_CROSSREF_H

#include <stdint.h>

#include "base/table.h"
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
    uint32_t at;     /* in the subsection */
    uint32_t module; /* or one of the marks in crossref.c */
};

#define CROSSREF_IMPORTS 2048 /* as many can be referred to */

struct crossref {
    const struct msf *msf;
    const struct dbi *dbi;
    const struct info_stream *info;
    struct crossref_imports imports;
    struct crossref_import *list; /* of imports, once one was asked for */
    uint32_t count;
    int is_listed;
    struct table by_name; /* of modules, without case: index + 1 */
    struct crossref_exports *exports; /* one a module, read when needed */
    uint64_t export_bytes;            /* read for them, in all */
    uint64_t work;                    /* references followed, in all */
};

/* Starts from all zero but for msf, dbi and names. */
void crossref_free(struct crossref *crossref);

/* Takes up the module that is being read. */
void crossref_module(struct crossref *crossref,
                     const struct crossref_imports *imports);

/* Returns 0 and the index in the TPI or IPI stream, or -1. */
int crossref_resolve(struct crossref *crossref, uint32_t reference,
                     uint32_t *index);

#endif
