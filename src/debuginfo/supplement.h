/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a conversion uses besides its file.  One process converts one file, so
 * there is one for all; by default there is nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The note of a conversion for which that file is missing; its build id
 * follows. */
#define ALTLINK_NOTE "names are missing that dwz has moved to the file with "  \
                     "build id "

/* The note of a text that has no unwind information, as that of a PDB for x64
 * or arm64 is in the image of its module. */
#define IMAGE_NOTE "there are no STACK records without the image of the module"

/* The notes of a dSYM whose names Apple has hidden: without its UUID map, and
 * with that, which has the UUID of the symbol map that is missing. */
#define HIDDEN_NOTE "names are hidden, and there is no UUID map"
#define SYMBOL_MAP_NOTE "names are hidden, and missing is the BCSymbolMap "

/* Notes of such files that are there: why they are of no use, or what is odd
 * about them.  Each ends with the note, or with "; ". */
#define UUID_MAP_SAYS "the UUID map "
#define SYMBOL_MAP_SAYS "the symbol map "
#define LINE_MAPPING_SAYS "the line mapping "

/* The note of lines of C++ that was made of C#. */
#define IL2CPP_NOTE "lines are those of C++ that il2cpp has made of C#"

/* The note of a conversion for which files of split DWARF are missing, and how
 * it goes on if the program has a build id. */
#define SPLIT_NOTE "inlined calls are missing of split DWARF"
#define SPLIT_OF_NOTE " of the program with build id "

struct supplement_file {
    const uint8_t *data; /* or NULL */
    size_t size;
};
struct symc_writer;

struct supplement {
    /* Names are those that the "symbolic" library finds, even where a debugger
     * knows better ones. */
    bool is_like_symbolic;

    /* A portable PDB is refused where the "symbolic" library refuses it, even
     * if most of it can be used. */
    bool is_strict;

    /* The file in which dwz has put what several files share, as
     * .gnu_debugaltlink names it; or NULL.  It counts only if its build id is
     * the one in that section. */
    struct supplement_file altlink;

    /* Of several ids that a file may have, the one that its result is to have,
     * in text order; or NULL. */
    const uint8_t *wanted_id;

    /* A UUID map, a BCSymbolMap and a line mapping of il2cpp, or NULL; what
     * they do. */
    struct supplement_file uuid_map;
    struct supplement_file symbol_map;
    struct supplement_file line_mapping;
    const struct symc_transform *transform;

    /* The PE image of a PDB, which has the unwind information of its functions;
     * or NULL.  It counts only if it names the PDB. */
    struct supplement_file image;

    /* Files of split DWARF: a package (.dwp), or .dwo files.  Of them, units
     * count that have the id of one in the file. */
    const struct supplement_file *split;
    size_t num_split;
};

void supplement_set(const struct supplement *supplement);
const struct supplement *supplement_get(void);

/* As symc_writer_init(), with the transform of this conversion. */
void supplement_begin_writer(struct symc_writer *writer);

/* Has the writer take decorations off names of Windows, of a module for arch
 * (SYMC_ARCH_...).  Only 32-bit x86 puts a "_" before names of C; the reference
 * takes one off all names, also of C++ as GCC writes them. */
void supplement_undecorate(struct symc_writer *writer, uint32_t arch);
