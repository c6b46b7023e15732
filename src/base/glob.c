/*
 * Copyright (C) the ngx_symcache authors
 */
#include "glob.h"

#include <stdint.h>

#define STEPS 4 /* for each byte of pattern and text */

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The size of the set at p, with its brackets; 0: it is not closed.  A "]"
 * that comes first is one of the set. */
static size_t set_size(const char *p, size_t size)
{
    size_t i = 1;

    i += i < size && p[i] == '!';
    for (i++; i < size; i++) {
        if (p[i] == ']') {
            return i + 1;
        }
    }
    return 0;
}

/* Whether a character of ASCII is in the set at p. */
static bool set_has(const char *p, size_t size, char c)
{
    size_t i = 1, end = size - 1;
    bool is_not = p[1] == '!', has = false;

    for (i += is_not; i < end; i++) {
        if (i + 2 < end && p[i + 1] == '-') {
            has = has || (lower(p[i]) <= lower(c) &&
                          lower(c) <= lower(p[i + 2]));
            i += 2;
        } else {
            has = has || lower(p[i]) == lower(c);
        }
    }
    return has != is_not;
}

/* The bytes of the character at p, which need not be UTF-8. */
static size_t character(const char *p, size_t size)
{
    size_t n = 1;

    while (((unsigned char)p[0] & 0xC0) == 0xC0 && n < size && n < 4 &&
           ((unsigned char)p[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

bool glob_is_valid(const char *pattern, size_t pattern_size)
{
    size_t i, n;

    for (i = 0; i < pattern_size; i += n) {
        n = pattern[i] == '[' ? set_size(pattern + i, pattern_size - i) : 1;
        if (n == 0) {
            return false;
        }
    }
    return true;
}

/* Whether what is no "*", in n bytes of a pattern, matches a character. */
static bool match_one(const char *p, size_t n, char c)
{
    return p[0] == '?' ||
           (n > 1 ? set_has(p, n, c) : lower(p[0]) == lower(c));
}

/* Of several "*" only the last one is tried again: what is before it has
 * matched as early as it can. */
bool glob_matches(const char *pattern, size_t pattern_size, const char *text,
                  size_t size)
{
    size_t i = 0, k = 0, n, steps = 0, star = SIZE_MAX, from = 0;

    while (k < size || i < pattern_size) {
        n = i == pattern_size   ? 0
            : pattern[i] == '[' ? set_size(pattern + i, pattern_size - i)
                                : 1;
        steps += n + 1;
        if (steps > STEPS * (pattern_size + size + 1)) {
            return false;
        }
        if (n > 0 && pattern[i] == '*') {
            star = i++;
            from = k;
        } else if (n > 0 && k < size &&
                   match_one(pattern + i, n, text[k])) {
            k += pattern[i] == '?' || pattern[i] == '['
                     ? character(text + k, size - k)
                     : 1;
            i += n;
        } else if (star == SIZE_MAX || from == size) {
            return false;
        } else {
            from += character(text + from, size - from);
            i = star + 1;
            k = from;
        }
    }
    return true;
}
