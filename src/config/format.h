/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats of originals, which are what SymCaches are made of: the debug
 * file of a build in one of these.  Whatever depends on the format is a table
 * with a row for each; docs/internals/adding-a-debug-format.md names them.
 */
#ifndef CONFIG_FORMAT_H
#define CONFIG_FORMAT_H

enum original_format { FORMAT_PDB, FORMAT_BREAKPAD };
#define FORMATS 2

/* All names, for error messages. */
#define CONFIG_FORMAT_NAMES "\"pdb\" or \"breakpad\""

/* The name of a format in "inputs". */
const char *config_format_name(enum original_format format);

/* The format of that name, or -1. */
int config_format_find(const char *name);

#endif
