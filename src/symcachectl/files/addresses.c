/*
 * Copyright (C) the ngx_symcache authors
 */

#include "addresses.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"

#define ROW_MAX 0xFFFFFF

int addresses_parse(const char *text, size_t size, uint64_t *address)
{
    size_t i = size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' ? 2 : 0;

    return hex_number(text + i, size - i, address) ? 0 : -1;
}

int addresses_parse_method(const char *text, size_t size, uint64_t *address)
{
    uint64_t method, il;
    const char *plus = memchr(text, '+', size);

    if (plus == NULL ||
        addresses_parse(text, (size_t)(plus - text), &method) != 0 ||
        addresses_parse(plus + 1, size - (size_t)(plus - text) - 1, &il) !=
            0 ||
        il > UINT32_MAX) {
        return -1;
    }
    method -= method > ROW_MAX ? ADDRESSES_TOKEN : 0;
    if (method > ROW_MAX) {
        return -1;
    }
    *address = method << 32 | il;
    return 0;
}

void addresses_init(struct addresses *a)
{
    a->is_end = a->error = 0;
    a->line = 0;
    a->begin = a->end = 0;
    a->text = a->data;
    a->size = 0;
}

bool addresses_is_ready(const struct addresses *a)
{
    return a->is_end ||
           memchr(a->data + a->begin, '\n', a->end - a->begin) != NULL;
}

/* Returns 0; or -1 when nothing more can arrive.  A full buffer without a
 * line end is not an address. */
static int fill_buffer(struct addresses *a)
{
    ssize_t n;

    memmove(a->data, a->data + a->begin, a->end - a->begin);
    a->end -= a->begin;
    a->begin = 0;
    if (a->end == sizeof(a->data)) {
        return -1;
    }
    do {
        n = read(STDIN_FILENO, a->data + a->end, sizeof(a->data) - a->end);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        a->error = errno;
        return -1;
    }
    a->is_end = n == 0;
    a->end += (size_t)n;
    return 0;
}

/* Removes a line and the blanks around it.  Returns the same as
 * addresses_next(). */
static int next_line(struct addresses *a)
{
    const char *newline;

    for (;;) {
        a->text = a->data + a->begin;
        a->size = a->end - a->begin;
        newline = memchr(a->text, '\n', a->size);
        if (newline != NULL) {
            a->size = (size_t)(newline - a->text);
            a->begin += a->size + 1;
            break;
        }
        if (a->is_end) {
            a->begin = a->end;
            if (a->size == 0) {
                return 0;
            }
            break;
        }
        if (fill_buffer(a) != 0) {
            a->line++;
            a->text = a->data;
            a->size = a->error != 0 ? 0 : a->end;
            return -1;
        }
    }
    a->line++;
    while (a->size > 0 && strchr(" \t\r", a->text[a->size - 1]) != NULL) {
        a->size--;
    }
    while (a->size > 0 && strchr(" \t", a->text[0]) != NULL) {
        a->text++;
        a->size--;
    }
    return 1;
}

int addresses_next(struct addresses *a, addresses_parse_fn parse,
                   uint64_t *address)
{
    int rc;

    do {
        rc = next_line(a);
        if (rc != 1) {
            return rc;
        }
    } while (a->size == 0);
    return parse(a->text, a->size, address) == 0 ? 1 : -1;
}
