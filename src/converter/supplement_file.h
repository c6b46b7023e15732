/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds what a conversion reads beside its file: where dwz has put what
 * several files share, files of split DWARF, and the image of a PDB.
 */
#pragma once

#include "conversion.h"
#include "debuginfo/supplement.h"

/*
 * Maps the file that belongs to the input, which is in memory.
 *
 * For an ELF file that is the one named by --altlink, or one next to the
 * input, in a folder .dwz there, or where Linux systems have it.  A child
 * process without rights reads which one that is.  The package of split DWARF
 * is the one of --dwp, or NAME.dwp next to the input.
 *
 * For a PDB that is converted to Breakpad's text, it is the one named by
 * --image, or one next to the input with the same name and the extension of an
 * image.
 *
 * For any file, a symbol map and a line mapping are the named ones.  The
 * reader of the file checks whether each is the right one.
 */
void supplement_map(const struct conversion *conversion, const uint8_t *data,
                    size_t size, struct supplement *supplement);

/* Maps the .dwo files of an ELF file in memory which are below the folder of
 * the input, or the one of --dwp, unless there is a package. */
void supplement_map_dwo(const struct conversion *conversion,
                        const uint8_t *data, size_t size,
                        struct supplement *supplement);
