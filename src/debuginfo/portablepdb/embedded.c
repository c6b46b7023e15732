/*
 * Copyright (C) the ngx_symcache authors
 */
#include "embedded.h"

#include <string.h>

#include "base/le.h"
#include "debuginfo/pe/pe.h"
#include "inflate.h"

#define MAGIC "MPDB"
#define HEADER 8 /* the magic and the size */

bool embedded_pdb_sniff(const uint8_t *data, size_t size)
{
    struct pe_debug_entry entry;

    return pe_debug_find(data, size, PE_DEBUG_EMBEDDED_PDB, &entry);
}

int embedded_pdb_unpack(const uint8_t *data, size_t size, uint8_t **pdb,
                        size_t *pdb_size, struct failure *failure)
{
    struct pe_debug_entry entry;

    if (!pe_debug_find(data, size, PE_DEBUG_EMBEDDED_PDB, &entry)) {
        return failure_set(failure, FAILURE_NOT_PDB,
                           "is not an image with a portable PDB in it");
    }
    if (entry.size < HEADER ||
        memcmp(entry.data, MAGIC, sizeof(MAGIC) - 1) != 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: no portable PDB where its debug "
                           "directory says");
    }
    *pdb_size = le32(entry.data + 4);
    if (*pdb_size > EMBEDDED_PDB_MAX) {
        return failure_set(failure, FAILURE_LIMIT,
                           "has a portable PDB in it that is too large: %zu "
                           "bytes",
                           *pdb_size);
    }
    switch (inflate_whole(entry.data + HEADER, entry.size - HEADER, *pdb_size,
                          pdb)) {
    case INFLATE_OK:
        return 0;
    case INFLATE_NO_MEMORY:
        return failure_memory(failure);
    case INFLATE_SIZE:
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: the portable PDB in it has not the "
                           "%zu bytes that are stated",
                           *pdb_size);
    default:
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: the portable PDB in it cannot be "
                           "unpacked");
    }
}
