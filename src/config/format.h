/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats of originals, the debug files that SymCaches are made of.  All
 * code that depends on the format is a table with a row for each;
 * docs/internals/adding-a-debug-format.md lists these tables.
 */
#ifndef CONFIG_FORMAT_H
#define CONFIG_FORMAT_H

#include "proto/key.h"

enum original_format {
    FORMAT_PDB,
    FORMAT_BREAKPAD,
    FORMAT_PE,
    FORMAT_ELF,
    FORMAT_MACHO
};
#define FORMATS 5

/* A set of formats has a bit 1 << FORMAT_... for each. */
#define FORMATS_ALL ((1u << FORMATS) - 1)

/* Those that a transcoder may take; the others are only served.  Their names
 * are for error messages. */
#define FORMATS_INPUT (1u << FORMAT_PDB | 1u << FORMAT_BREAKPAD)
#define CONFIG_FORMAT_NAMES "\"pdb\" or \"breakpad\""

/* Returns the name that a format has in "inputs". */
const char *config_format_name(enum original_format format);

/* Returns the format of that name, or -1. */
int config_format_find(const char *name);

/* The longest text of a set of formats, with a NUL. */
#define CONFIG_FORMATS_TEXT (FORMATS * 16)

/* Writes the names of a set of formats, separated by commas. */
void config_formats_print(char buf[CONFIG_FORMATS_TEXT], unsigned formats);

/* The inverse: returns the set, or 0 if one of the names is unknown. */
unsigned config_formats_parse(const char *text);

/*
 * Returns the formats that an original of this kind may have; none if files of
 * the kind are made.
 */
unsigned config_format_originals(symcache_kind_e kind);

#endif
