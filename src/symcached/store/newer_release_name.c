/*
 * Copyright (C) the ngx_symcache authors
 */
#include "newer_release_name.h"

#include <stddef.h>
#include <string.h>
#include "proto/version.h"

#define WORD_MAX 16
#define ID_MIN 16 /* digits: no id of a file is shorter */
#define HEX "0123456789abcdef"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define LETTERS_DIGITS LETTERS "0123456789"

/* The length of the word that a text begins with, or 0. */
static size_t next_word(const char *text)
{
    size_t n = strspn(text, LETTERS_DIGITS);

    return strspn(text, LETTERS) > 0 && n <= WORD_MAX ? n : 0;
}

/* Is it a dot and a word, at most `max` times, and nothing else? */
static bool is_end(const char *text, unsigned max)
{
    size_t n;

    for (; *text != '\0'; text += 1 + n, max--) {
        if (max == 0 || *text != '.' || (n = next_word(text + 1)) == 0) {
            return false;
        }
    }
    return true;
}

bool newer_release_name_is_id(const char *folder)
{
    size_t n = next_word(folder), hex;

    if (n == 0 || folder[n] != '-') {
        return false;
    }
    hex = strspn(folder + n + 1, HEX);
    return hex >= ID_MIN && hex % 2 == 0 && folder[n + 1 + hex] == '\0';
}

bool newer_release_name_is_file(const char *file, const char *name,
                                bool downloads)
{
    symcache_version_t version;
    char text[SYMCACHE_VERSION_TEXT_MAX + 1];
    size_t n = strlen(name);

    if (strncmp(file, name, n) != 0) {
        return false;
    }
    file += n;
    if (downloads) {
        return is_end(file, 1);
    }
    if (strncmp(file, "-v", 2) != 0) {
        return false;
    }
    file += 2;
    n = strspn(file, "0123456789.");
    /* The dot of the word follows the version. */
    if (n < 2 || file[n - 1] != '.' ||
        !symcache_version_parse(file, n - 1, &version) ||
        symcache_version_print(text, &version) != n - 1 ||
        memcmp(text, file, n - 1) != 0) {
        return false;
    }
    return is_end(file + n - 1, 2);
}
