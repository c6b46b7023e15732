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

/* Decodes UTF-16 to UTF-8, and copies UTF-8 or ANSI text as it is. */
static size_t file_ptr_decode(const uint8_t *data, size_t len, char *out)
{
    size_t n = utf16_to_utf8(data, len, out);

    if (n != SIZE_MAX) {
        return n;
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
