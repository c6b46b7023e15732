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

/*
 * Begins to decompress a large section in the background, so that it can be
 * read from its beginning before its end is there.  Returns NULL if that is not
 * possible here, in which case elf_inflate() is.  Nothing may be read that
 * elf_inflation_wait() has not waited for.
 */
struct elf_inflation *elf_inflation_begin(const struct elf_file *file,
                                          const struct elf_bytes *section,
                                          struct elf_bytes *inflated);

/* Waits until the first size bytes are there.  The last one is only there when
 * all of them are right.  Returns false if they never will be. */
bool elf_inflation_wait(struct elf_inflation *inflation, size_t size);

/* Waits for the end.  Returns false if the section does not match its header,
 * or is damaged.  The caller must then discard everything read from it and use
 * elf_inflate() instead. */
bool elf_inflation_end(struct elf_inflation *inflation);

#endif
