/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the unwind information of a PE image.
 */
#include "pe.h"

#include <string.h>

#include "debug_directory.h"
#include "debuginfo/cfi.h"
#include "identity.h"
#include "image.h"
#include "sections.h"
#include "unwind.h"

#define RSDS_NAME 24 /* where the name of the PDB begins */

/* Finds the name of the PDB, as it is stored. */
static void find_file(const struct pe_image *image,
                      struct cficache_identity *identity)
{
    struct pe_debug_entry entry;

    if (pe_debug_find(image->data, image->size, PE_DEBUG_CODEVIEW, &entry) &&
        entry.size > RSDS_NAME && memcmp(entry.data, "RSDS", 4) == 0) {
        identity->file = (const char *)entry.data + RSDS_NAME;
        identity->file_size =
            strnlen(identity->file, entry.size - RSDS_NAME);
    }
}

int pe_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                struct failure *failure)
{
    struct pe_image image;
    struct pe_debug_id id;

    if (pe_open_valid(&image, data, size, failure) != 0) {
        return -1;
    }
    pe_debug_id(&image, &id);
    memcpy(cfi->identity.guid, id.guid, sizeof(id.guid));
    cfi->identity.age = id.age;
    cfi->identity.arch = pe_image_arch(&image);
    find_file(&image, &cfi->identity);
    return cfi->identity.arch == SYMC_ARCH_ARM64
               ? pe_unwind_arm64(&image, cfi, failure)
               : pe_unwind_amd64(&image, cfi, failure);
}
