/*
 * Copyright (C) the ngx_symcache authors
 *
 * Debug information in DWARF, versions 2 to 5, of any kind of object file.
 *
 * The reader of an object file finds its sections; what of them becomes which
 * functions is decided here, as in the "symbolic" library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "frames.h"
#include "inflate.h"
#include "section.h"
#include "symbol_list.h"

struct failure;
struct symc_writer;

/* The sections that are read; the names are those of ELF without ".debug_". */
enum dwarf_section_name {
    DWARF_INFO,
    DWARF_ABBREV,
    DWARF_LINE,
    DWARF_LINE_STR,
    DWARF_STR,
    DWARF_STR_OFFSETS,
    DWARF_ADDR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_SECTIONS /* how many there are */
};

/* A file of split DWARF: a .dwo file, or a package (.dwp) of them.  Of its
 * sections, those count that end with ".dwo", and .debug_cu_index. */
struct dwarf_split {
    struct dwarf_section sections[DWARF_SECTIONS];
    struct dwarf_section index; /* of a package */
};

/* Skeleton units whose other part is in none of the files. */
struct dwarf_missing {
    size_t units;
    char name[64]; /* the file of the first, without folders */
};

struct dwarf_object {
    struct dwarf_section sections[DWARF_SECTIONS];
    uint8_t *inflated[DWARF_SECTIONS]; /* those that were decompressed */
    bool is_big; /* big-endian */
    bool is_64;  /* an ELF file, which may have headers of compressed sections
                  * in 64 bits */
    bool reads_ahead; /* .debug_info may be decompressed while it is read */
    /* In an object file that no linker has seen, address 0 is an address;
     * elsewhere it marks code that the linker removed. */
    bool is_relocatable;
    /* Taken off each address, to make it relative to the start of the image.
     * The difference wraps, so it may stand for a negative number. */
    uint64_t load_address;
    /* Their names are preferred to those in the debug information. */
    const struct debuginfo_symbol *symbols;
    /* In ascending order, each once: the address of a symbol in the high half,
     * its number in the low one.  One without a name hides the names that the
     * debug information has at its address all the same. */
    const uint64_t *addresses;
    size_t num_addresses;
    /* The object in which dwz has put what several share, or NULL. */
    const struct dwarf_object *supplementary;
    /* Files of split DWARF that belong to the object, of the same byte order.
     * They may be damaged. */
    const struct dwarf_split *split;
    size_t num_split;
    struct dwarf_missing *missing; /* is counted up, unless it is NULL */
    /* Names are those that the "symbolic" library finds. */
    bool is_like_symbolic;
    /* That of .debug_info, or NULL: all of it is there */
    struct dwarf_inflation *inflation;
};

/* The name of a section without punctuation at its beginning, for example
 * "debug_info". */
const char *dwarf_section_title(enum dwarf_section_name name);

/* Finds a section of an image by its title. */
typedef struct dwarf_found dwarf_finder(const void *image, const char *title);

/* Finds all, and decompresses them.  Returns 0, or -1 with failure set. */
int dwarf_sections_find(struct dwarf_object *object, dwarf_finder *find,
                        const void *image, struct failure *failure);

/* Returns false if what was read ahead was damaged, or did not match its
 * header.  The caller must then discard everything read from it. */
bool dwarf_sections_free(struct dwarf_object *object);

/*
 * Adds all functions to the writer.  Returns 0, or -1 with failure set: damage
 * that the "symbolic" library does not tolerate, or more work than a file of
 * this size may need.
 */
int dwarf_convert(const struct dwarf_object *object,
                  struct symc_writer *writer, struct failure *failure);

/*
 * Writes the paths of the files that skeleton units name, each with its NUL,
 * as far as there is room: those of split DWARF.  Damage ends it.  Returns how
 * many bytes were written.
 */
size_t dwarf_split_paths(const struct dwarf_object *object, char *paths,
                         size_t room);
