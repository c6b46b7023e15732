/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decorated names, their calling conventions, and the plain names:
 *
 *   _f          cdecl            f
 *   _f@8        stdcall          f
 *   @f@8        fastcall         f
 *   f@@16       vectorcall       f
 *
 * On x64 only vectorcall decorates C names.  The reference strips the other
 * decorations there, too, and so does this; names that begin with "_" there do
 * not come here unless its output is wanted.
 */

#include "undecorate.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Is this a decimal number of 32 bits, with an optional plus before it? */
static bool is_number(const char *p, size_t size)
{
    uint64_t value;

    if (size > 0 && *p == '+') {
        p++;
        size--;
    }
    if (size == 0) {
        return false;
    }
    for (value = 0; size > 0; p++, size--) {
        if (*p < '0' || *p > '9') {
            return false;
        }
        value = 10 * value + (uint64_t)(*p - '0');
        if (value > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Most names are plain since they have no mark of a decoration, which takes
 * the fewest steps to find out. */
static bool is_plain(const char *name, size_t size)
{
    return size == 0 || (*name != '_' && memchr(name, '@', size) == NULL) ||
           *name == '?' || memchr(name, '(', size) != NULL ||
           memchr(name, ':', size) != NULL || memchr(name, '<', size) != NULL;
}

void symc_undecorate(const char **name, size_t *size)
{
    const char *p, *end, *at;

    p = *name;
    if (is_plain(p, *size)) {
        return;
    }
    end = p + *size;
    at = memrchr(p, '@', *size);
    if (at != NULL && is_number(at + 1, (size_t)(end - at - 1))) {
        if (at > p && at[-1] == '@') {
            *size = (size_t)(at - 1 - p);
            return;
        }
        if (at > p && (*p == '_' || *p == '@')) {
            *name = p + 1;
            *size = (size_t)(at - p - 1);
            return;
        }
    }
    if (*p == '_') {
        *name = p + 1;
        *size -= 1;
    }
}
