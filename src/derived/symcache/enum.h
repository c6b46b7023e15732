/*
 * Copyright (C) the ngx_symcache authors
 *
 * Numbers that a SymCache stores for architectures and languages, and the
 * names that the "symbolic" library gives them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the current number of an architecture.  The numbers that old files
 * use are translated; an unknown number becomes 0 ("unknown"). */
uint32_t symc_arch_number(uint32_t stored);

/* Returns the name of the architecture with this stored number, for example
 * "x86_64" or "unknown". */
const char *symc_arch_name(uint32_t stored);

/* Finds the number of an architecture by its name.  Returns false if no
 * architecture has this name. */
bool symc_arch_find(const char *name, uint32_t *number);

/* Returns the name of the language with this stored number, for example "cpp"
 * or "unknown". */
const char *symc_language_name(uint32_t stored);
