/*
 * Copyright (C) the ngx_symcache authors
 */
#include "glob.h"

#include <stdint.h>
#include <string.h>

static unsigned char glob_lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The size of the set at p, with its brackets; 0: it is not closed.  A "]"
 * that comes first is one of the set. */
static size_t glob_set_size(const char *p, size_t size)
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
static bool glob_set_has(const char *p, size_t size, char c)
{
    size_t i = 1, end = size - 1;
    bool is_not = p[1] == '!', has = false;

    for (i += is_not; i < end; i++) {
        if (i + 2 < end && p[i + 1] == '-') {
            has = has || (glob_lower(p[i]) <= glob_lower(c) &&
                          glob_lower(c) <= glob_lower(p[i + 2]));
            i += 2;
        } else {
            has = has || glob_lower(p[i]) == glob_lower(c);
        }
    }
    return has != is_not;
}

/* The bytes of the character at p, which need not be UTF-8. */
static size_t glob_character(const char *p, size_t size)
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
        n = pattern[i] == '[' ? glob_set_size(pattern + i, pattern_size - i)
                              : 1;
        if (n == 0) {
            return false;
        }
    }
    return true;
}

/* Whether what is no "*", in n bytes of a pattern, matches a character. */
static bool glob_match_one(const char *p, size_t n, char c)
{
    return p[0] == '?' ||
           (n > 1 ? glob_set_has(p, n, c) : glob_lower(p[0]) == glob_lower(c));
}

/* Whether the "*" at i begins "**" and a slash, as a whole folder of the
 * pattern. */
static bool glob_is_folders(const char *pattern, size_t size, size_t i)
{
    return size - i > 2 && pattern[i + 1] == '*' && pattern[i + 2] == '/' &&
           (i == 0 || pattern[i - 1] == '/');
}

/* The next place in a text that what is after a "*" may match from; SIZE_MAX:
 * there is none. */
static size_t glob_next_place(const char *text, size_t size, size_t from,
                              bool folders)
{
    const char *slash;

    if (from == size) {
        return SIZE_MAX;
    }
    if (!folders) {
        return from + glob_character(text + from, size - from);
    }
    slash = memchr(text + from, '/', size - from);
    return slash != NULL ? (size_t)(slash - text) + 1 : SIZE_MAX;
}

/* If there are several "*", only the last one is tried again: the part before
 * it has matched as early as it can.  For folders ("**" and a slash) that
 * place is after a slash, and so are all later places. */
bool glob_matches(const char *pattern, size_t pattern_size, const char *text,
                  size_t size, size_t *steps)
{
    size_t i = 0, k = 0, n, star = SIZE_MAX, from = SIZE_MAX;
    bool folders = false;

    while (k < size || i < pattern_size) {
        n = i == pattern_size   ? 0
            : pattern[i] == '[' ? glob_set_size(pattern + i, pattern_size - i)
                                : 1;
        if (*steps <= n) {
            *steps = 0;
            return false;
        }
        *steps -= n + 1;
        if (n > 0 && pattern[i] == '*') {
            folders = glob_is_folders(pattern, pattern_size, i);
            i += folders ? 3 : 1;
            folders = folders && i < pattern_size; /* all, at the end */
            star = i;
            from = k;
        } else if (n > 0 && k < size &&
                   glob_match_one(pattern + i, n, text[k])) {
            k += pattern[i] == '?' || pattern[i] == '['
                     ? glob_character(text + k, size - k)
                     : 1;
            i += n;
        } else {
            from = star == SIZE_MAX
                       ? SIZE_MAX
                       : glob_next_place(text, size, from, folders);
            if (from == SIZE_MAX) {
                return false;
            }
            i = star;
            k = from;
        }
    }
    return true;
}
