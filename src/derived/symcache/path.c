/*
 * Copyright (C) the ngx_symcache authors
 */

#include "path.h"

#include <stdbool.h>
#include <string.h>

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "\\server", "//server", "C:", "C:\" */
static bool is_windows_root(const char *path, size_t size)
{
    if (size < 2) {
        return false;
    }
    if (is_separator(path[0])) {
        return path[0] == path[1];
    }
    return is_letter(path[0]) && path[1] == ':' &&
           (size == 2 || is_separator(path[2]));
}

static bool is_windows(const char *path, size_t size)
{
    return is_windows_root(path, size) || memchr(path, '\\', size) != NULL;
}

/* Resolves the path other relative to the path of size bytes in out.  The
 * result replaces what is in out; returns its length. */
static size_t join(char *out, size_t size, const struct symc_string *other)
{
    char separator;
    size_t skip;
    const char *p;

    p = other->data;
    if (p == NULL || other->size == 0) {
        return size;
    }
    if (size == 0 || p[0] == '/' || is_windows_root(p, other->size) ||
        (p[0] == '<' && p[other->size - 1] == '>')) {
        memcpy(out, p, other->size);
        return other->size;
    }
    if (p[0] == '\\') {
        /* relative to the root of the current drive */
        size = is_windows_root(out, size) ? 2 : 0;
        memcpy(out + size, p, other->size);
        return size + other->size;
    }
    separator =
        is_windows(out, size) || is_windows(p, other->size) ? '\\' : '/';
    while (size > 0 && is_separator(out[size - 1])) {
        size--;
    }
    for (skip = 0; skip < other->size && is_separator(p[skip]); skip++) {
    }
    out[size++] = separator;
    memcpy(out + size, p + skip, other->size - skip);
    return size + other->size - skip;
}

/* Returns the length of path without its last component and the separator
 * before that. */
static size_t parent(const char *path, size_t size)
{
    while (size > 0) {
        if (is_separator(path[--size])) {
            break;
        }
    }
    return size;
}

/* Does a component begin with a dot?  Paths have few dots, which memchr()
 * finds faster than a loop over all bytes. */
static bool has_dots(const char *path, size_t size)
{
    const char *p = path, *end = path + size;

    for (; p < end && (p = memchr(p, '.', (size_t)(end - p))) != NULL; p++) {
        if (p == path || is_separator(p[-1])) {
            return true;
        }
    }
    return false;
}

/* Makes all separators of a path without dots the same, and removes the last
 * one after it.  Paths that are not of Windows have one kind only. */
static size_t clean_separators(char *path, size_t size, char separator)
{
    char *p = path, *end = path + size;

    for (; separator == '\\' && p < end &&
           (p = memchr(p, '/', (size_t)(end - p))) != NULL;
         p++) {
        *p = separator;
    }
    return size > 0 && path[size - 1] == separator ? size - 1 : size;
}

/*
 * Removes "." and ".." components and makes all separators the same, in place:
 * the output never gets ahead of the input.  The root is no special case: the
 * empty component before a leading separator is treated like any other, so
 * ".." can remove it.
 */
static size_t clean(char *path, size_t size)
{
    char separator;
    int joins, is_above;
    size_t i, end, len, out;

    separator = is_windows(path, size) ? '\\' : '/';
    if (!has_dots(path, size)) {
        return clean_separators(path, size, separator);
    }
    joins = is_above = 0;
    out = 0;
    for (i = 0; i < size; i = end + 1) {
        for (end = i; end < size && !is_separator(path[end]); end++) {
        }
        len = end - i;
        if (len == 1 && path[i] == '.') {
            continue;
        }
        if (len == 2 && path[i] == '.' && path[i + 1] == '.' && !is_above) {
            if (out > 0) {
                out = parent(path, out);
                joins = joins && out > 0;
                continue;
            }
            is_above = 1;
            joins = 0;
        }
        if (joins) {
            path[out++] = separator;
        }
        memmove(path + out, path + i, len);
        out += len;
        joins = 1;
    }
    return out;
}

size_t symc_path_room(const struct symc_string *comp_dir,
                      const struct symc_string *directory,
                      const struct symc_string *name)
{
    /* two separators, and two bytes for a drive */
    return comp_dir->size + directory->size + name->size + 4;
}

size_t symc_path_join(const struct symc_string *comp_dir,
                      const struct symc_string *directory,
                      const struct symc_string *name, char *out)
{
    size_t size;

    size = join(out, 0, comp_dir);
    size = join(out, size, directory);
    size = join(out, size, name);
    return clean(out, size);
}
