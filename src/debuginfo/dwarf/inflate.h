/*
 * Copyright (C) the ngx_symcache authors
 *
 * Compressed sections: those of ELF with the flag SHF_COMPRESSED (gABI, chapter
 * 4) in zlib's format or zstd's, and those of older GNU tools and of Go's
 * linker, whose names begin with a "z".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dwarf_section;

/*
 * Decompresses a section into memory that scratch_free() takes back.  The
 * flags are those of the ELF file.  As in the "symbolic" library, a section is
 * cut where its stored size ends or its data does; one that is damaged, or of
 * an unknown form, counts as an absent one.  Returns 0, or -1 if memory runs
 * out.
 */
int dwarf_inflate(struct dwarf_section *section, bool is_64, bool is_big);

/*
 * Begins to decompress a large section in the background, so that it can be
 * read from its beginning before its end is there.  Returns NULL if that is not
 * possible here, in which case dwarf_inflate() is.  Nothing may be read that
 * dwarf_inflation_wait() has not waited for.
 */
struct dwarf_inflation *dwarf_inflation_begin(struct dwarf_section *section,
                                              bool is_64, bool is_big);

/* Waits until the first size bytes are there.  The last one is only there when
 * all of them are right.  Returns false if they never will be. */
bool dwarf_inflation_wait(struct dwarf_inflation *inflation, size_t size);

/* Waits for the end.  Returns as dwarf_sections_free(). */
bool dwarf_inflation_end(struct dwarf_inflation *inflation);
