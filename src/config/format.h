/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats of originals, the debug files that SymCaches are made of.  All
 * code that depends on the format is a table with a row for each;
 * docs/internals/adding-a-debug-format.md lists these tables.
 */
#ifndef CONFIG_FORMAT_H
#define CONFIG_FORMAT_H

enum original_format { FORMAT_PDB, FORMAT_BREAKPAD };
#define FORMATS 2

/* All names, for error messages. */
#define CONFIG_FORMAT_NAMES "\"pdb\" or \"breakpad\""

/* Returns the name that a format has in "inputs". */
const char *config_format_name(enum original_format format);

/* Returns the format of that name, or -1. */
int config_format_find(const char *name);

#endif
