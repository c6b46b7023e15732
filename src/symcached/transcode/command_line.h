/*
 * Copyright (C) the ngx_symcache authors
 *
 * The program, arguments and environment that a transcoder is started with.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* Files that a conversion uses besides its original. */
enum second {
    SECOND_FILE, /* {map}: of a script; or into which dwz has moved a part of
                    an ELF file; or the image of a PDB */
    SECOND_UUID_MAP,
    SECOND_SYMBOL_MAP,
    SECOND_LINE_MAPPING,
    SECOND_DWP,
    SECONDS
};

struct command {
    char **argv;
    char **env;
    char program[PATH_MAX];
};

/* Absolute paths. */
struct command_paths {
    const char *pdb;     /* {pdb} */
    char *const *seconds; /* by enum second; NULL: there is none */
    const char *out;     /* {out}, _NT_SYMCACHE_PATH */
    const char *symbols; /* _NT_SYMBOL_PATH */
    const char *cwd;
    const char *tmp; /* /tmp, if it is confined */
    const char *check; /* PDB2SYMCACHE_CHECK, or NULL */
    bool has_file_addresses; /* the SymCache has addresses as the file has */
};

/* Does the command run our converter, perhaps through another program? */
bool command_is_ours(char *const *command);

/* Is our converter the program that is started? */
bool command_begins_ours(char *const *command);

/*
 * Fills command, which must be all zeroes.  Call command_clear() even after an
 * error.  Returns 0, or -1 with a sentence in error.
 */
int command_fill(struct command *command,
                 const struct transcoder_config *transcoder,
                 const struct command_paths *paths, char *error, size_t size);

/* Takes over argv, and copies program. */
void command_replace(struct command *command, const char *program,
                     char **argv);

void command_clear(struct command *command);
