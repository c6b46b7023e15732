/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the first line of a Breakpad file, which says for which module it is:
 *
 *   MODULE <operating system> <architecture> <debug id> <debug file>
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct breakpad_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;    /* as SymCaches number them */
    const char *name; /* of the debug file; in data, without a NUL */
    size_t name_size; /* may be 0 */
    bool has_debug_info;  /* FUNC records */
    bool has_symbols;     /* PUBLIC records */
    bool has_unwind_info; /* STACK records */
};

/* Does a file begin as Breakpad's text does? */
bool breakpad_sniff(const uint8_t *data, size_t size);

/*
 * Reads the identity of a file from its first 320 bytes.  Returns 0, or -1
 * with a sentence in error that says what is wrong.
 */
int breakpad_identity_read(const uint8_t *data, size_t size,
                           struct breakpad_identity *identity, char *error,
                           size_t error_size);
