/*
 * Copyright (C) the ngx_symcache authors
 *
 * The symbols of functions in the symbol table of a Mach-O image.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "image.h"

/*
 * Reads the table of the last LC_SYMTAB: symbols of the sections __text and
 * __stubs, without one underscore in front.  A broken entry ends the table, as
 * in the reference.  Returns 0, or -1 with failure set.
 */
int macho_symbols_read(const struct macho_image *image,
                       struct symbol_list *symbols, struct failure *failure);
