/*
 * Copyright (C) the ngx_symcache authors
 *
 * Type and id indices of link-time generated code that are not indices but
 * references: import of this module -> name of another module -> its export.
 */
#ifndef CROSSREF_H
#define CROSSREF_H

#include <stdint.h>

#include "dbi.h"
#include "names.h"
#include "pdb/msf.h"

#define CROSSREF_BIT 0x80000000u

/* The module that is being read; set by its reader. */
struct crossref_imports {
    const uint8_t *data; /* of its import subsection; NULL if it has none */
    uint32_t size;
};

struct crossref {
    const struct msf *msf;
    const struct dbi *dbi;
    const struct names *names;
    struct crossref_imports imports;
    uint32_t *by_name; /* hash of lower-cased module names: index + 1 */
    size_t num_slots;
    struct crossref_exports *exports; /* one a module, read when needed */
};

/* Starts from all zero but for msf, dbi and names. */
void crossref_free(struct crossref *crossref);

/* Returns 0 and the index in the TPI or IPI stream, or -1. */
int crossref_resolve(struct crossref *crossref, uint32_t reference,
                     uint32_t *index);

#endif
