/*
 * Copyright (C) the ngx_symcache authors
 *
 * "symcached --tier", for an operator: it has the secrets that a tier needs.
 */
#ifndef SYMCACHED_TIER_TIER_COMMAND_H
#define SYMCACHED_TIER_TIER_COMMAND_H

#include "config/config.h"

/* Returns the exit code. */
int tier_command(int argc, char **argv, const struct source_type *const *types,
                 const char *default_config);

#endif
