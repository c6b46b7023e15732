/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symptr.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* text ----------------------------------------------------------------------
 */

static size_t symptr_put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }

    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static uint32_t symptr_unit(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static size_t symptr_from_utf16(const uint8_t *p, size_t len, bool big,
                                char *out)
{
    size_t i, n = 0;
    uint32_t c, low;

    for (i = 0; i + 1 < len; i += 2) {
        c = symptr_unit(p + i, big);
        if (c >= 0xd800 && c < 0xe000) {
            low = i + 3 < len ? symptr_unit(p + i + 2, big) : 0;
            if (c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            } else {
                c = 0xfffd;
            }
        }
        n += symptr_put_utf8(out + n, c);
    }

    return n;
}

/* Decodes to UTF-8 (or whatever the ANSI bytes are). */
static size_t symptr_decode(const uint8_t *data, size_t len, char *out)
{
    if (len >= 2 && data[0] == 0xff && data[1] == 0xfe) {
        return symptr_from_utf16(data + 2, len - 2, false, out);
    }
    if (len >= 2 && data[0] == 0xfe && data[1] == 0xff) {
        return symptr_from_utf16(data + 2, len - 2, true, out);
    }
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        len -= 3;
    }

    memcpy(out, data, len);
    return len;
}

static bool symptr_blank(char c)
{
    return (unsigned char)c <= ' ';
}

/* Leaves the text without blanks and NULs around it, NUL-terminated. */
static void symptr_trim(char *text, size_t len)
{
    size_t start = 0;

    while (len > 0 && symptr_blank(text[len - 1])) {
        len--;
    }
    while (start < len && symptr_blank(text[start])) {
        start++;
    }

    memmove(text, text + start, len - start);
    text[len - start] = '\0';
}

/* Cuts a prefix off and what blanks follow it. */
static bool symptr_cut(char *text, const char *prefix)
{
    size_t n = strlen(prefix);

    if (strncasecmp(text, prefix, n) != 0) {
        return false;
    }

    symptr_trim(text, strlen(text));
    memmove(text, text + n, strlen(text + n) + 1);
    symptr_trim(text, strlen(text));
    return true;
}

static enum symptr_kind symptr_bad(char *text, const char *why)
{
    snprintf(text, SYMPTR_TEXT, "%s", why);
    return SYMPTR_BAD;
}

static const char symptr_pdb[] = "Microsoft C/C++ ";

enum symptr_kind symptr_parse(const uint8_t *data, size_t len,
                              char text[SYMPTR_TEXT])
{
    size_t n, i;

    if (len > SYMPTR_MAX) {
        return symptr_bad(text, "file.ptr is too long");
    }

    if (len >= sizeof(symptr_pdb) - 1 &&
        memcmp(data, symptr_pdb, sizeof(symptr_pdb) - 1) == 0) {
        return symptr_bad(text, "file.ptr is a PDB");
    }

    n = symptr_decode(data, len, text);
    symptr_trim(text, n);
    n = strlen(text);

    if (n == 0) {
        return symptr_bad(text, "file.ptr is empty");
    }
    if (text[0] == '<') {
        return symptr_bad(text, "file.ptr is an HTML page");
    }

    if (symptr_cut(text, "MSG:")) {
        for (i = 0; text[i] != '\0'; i++) {
            text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
        }
        return SYMPTR_MESSAGE;
    }

    symptr_cut(text, "PATH:");

    for (i = 0; text[i] != '\0'; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            return symptr_bad(text, "file.ptr has several lines");
        }
    }
    if (i == 0) {
        return symptr_bad(text, "file.ptr is empty");
    }

    return strncasecmp(text, "http://", 7) == 0 ||
                   strncasecmp(text, "https://", 8) == 0
               ? SYMPTR_URL
               : SYMPTR_PATH;
}

/* locations -----------------------------------------------------------------
 */

static char symptr_fold(char c)
{
    if (c == '\\') {
        return '/';
    }
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The location without the "\\?\" forms: \\?\UNC\h\s -> \h\s, \\?\X: -> X: */
static const char *symptr_plain(const char *location, bool *unc)
{
    size_t i;

    static const char longs[] = "//?/unc/";

    for (i = 0; longs[i] != '\0' && symptr_fold(location[i]) == longs[i];
         i++) {
        continue;
    }

    *unc = false;
    if (longs[i] == '\0') {
        *unc = true;
        return location + i;
    }
    if (i >= 4) {
        return location + 4;
    }
    if (i >= 2) {
        *unc = true;
        return location + 2;
    }
    return location;
}

static bool symptr_drive(const char *location)
{
    char c = symptr_fold(location[0]);

    return c >= 'a' && c <= 'z' && location[1] == ':';
}

/* Length of the part of location that prefix covers, or 0. */
static size_t symptr_covers(const char *prefix, const char *location)
{
    size_t len = strlen(prefix), i;

    while (len > 0 && symptr_fold(prefix[len - 1]) == '/') {
        len--;
    }
    if (len == 0) {
        return 0;
    }

    for (i = 0; i < len; i++) {
        if (symptr_fold(prefix[i]) != symptr_fold(location[i])) {
            return 0;
        }
    }

    return symptr_fold(location[len]) == '/' ? len : 0;
}

/* Splits and checks; writes the components with "/" between them. */
static const char *symptr_components(const char *p, char *rel)
{
    size_t len, n = 0;

    for (;;) {
        for (len = 0; p[len] != '\0' && symptr_fold(p[len]) != '/'; len++) {
            if (p[len] == ':') {
                return "a component of the location has a colon";
            }
        }

        if (len == 0) {
            return "the location has an empty component";
        }
        if (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))) {
            return "the location has a dot component";
        }

        memcpy(rel + n, p, len);
        n += len;
        if (p[len] == '\0') {
            break;
        }
        rel[n++] = '/';
        p += len + 1;
    }

    rel[n] = '\0';
    return NULL;
}

static const char *symptr_map_relative(const char *base, const char *location,
                                       const char **root, char *rel)
{
    if (base == NULL) {
        return "the location is relative";
    }

    while (location[0] == '.' && symptr_fold(location[1]) == '/') {
        location += 2;
    }

    *root = base;
    return symptr_components(location, rel);
}

const char *symptr_map(const struct map_config *map, size_t nmap,
                       const char *base, const char *location,
                       const char **root, char rel[SYMPTR_TEXT])
{
    const struct map_config *best = NULL;
    const char *plain, *from;
    size_t i, len, best_len = 0;
    bool unc, from_unc;

    plain = symptr_plain(location, &unc);

    if (!unc && !symptr_drive(plain)) {
        if (symptr_fold(plain[0]) == '/' || plain != location) {
            return "the location is neither a share nor on a drive";
        }
        return symptr_map_relative(base, plain, root, rel);
    }

    for (i = 0; i < nmap; i++) {
        from = symptr_plain(map[i].from, &from_unc);
        len = from_unc == unc ? symptr_covers(from, plain) : 0;
        if (len > best_len) {
            best = &map[i];
            best_len = len;
        }
    }

    if (best == NULL) {
        return "no mapping for the location";
    }

    *root = best->to;
    return symptr_components(plain + best_len + 1, rel);
}
