/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parses the options of a subcommand, which may stand anywhere among its
 * operands: "--flag", "--name VALUE" or "--name=VALUE", "-c VALUE".
 * Everything after "--" is an operand.
 */
#pragma once

#include <stddef.h>

#include "base/array.h"

struct option_spec {
    const char *name;  /* "--json", "-c" */
    int *flag;         /* set to 1; or NULL */
    const char **text; /* set to the value; or NULL */
};

/*
 * Moves the operands to the front of argv.  Returns their number, or -1 after
 * printing what is wrong.
 */
int options_parse(const char *command, const struct option_spec *specs,
                  size_t count, int argc, char **argv);

/* Parses a decimal number from min to max.  If text is NULL, *number stays.
 * Returns 0, or COMMAND_USAGE after printing what is wrong. */
int options_number(const char *command, const char *name, const char *text,
                   unsigned min, unsigned max, unsigned *number);
