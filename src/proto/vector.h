
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sixteen characters at a time, for what each hit of the module reads and
 * writes: a name and a GUID.  The vectors are those of GCC and clang, which
 * make SSE2 or NEON of them, and other code where there is neither.
 */


#ifndef _SYMCACHE_VECTOR_H_INCLUDED_
#define _SYMCACHE_VECTOR_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include <string.h>


typedef uint8_t   symcache_vector_t __attribute__((vector_size(16)));
typedef uint8_t   symcache_vector_half_t __attribute__((vector_size(8)));
typedef uint16_t  symcache_vector_pairs_t __attribute__((vector_size(16)));
typedef uint64_t  symcache_vector_long_t __attribute__((vector_size(16)));


static inline int
symcache_vector_is_zero(symcache_vector_t v)
{
    symcache_vector_long_t  n = (symcache_vector_long_t) v;

    return (n[0] | n[1]) == 0;
}


/* Values of hex digits; sets bytes of *bad where there is none. */

static inline symcache_vector_t
symcache_vector_digits(symcache_vector_t c, symcache_vector_t *bad)
{
    symcache_vector_t  digit, letter;

    digit = (symcache_vector_t) (c - '0' < 10);
    letter = (symcache_vector_t) ((c | 0x20) - 'a' < 6);

    *bad |= ~(digit | letter);

    return (c & 0xf) + (letter & 9);
}


/* Joins the values of two digits each to a byte. */

static inline symcache_vector_half_t
symcache_vector_join(symcache_vector_t digits)
{
    symcache_vector_pairs_t  pairs = (symcache_vector_pairs_t) digits;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    pairs = (pairs << 4 | pairs >> 8) & 0xff;
#else
    pairs = (pairs >> 4 | pairs) & 0xff;
#endif

    return __builtin_convertvector(pairs, symcache_vector_half_t);
}


/* Reads a GUID from 32 hex digits; returns 0 if one of them is none. */

static inline int
symcache_vector_guid_read(const char *p, uint8_t guid[16])
{
    symcache_vector_t       a, b, bad = {0};
    symcache_vector_half_t  half[2];

    memcpy(&a, p, 16);
    memcpy(&b, p + 16, 16);

    half[0] = symcache_vector_join(symcache_vector_digits(a, &bad));
    half[1] = symcache_vector_join(symcache_vector_digits(b, &bad));

    memcpy(guid, half, 16);

    return symcache_vector_is_zero(bad);
}


/* Writes the 16 hex digits of 8 bytes; a is the letter 'a' or 'A'. */

static inline void
symcache_vector_hex_print(char *p, const uint8_t *bytes, char a)
{
    symcache_vector_t        digits;
    symcache_vector_half_t   half;
    symcache_vector_pairs_t  pairs;

    memcpy(&half, bytes, 8);

    pairs = __builtin_convertvector(half, symcache_vector_pairs_t);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    pairs = (pairs >> 4 | pairs << 8) & 0xf0f;
#else
    pairs = (pairs << 4 | pairs) & 0xf0f;
#endif

    digits = (symcache_vector_t) pairs;
    digits += '0' + ((symcache_vector_t) (digits > 9)
                     & (uint8_t) (a - '0' - 10));

    memcpy(p, &digits, 16);
}


/*
 * Writes a number in lower hex digits in front of p, where there must be room
 * for 16 of them, and returns its first digit.
 */

static inline char *
symcache_vector_number_print(char *p, uint64_t n)
{
    uint64_t  bytes = n;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes = __builtin_bswap64(n);
#endif

    symcache_vector_hex_print(p - 16, (const uint8_t *) &bytes, 'a');

    return p - 16 + __builtin_clzll(n | 1) / 4;
}


/*
 * Characters of a name in lower case; sets bytes of *bad where one has to be
 * looked at by itself: a part of a longer character, or one that no name has.
 */

static inline symcache_vector_t
symcache_vector_lower(symcache_vector_t c, symcache_vector_t *bad)
{
    typedef int8_t  signed_t __attribute__((vector_size(16)));

    symcache_vector_t  c10 = c | 0x10;

    *bad |= (symcache_vector_t) ((signed_t) c < 0x20)    /* or above 0x7f */
            | (symcache_vector_t) (c == '"')
            | (symcache_vector_t) (c == 0x7f)
            | (symcache_vector_t) (c10 == ':')               /* and * */
            | (symcache_vector_t) (c10 == '?')               /* and / */
            | (symcache_vector_t) ((c | 0x02) == '>')        /* and < */
            | (symcache_vector_t) ((c | 0x20) == '|');       /* and \ */

    return c | ((symcache_vector_t) (c - 'A' < 26) & 0x20);
}


/*
 * Copies a name of 8 bytes or more in lower case.  Returns 0 if it has
 * characters that have to be looked at one by one; the copy is then undefined.
 */

static inline int
symcache_vector_name(char *to, const char *p, size_t len)
{
    size_t             i;
    symcache_vector_t  c, bad = {0};

    if (len < 16) {

        /* two halves, which have some characters in common */

        memcpy(&c, p, 8);
        memcpy((char *) &c + 8, p + len - 8, 8);

        c = symcache_vector_lower(c, &bad);

        memcpy(to, &c, 8);
        memcpy(to + len - 8, (char *) &c + 8, 8);

        return symcache_vector_is_zero(bad);
    }

    for (i = 0; i < len - 16; i += 16) {
        memcpy(&c, p + i, 16);
        c = symcache_vector_lower(c, &bad);
        memcpy(to + i, &c, 16);
    }

    memcpy(&c, p + len - 16, 16);
    c = symcache_vector_lower(c, &bad);
    memcpy(to + len - 16, &c, 16);

    return symcache_vector_is_zero(bad);
}


#endif /* _SYMCACHE_VECTOR_H_INCLUDED_ */
