/*
 * Copyright (C) the ngx_symcache authors
 *
 * Runs the converter for a subcommand.
 */
#pragma once

#include "converter/converter.h"

/* Converts a file until a signal ends it.  Returns an exit code; the converter
 * has printed what is wrong. */
int run_conversion(const struct conversion *conversion);
