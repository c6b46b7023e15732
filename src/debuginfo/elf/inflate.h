/*
 * Copyright (C) the ngx_symcache authors
 *
 * Compressed sections: those with the flag SHF_COMPRESSED (gABI, chapter 4) in
 * zlib's format or zstd's, and ".zdebug_" ones of older GNU tools.
 */
#ifndef DEBUGINFO_ELF_INFLATE_H
#define DEBUGINFO_ELF_INFLATE_H

#include "file.h"

/*
 * Decompresses a section into memory that scratch_free() takes back.
 * As in the "symbolic" library, a section is cut where its stored size ends or
 * its data does.  Returns 1, 0 if it is damaged, or of an unknown form, which
 * counts as an absent section, or -1 if memory runs out.
 */
int elf_inflate(const struct elf_file *file, const struct elf_bytes *section,
                struct elf_bytes *inflated);

#endif
