/*
 * Copyright (C) the ngx_symcache authors
 *
 * Debug information in DWARF, versions 2 to 5, of any kind of object file.
 *
 * The reader of an object file finds its sections; what of them becomes which
 * functions is decided here, as in the "symbolic" library.
 */
#ifndef DEBUGINFO_DWARF_H
#define DEBUGINFO_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_list.h"

struct failure;
struct symfile_writer;

/* A section.  An absent one is empty, and its data may be NULL then. */
struct dwarf_section {
    const uint8_t *data;
    size_t size;
};

/* A symbol of the object's symbol table.  An absent name is NULL: it hides
 * other names at the same address all the same. */
struct dwarf_symbol {
    uint64_t address; /* relative to the load address */
    const char *name;
    uint32_t name_size;
};

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

struct dwarf_object {
    struct dwarf_section sections[DWARF_SECTIONS];
    bool is_big; /* big-endian */
    /* In an object file that no linker has seen, address 0 is an address;
     * elsewhere it marks code that the linker removed. */
    bool is_relocatable;
    /* Taken off each address, to make it relative to the start of the image.
     * The difference wraps, so it may stand for a negative number. */
    uint64_t load_address;
    /* In ascending order, each address once.  They are preferred to the names
     * in the debug information. */
    const struct dwarf_symbol *symbols;
    size_t num_symbols;
};

/* The name of a section without punctuation at its beginning, for example
 * "debug_info". */
const char *dwarf_section_title(enum dwarf_section_name name);

/*
 * Adds all functions to the writer.  Returns 0, or -1 with failure set: damage
 * that the "symbolic" library does not tolerate, or more work than a file of
 * this size may need.
 */
int dwarf_convert(const struct dwarf_object *object,
                  struct symfile_writer *writer, struct failure *failure);

#endif
