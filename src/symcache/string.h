/*
 * Copyright (C) the ngx_symcache authors
 *
 * One string of a string section: a length and that many bytes of UTF-8.
 */
#ifndef SYMCACHE_STRING_H
#define SYMCACHE_STRING_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a file, not ended by NUL; data NULL: absent. */
struct symfile_string {
    const char *data;
    size_t size;
};

/*
 * Reads the string at offset of a section of size bytes, as a SymCache of the
 * given version has it.  Returns NULL, or what is wrong with it; then the
 * string is absent.
 */
const char *symfile_string_read(const uint8_t *section, size_t size,
                                size_t offset, uint32_t version,
                                struct symfile_string *string);

#endif
