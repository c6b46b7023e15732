/*
 * Copyright (C) the ngx_symcache authors
 */
#include "d_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* its header declares basename() in another way than the C library */
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include "linkage_name.h"

#define EXPANDED_MAX ((uint64_t)1 << 22)

bool d_sniff(const char *name, size_t size)
{
    return size > 1 && name[0] == 'D' && isdigit((unsigned char)name[1]);
}

/* How far back the reference at p leads, which is a number of base 26 whose
 * last digit is in lower case; 0: there is none. */
static uint64_t distance(const char *p)
{
    uint64_t n = 0;

    if (*p++ != 'Q') {
        return 0;
    }
    while (*p >= 'A' && *p <= 'Z' && n < LINKAGE_NAME_MAX) {
        n = n * 26 + (uint64_t)(*p++ - 'A');
    }
    return *p >= 'a' && *p <= 'z' ? n * 26 + (uint64_t)(*p - 'a') : 0;
}

/*
 * References to types have what is between them and the type once more, which
 * may have references itself: 2^40 bytes in a name of 400.  libiberty cannot
 * be told that this is enough, and has memory of its own, so that it cannot be
 * left either.  So names are refused for which this may be too much; that is
 * one in a thousand of the standard library's.
 */
static bool may_be_endless(const char *name, size_t size)
{
    uint64_t expanded[LINKAGE_NAME_MAX + 2], back; /* before each byte */
    size_t i;

    expanded[0] = 0;
    for (i = 0; i < size && expanded[i] <= EXPANDED_MAX; i++) {
        back = distance(name + i);
        expanded[i + 1] = expanded[i] + 1;
        if (back == 0 || back > i) {
            continue;
        }
        expanded[i + 1] += isdigit((unsigned char)name[i - back])
                               ? size /* of a name */
                               : expanded[i] - expanded[i - back];
    }
    return expanded[i] > EXPANDED_MAX;
}

size_t d_demangle(const char *name, char *room, size_t most)
{
    size_t size = strlen(name);
    char *text = may_be_endless(name, size) ? NULL : dlang_demangle(name, 0);

    if (text == NULL) {
        return 0;
    }
    size = strlen(text);
    size = size <= most ? size : 0;
    memcpy(room, text, size);
    free(text);
    return size;
}
