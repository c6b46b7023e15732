/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats of originals, the debug files that SymCaches are made of.  All
 * code that depends on the format is a table with a row for each;
 * docs/internals/adding-a-debug-format.md lists these tables.
 */
#pragma once

#include "proto/key.h"

enum original_format {
    FORMAT_PDB,
    FORMAT_BREAKPAD,
    FORMAT_PE,
    FORMAT_ELF,
    FORMAT_MACHO,
    FORMAT_PORTABLEPDB,
    FORMAT_WASM,
    FORMAT_SYMBFILE,
    FORMAT_SOURCEBUNDLE,
    FORMAT_PROGUARD, /* a mapping */
    FORMAT_ANY,      /* a file that nothing is known of but its path */
    /* files that say what names and lines of debug files mean */
    FORMAT_UUIDMAP,
    FORMAT_BCSYMBOLMAP,
    FORMAT_IL2CPP,
    FORMAT_DWP /* a package of split DWARF, of ELF */
};
#define FORMATS 15

/* A set of formats has a bit 1 << FORMAT_... for each.  These are the debug
 * files. */
#define FORMATS_ALL ((1u << FORMAT_ANY) - 1)
#define FORMATS_AUXILIARY                                                     \
    (1u << FORMAT_UUIDMAP | 1u << FORMAT_BCSYMBOLMAP | 1u << FORMAT_IL2CPP |  \
     1u << FORMAT_DWP)

/* Their names, for error messages. */
#define CONFIG_FORMAT_NAMES                                                   \
    "\"pdb\", \"breakpad\", \"pe\", \"elf\", \"macho\", "                     \
    "\"portablepdb\", \"wasm\", \"symbfile\", \"sourcebundle\" or "            \
    "\"proguard\""

/* Returns the name that a format has in "inputs". */
const char *config_format_name(enum original_format format);

/* Returns the format of that name, or -1. */
int config_format_find(const char *name);

/* The longest text of a set of formats, with a NUL. */
#define CONFIG_FORMATS_TEXT (FORMATS * 24)

/* Writes the names of a set of formats, with up to 8 bytes between two. */
void config_formats_print(char buf[CONFIG_FORMATS_TEXT], unsigned formats,
                          const char *between);

/* The inverse for commas: returns the set, or 0 if a name is unknown. */
unsigned config_formats_parse(const char *text);

/*
 * Returns the formats of which files of this kind can be made, as far as that
 * depends on the kind and not on the transcoder; none for kinds that nothing
 * makes.
 */
unsigned config_format_inputs(symcache_kind_e kind);

/*
 * Returns the formats that an original of this kind may have; none if files of
 * the kind are made.
 */
unsigned config_format_originals(symcache_kind_e kind);
