/*
 * Copyright (C) the ngx_symcache authors
 *
 * Options of a subcommand, anywhere among its operands: "--flag",
 * "--name VALUE" or "--name=VALUE", "-c VALUE"; what follows "--" is operands.
 */
#ifndef SYMCACHECTL_OPTIONS_H
#define SYMCACHECTL_OPTIONS_H

#include <stddef.h>

struct option_spec {
    const char *name;  /* "--json", "-c" */
    int *flag;         /* set to 1; or NULL */
    const char **text; /* set to the value; or NULL */
};

/*
 * Moves the operands to the front of argv.  Returns their number, or -1 after
 * having said what is wrong.
 */
int options_parse(const char *command, const struct option_spec *specs,
                  size_t count, int argc, char **argv);

/* A decimal number from min to max.  Returns 0, or COMMAND_USAGE after having
 * said what is wrong; a NULL text leaves *number. */
int options_number(const char *command, const char *name, const char *text,
                   unsigned min, unsigned max, unsigned *number);

#endif
