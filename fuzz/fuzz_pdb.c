/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a whole PDB, its identity and its conversion.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/pdb/identity.h"
#include "debuginfo/pdb/pdb.h"
#include "derived/symcache/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_output(void *context, const void *data, size_t size)
{
    *(size_t *)context += size;
    return data != NULL ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc, converted;
    size_t written;
    char error[200];
    struct failure failure;
    struct pdb_identity identity;
    struct debuginfo_result result = {0};
    struct symc_sink sink = {count_output, &written};

    written = 0;
    memset(&failure, 0, sizeof(failure));
    rc = pdb_identity_read(data, size, &identity, error, sizeof(error));
    converted = pdb_format.makes->convert(data, size, &sink, &result, &failure);
    if (converted == 0 && rc == 0 &&
        (result.age != identity.age ||
         memcmp(result.guid, identity.guid, 16) != 0)) {
        abort(); /* both readers must agree on the identity */
    }
    return 0;
}
