/*
 * Copyright (C) the ngx_symcache authors
 */
#include "integrity.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool integrity_fails(const struct integrity *v, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(v->error, v->error_size, format, args);
    va_end(args);
    return false;
}

bool integrity_zeros(const struct integrity *v, size_t begin, size_t end,
                     const char *what)
{
    size_t i;

    for (i = begin; i < end; i++) {
        if (v->data[i] != 0) {
            return integrity_fails(v, "offset 0x%zx: %s: 0x%02x, not zero", i,
                                   what, v->data[i]);
        }
    }
    return true;
}

enum symc_verify_status integrity_strings(struct integrity *v,
                                          uint32_t version)
{
    size_t at;
    uint32_t number = 0;
    const char *fault;
    struct symc_string string;
    const uint8_t *section = v->data + v->strings;

    v->string_starts = calloc((size_t)v->string_bytes / 8 + 1, 1);
    if (v->string_starts == NULL) {
        (void)integrity_fails(v, "no memory for a check");
        return SYMC_NOT_VERIFIED;
    }
    for (at = 0; at < v->string_bytes; number++) {
        fault =
            symc_string_read(section, v->string_bytes, at, version, &string);
        if (fault != NULL) {
            (void)integrity_fails(v, "offset 0x%zx: string %u: %s",
                                  v->strings + at, number, fault);
            return SYMC_VIOLATED;
        }
        v->string_starts[at / 8] |= (uint8_t)(1u << at % 8);
        at = (size_t)((const uint8_t *)string.data - section) + string.size;
    }
    return SYMC_SOUND;
}

bool integrity_is_string(const struct integrity *v, uint32_t offset)
{
    return offset < v->string_bytes &&
           (v->string_starts[offset / 8] >> offset % 8 & 1) != 0;
}

void integrity_end(struct integrity *v)
{
    free(v->string_starts);
    v->string_starts = NULL;
}
