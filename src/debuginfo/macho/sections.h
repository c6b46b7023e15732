/*
 * Copyright (C) the ngx_symcache authors
 *
 * The segments of a Mach-O image and their sections.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "image.h"

#define MACHO_NAME 16 /* bytes; shorter names end with a NUL */

#define MACHO_SECTION_MIN 68 /* bytes of the smaller header of a section */

/* Load commands can overlap, and claim the same bytes again and again.  All of
 * them together may claim only so many times the file's size, or its reader
 * would never end. */
#define MACHO_TIMES 64

struct macho_segment {
    const char *name;
    uint64_t address;
    uint64_t offset; /* in the file */
    uint64_t file_size;
    uint32_t num_sections;
    size_t sections; /* offset of their headers */
};

struct macho_section {
    const char *name;
    uint64_t address;
    uint64_t size;
    uint32_t offset; /* in the file, or 0: dsymutil left its content out */
    uint32_t flags;
};

/* Is a name that is stored in MACHO_NAME bytes this one? */
bool macho_name_is(const char *stored, const char *name);

/* Reads a load command as a segment.  Returns 1, 0 if it is another one, or -1
 * if it is cut off. */
int macho_segment_read(const struct macho_image *image,
                       const struct macho_command *command,
                       struct macho_segment *segment);

/* Is its content in the file? */
bool macho_segment_in_file(const struct macho_image *image,
                           const struct macho_segment *segment);

/* Does the file of an object end before its symbols do, or their names?  Those
 * of a linked image are in a segment. */
bool macho_symbols_are_cut(const struct macho_image *image,
                           const struct macho_command *command);

/* Reads section i of a segment.  Returns false if it is outside of the file.
 */
bool macho_section_read(const struct macho_image *image,
                        const struct macho_segment *segment, uint32_t i,
                        struct macho_section *section);

/* Returns the address at which the image wants to be loaded. */
uint64_t macho_load_address(const struct macho_image *image);

/*
 * Finds a section by its name without underscores, for example "debug_info", or
 * without "__z".  Its size is 0 if what the header says of it is outside of the
 * file.
 */
struct dwarf_found macho_section_find(const struct macho_image *image,
                                      const char *name);
