/*
 * Copyright (C) the ngx_symcache authors
 *
 * One file is converted: from its name to the output under its final name.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "output_check.h"
#include "debuginfo/format.h"
#include "slice_choice.h"

struct conversion {
    const char *program; /* for messages */
    const char *input;   /* path */
    const char *shown;   /* what it is in messages; or NULL: its path */
    const char *map;     /* path of a script's source map; or NULL */
    const char *output;  /* path, "-" is standard output; or NULL: in folder */
    const char *folder;  /* "." or another one that exists */
    bool makes_tree; /* <folder>/<name>/<id>/<file> and not <folder>/<file> */
    bool is_like_symbolic; /* names are those that the "symbolic" library has */
    const char *altlink;   /* path of the file of .gnu_debugaltlink, or NULL */
    bool has_file_addresses; /* of an ELF file: see debuginfo_result */
    const char *image; /* path of the image of a PDB, or NULL */
    const char *dwp;   /* path of a package of split DWARF, or of a folder with
                        * its files; or NULL: looked for beside the input */
    const char *uuid_map;     /* path of that of a dSYM, or NULL */
    const char *symbol_map;   /* path of a BCSymbolMap, or NULL */
    const char *line_mapping; /* path of that of il2cpp, or NULL */
    bool is_strict;  /* refuses all that the "symbolic" library refuses */
    bool has_sandbox;
    bool is_durable; /* the output is on the disk before it has its name */
    bool has_wanted; /* the output must be wanted */
    symcache_kind_e wanted;
    bool is_text; /* the output is Breakpad's text, and no CfiCache */
    /* Makes another output than those of the formats, which must be named; or
     * NULL.  So pdb2symcache need not have what only others make. */
    debuginfo_convert *make;
    struct slice_choice choice; /* of the image, if the file has several */
    const struct output_check
        *check; /* of the output; or NULL: there is none */
};

static inline const char *conversion_shown(const struct conversion *c)
{
    return c->shown != NULL ? c->shown : c->input;
}

/* Finds an output by its name, for example "symcache".  Returns false if
 * there is none. */
bool conversion_output(const char *name, symcache_kind_e *output);

/*
 * Can the files that a command line names beside the input be read?  Returns
 * false after a line on standard error about the first that cannot.  An
 * altlink must be no folder, but a path that leads nowhere keeps the usual
 * ones from being looked for.
 */
bool conversion_has_files(const struct conversion *conversion);

/*
 * Converts, in a child process without rights, and writes what there is to
 * say to standard error.  Ends early when a signal sets *stop.  Returns
 * FAILURE_NONE or why there is no output.
 */
enum failure_code conversion_run(const struct conversion *conversion,
                                 const volatile sig_atomic_t *stop);

/*
 * Converts open files into another one, in a child process without rights:
 * input and, if it is not -1, the source map of a script.  Names in messages
 * are those of the conversion.  Returns FAILURE_NONE, or why there is no
 * output, with failure->text set unless the child has printed it.
 */
enum failure_code conversion_make(const struct conversion *conversion,
                                  int input, int map, int output,
                                  const volatile sig_atomic_t *stop,
                                  struct failure *failure);
