/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a string of the string section: a length, and that many bytes of
 * UTF-8.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Points into the file; without a NUL at the end.  If data is NULL the string
 * is absent. */
struct symc_string {
    const char *data;
    size_t size;
};

/*
 * Reads the string at an offset of a section of size bytes, in the encoding of
 * the given SymCache version.  Returns NULL, or a text that says what is
 * wrong; then the string is absent.
 */
const char *symc_string_read(const uint8_t *section, size_t size,
                             size_t offset, uint32_t version,
                             struct symc_string *string);

/* The same without a check that the bytes are UTF-8, for a file that has been
 * verified. */
const char *symc_string_find(const uint8_t *section, size_t size,
                             size_t offset, uint32_t version,
                             struct symc_string *string);
