/*
 * Copyright (C) the ngx_symcache authors
 */
#include "file_ptr.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/control.h"
#include "base/utf8.h"

/* text -------------------------------------------------------------------- */

static uint32_t file_ptr_unit(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static size_t file_ptr_from_utf16(const uint8_t *p, size_t len, bool big,
                                  char *out)
{
    size_t i, n = 0;
    uint32_t c, pair;

    for (i = 0; i + 1 < len; i += 2) {
        c = file_ptr_unit(p + i, big);
        pair = i + 3 < len ? utf16_pair(c, file_ptr_unit(p + i + 2, big)) : 0;
        if (pair != 0) {
            c = pair;
            i += 2;
        }
        /* half of a pair is written as U+FFFD */
        n += utf8_encode(out + n, c);
    }

    return n;
}

/* Decodes UTF-16 to UTF-8, and copies UTF-8 or ANSI text as it is. */
static size_t file_ptr_decode(const uint8_t *data, size_t len, char *out)
{
    if (len >= 2 && data[0] == 0xff && data[1] == 0xfe) {
        return file_ptr_from_utf16(data + 2, len - 2, false, out);
    }
    if (len >= 2 && data[0] == 0xfe && data[1] == 0xff) {
        return file_ptr_from_utf16(data + 2, len - 2, true, out);
    }
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        len -= 3;
    }

    memcpy(out, data, len);
    return len;
}

static bool file_ptr_blank(char c)
{
    return (unsigned char)c <= ' ';
}

/* Leaves the text without blanks and NULs around it, NUL-terminated. */
static void file_ptr_trim(char *text, size_t len)
{
    size_t start = 0;

    while (len > 0 && file_ptr_blank(text[len - 1])) {
        len--;
    }
    while (start < len && file_ptr_blank(text[start])) {
        start++;
    }

    memmove(text, text + start, len - start);
    text[len - start] = '\0';
}

/* Cuts off a prefix and the blanks after it.  Returns whether the prefix was
 * there. */
static bool file_ptr_cut(char *text, const char *prefix)
{
    size_t n = strlen(prefix);

    if (strncasecmp(text, prefix, n) != 0) {
        return false;
    }

    file_ptr_trim(text, strlen(text));
    memmove(text, text + n, strlen(text + n) + 1);
    file_ptr_trim(text, strlen(text));
    return true;
}

static enum file_ptr_kind file_ptr_bad(char *text, const char *why)
{
    snprintf(text, FILE_PTR_TEXT, "%s", why);
    return FILE_PTR_BAD;
}

/* Is a text without "PATH:" a location?  Any other text is probably a message
 * that a server sends in place of the file. */
static bool file_ptr_is_location(const char *text)
{
    static const char *const starts[] = {"\\\\", "//", ".\\", "./"};
    size_t i;

    for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(text, starts[i], 2) == 0) {
            return true;
        }
    }
    return isalpha((unsigned char)text[0]) && text[1] == ':' &&
           (text[2] == '\\' || text[2] == '/');
}

static const char file_ptr_pdb[] = "Microsoft C/C++ ";

enum file_ptr_kind file_ptr_parse(const uint8_t *data, size_t len,
                                  char text[FILE_PTR_TEXT])
{
    size_t n, i;
    bool named;

    if (len > FILE_PTR_MAX) {
        return file_ptr_bad(text, "file.ptr is too long");
    }

    if (len >= sizeof(file_ptr_pdb) - 1 &&
        memcmp(data, file_ptr_pdb, sizeof(file_ptr_pdb) - 1) == 0) {
        return file_ptr_bad(text, "file.ptr is a PDB");
    }

    n = file_ptr_decode(data, len, text);
    file_ptr_trim(text, n);
    n = strlen(text);

    if (n == 0) {
        return file_ptr_bad(text, "file.ptr is empty");
    }
    if (text[0] == '<') {
        return file_ptr_bad(text, "file.ptr is an HTML page");
    }

    if (file_ptr_cut(text, "MSG:")) {
        for (i = 0; text[i] != '\0'; i++) {
            text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
        }
        return FILE_PTR_MESSAGE;
    }

    named = file_ptr_cut(text, "PATH:");

    if (control_in(text)) {
        return file_ptr_bad(text, "file.ptr has several lines");
    }
    if (text[0] == '\0') {
        return file_ptr_bad(text, "file.ptr is empty");
    }

    if (strncasecmp(text, "http://", 7) == 0 ||
        strncasecmp(text, "https://", 8) == 0) {
        return FILE_PTR_URL;
    }
    return named || file_ptr_is_location(text)
               ? FILE_PTR_PATH
               : file_ptr_bad(text, "file.ptr names no location");
}
