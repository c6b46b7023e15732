/*
 * Copyright (C) the ngx_symcache authors
 *
 * The names that a PE image exports.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "image.h"

/*
 * Reads the export directory in the order of its names.  Exports by ordinal
 * alone are left out; a forwarder has the address of its text.  A broken entry
 * is skipped, and a broken directory counts as absent, as in the reference.
 * Returns 0, or -1 with failure set.
 */
int pe_exports_read(const struct pe_image *image, struct symbol_list *symbols,
                    struct failure *failure);
