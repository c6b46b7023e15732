/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "symfile_path.h"

static int is_separator(char c)
{
    return c == '/' || c == '\\';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Drive and separator or end, or \\server */
static int is_absolute_windows(const char *p, size_t size)
{
    if (size >= 2 && p[0] == '\\' && p[1] == '\\') {
        return 1;
    }
    return size >= 2 && is_letter(p[0]) && p[1] == ':' &&
           (size == 2 || is_separator(p[2]));
}

static int is_windows(const char *p, size_t size)
{
    return is_absolute_windows(p, size) ||
           (size > 0 && memchr(p, '\\', size) != NULL);
}

static int is_absolute(const char *p, size_t size)
{
    return (size > 0 && p[0] == '/') || is_absolute_windows(p, size);
}

static int is_pseudo(const char *p, size_t size)
{
    return size >= 2 && p[0] == '<' && p[size - 1] == '>';
}

static size_t append(char *buf, size_t size, size_t at, const char *p,
                     size_t n)
{
    n = n < size - at ? n : size - at;
    memcpy(buf + at, p, n);
    return at + n;
}

/* Joins other to the path in buf[0..len); size is without the NUL. */
static size_t join(char *buf, size_t size, size_t len,
                   const struct symfile_string *other)
{
    char separator;
    size_t n;
    const char *p;

    p = other->data;
    n = p == NULL ? 0 : other->size;
    if (n == 0) {
        return len;
    }
    if (len == 0 || is_pseudo(p, n) || is_absolute(p, n)) {
        return append(buf, size, 0, p, n);
    }
    if (p[0] == '\\' && is_absolute_windows(buf, len)) {
        return append(buf, size, 2, p, n);
    }
    separator = is_windows(buf, len) || is_windows(p, n) ? '\\' : '/';
    while (len > 0 && is_separator(buf[len - 1])) {
        len--;
    }
    len = append(buf, size, len, &separator, 1);
    while (n > 0 && is_separator(*p)) {
        p++;
        n--;
    }
    return append(buf, size, len, p, n);
}

/* Takes the last part off, unless there is none or it is a "..". */
static int drop_part(const char *buf, size_t floor, size_t *out)
{
    size_t at;

    for (at = *out; at > floor && !is_separator(buf[at - 1]); at--) {
    }
    if (*out == floor || (*out - at == 2 && memcmp(buf + at, "..", 2) == 0)) {
        return 0;
    }
    *out = at > floor ? at - 1 : floor;
    return 1;
}

/* Resolves "." and ".." in place. */
static size_t clean(char *buf, size_t len)
{
    char separator;
    size_t from, to, out, floor;

    separator = is_windows(buf, len) ? '\\' : '/';
    floor = separator == '/' && len > 0 && buf[0] == '/' ? 1 : 0;
    if (separator == '\\' && len >= 2 && buf[0] == '\\' && buf[1] == '\\') {
        floor = 2;
    }
    out = floor;
    for (from = floor; from < len; from = to + 1) {
        for (to = from; to < len && !is_separator(buf[to]); to++) {
        }
        if (to == from || (to - from == 1 && buf[from] == '.')) {
            continue;
        }
        if (to - from == 2 && memcmp(buf + from, "..", 2) == 0 &&
            drop_part(buf, floor, &out)) {
            continue;
        }
        if (out > floor) {
            buf[out++] = separator;
        }
        memmove(buf + out, buf + from, to - from);
        out += to - from;
    }
    return out;
}

size_t symfile_path(const struct symfile_file *file, char *buf, size_t size)
{
    size_t len;

    if (size == 0) {
        return 0;
    }
    len = join(buf, size - 1, 0, &file->comp_dir);
    len = join(buf, size - 1, len, &file->directory);
    len = join(buf, size - 1, len, &file->name);
    if (!is_pseudo(buf, len)) {
        len = clean(buf, len);
    }
    buf[len] = '\0';
    return len;
}
