/*
 * Copyright (C) the ngx_symcache authors
 *
 * Numbers that a SymCache stores for architectures and languages, and the
 * names that the "symbolic" library gives them.
 */
#ifndef SYMCACHE_ENUM_H
#define SYMCACHE_ENUM_H

#include <stdbool.h>
#include <stdint.h>

/* The present number of an architecture, also for the numbers of old files;
 * 0 (unknown) for those that mean nothing. */
uint32_t symfile_arch_number(uint32_t stored);

/* Name of an architecture by its stored number: "x86_64", "unknown". */
const char *symfile_arch_name(uint32_t stored);

/* The number of a name of an architecture; false if there is none. */
bool symfile_arch_find(const char *name, uint32_t *number);

/* Name of a language by its stored number: "cpp", "unknown". */
const char *symfile_language_name(uint32_t stored);

#endif
