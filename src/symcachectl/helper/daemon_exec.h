/*
 * Copyright (C) the ngx_symcache authors
 *
 * Commands that a daemon itself does, because it knows the rules.
 */
#pragma once

#include "symcachectl/options.h"

/*
 * Becomes the daemon that the first of these arguments names, which end with
 * NULL: the one beside this program, in ../sbin, or in PATH.  Returns
 * COMMAND_IO after printing why there is none.
 */
int daemon_exec(const char *const *args);

/* Becomes symcached, for a command of its own: with those of the options that
 * were given, and the operands. */
int daemon_exec_command(const char *command, const struct option_spec *specs,
                        size_t count, int argc, char **argv);
