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
#define WORK_MAX (EXPANDED_MAX << 4) /* with what is read again */

bool d_sniff(const char *name, size_t size)
{
    return size > 1 && name[0] == 'D' && isdigit((unsigned char)name[1]);
}

/* How far back the reference at *p leads, which is a number of base 26 whose
 * last digit is in lower case; 0: there is none.  Goes behind it. */
static uint64_t distance(const char **p)
{
    const char *q = *p;
    uint64_t n = 0;

    if (*q++ != 'Q') {
        return 0;
    }
    while (*q >= 'A' && *q <= 'Z' && n < LINKAGE_NAME_MAX) {
        n = n * 26 + (uint64_t)(*q++ - 'A');
    }
    *p = q + 1;
    return *q >= 'a' && *q <= 'z' ? n * 26 + (uint64_t)(*q - 'a') : 0;
}

/* Notes where identifiers end, whose length is any last digits of a number. */
static void find_ends(const char *name, size_t size,
                      bool ends[LINKAGE_NAME_MAX + 2])
{
    size_t i, length = 0, power = 1, behind = size;

    memset(ends, 0, size + 1);
    for (i = size; i-- > 0;) {
        if (!isdigit((unsigned char)name[i])) {
            behind = i;
            length = 0;
            power = 1;
            continue;
        }
        length += (size_t)(name[i] - '0') * power;
        power *= power <= size ? 10 : 1;
        if (length <= size - behind) {
            ends[behind + length] = true;
        }
    }
}

/* How often libiberty may read on from here: what is behind a function's name
 * is its parameters, or else something of its own, and the length of a symbol
 * may have the digits behind it in it or not.  2 to the power of that. */
static unsigned count_retries(const char *p, bool is_end)
{
    size_t n;

    if (is_end && strchr("MFUVWRY", *p) != NULL) {
        return 1;
    }
    n = *p == 'S' ? strspn(p + 1, "0123456789") : 0;
    return n == 0 ? 0 : (unsigned)n - (p[1 + n] != 'Q' && p[1 + n] != '_');
}

/*
 * References to types have what is between them and the type once more, which
 * may have references itself: 2^40 bytes in a name of 400, and so may what is
 * read again.  libiberty cannot be told that this is enough, and has memory of
 * its own, so that it cannot be left either.  So names are refused for which
 * this may be too much; that is three in a thousand of the standard library's.
 */
static bool may_be_endless(const char *name, size_t size)
{
    uint64_t expanded[LINKAGE_NAME_MAX + 2]; /* before each byte */
    uint64_t back, most = EXPANDED_MAX;
    bool ends[LINKAGE_NAME_MAX + 2];
    size_t i;
    unsigned retries = 0;
    const char *p;

    find_ends(name, size, ends);
    expanded[0] = 0;
    for (i = 0; i < size && expanded[i] <= most; i++) {
        retries +=
            count_retries(name + i, ends[i] || (i > 0 && name[i - 1] == 'Z'));
        retries = retries < 63 ? retries : 63;
        most = WORK_MAX >> retries < most ? WORK_MAX >> retries : most;
        p = name + i;
        back = distance(&p);
        expanded[i + 1] = expanded[i] + 1;
        if (back == 0 || back > i) {
            continue;
        }
        ends[p - name] = true;
        expanded[i + 1] += isdigit((unsigned char)name[i - back])
                               ? size /* of a name */
                               : expanded[i] - expanded[i - back];
    }
    return expanded[i] > most;
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
