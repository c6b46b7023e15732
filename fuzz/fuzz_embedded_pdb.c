/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: an image with a portable PDB in it.  What is unpacked has the
 * size that was stated.
 */
#include <stdlib.h>

#include "debuginfo/portablepdb/portablepdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc;
    size_t i, pdb_size;
    uint8_t *pdb;
    unsigned sum = 0;
    volatile unsigned sink;
    struct failure failure = {FAILURE_NONE, ""};

    rc = embedded_pdb_unpack(data, size, &pdb, &pdb_size, &failure);
    if (rc == 0 && !embedded_pdb_sniff(data, size)) {
        abort();
    }
    if (rc != 0 && failure.text[0] == '\0') {
        abort();
    }
    for (i = 0; rc == 0 && i < pdb_size; i++) {
        sum += pdb[i]; /* all of it is there and was written */
    }
    sink = sum;
    (void)sink;
    if (rc == 0) {
        free(pdb);
    }
    return 0;
}
