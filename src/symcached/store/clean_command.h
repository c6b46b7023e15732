/*
 * Copyright (C) the ngx_symcache authors
 *
 * "symcached --clean": one pass of cleaning by a command.
 */
#ifndef SYMCACHED_STORE_CLEAN_COMMAND_H
#define SYMCACHED_STORE_CLEAN_COMMAND_H

struct source_type;

/* main() of "symcached --clean [--unknown] [--dry-run] [--json] [-c FILE]". */
int clean_command(int argc, char **argv,
                  const struct source_type *const *types,
                  const char *default_config);

#endif
