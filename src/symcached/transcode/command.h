/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a transcoder is started as: program, arguments and environment.
 */
#ifndef SYMCACHED_TRANSCODE_COMMAND_H
#define SYMCACHED_TRANSCODE_COMMAND_H

#include <limits.h>
#include <stddef.h>

#include "config/config.h"

struct command {
    char **argv;
    char **env;
    char program[PATH_MAX];
};

/* Absolute paths. */
struct command_paths {
    const char *pdb;     /* {pdb} */
    const char *out;     /* {out}, _NT_SYMCACHE_PATH */
    const char *symbols; /* _NT_SYMBOL_PATH */
};

/*
 * Fills command, which is all zeroes; command_clear() is for after an error,
 * too.  Returns 0, or -1 with a sentence in error.
 */
int command_fill(struct command *command,
                 const struct transcoder_config *transcoder,
                 const struct command_paths *paths, char *error, size_t size);

void command_clear(struct command *command);

#endif
