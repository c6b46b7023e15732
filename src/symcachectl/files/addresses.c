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

void addresses_init(struct addresses *addresses)
{
    addresses->is_end = addresses->error = 0;
    addresses->line = 0;
    addresses->begin = addresses->end = 0;
    addresses->text = addresses->data;
    addresses->size = 0;
}

bool addresses_is_ready(const struct addresses *addresses)
{
    return addresses->is_end ||
           memchr(addresses->data + addresses->begin, '\n',
                  addresses->end - addresses->begin) != NULL;
}

/* Returns 0; or -1 when nothing more can arrive.  A full buffer without a
 * line end is not an address. */
static int fill_buffer(struct addresses *addresses)
{
    ssize_t n;

    memmove(addresses->data, addresses->data + addresses->begin,
            addresses->end - addresses->begin);
    addresses->end -= addresses->begin;
    addresses->begin = 0;
    if (addresses->end == sizeof(addresses->data)) {
        return -1;
    }
    do {
        n = read(STDIN_FILENO, addresses->data + addresses->end,
                 sizeof(addresses->data) - addresses->end);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        addresses->error = errno;
        return -1;
    }
    addresses->is_end = n == 0;
    addresses->end += (size_t)n;
    return 0;
}

/* Removes a line and the blanks around it.  Returns the same as
 * addresses_next(). */
static int addresses_next_line(struct addresses *addresses)
{
    const char *newline;

    for (;;) {
        addresses->text = addresses->data + addresses->begin;
        addresses->size = addresses->end - addresses->begin;
        newline = memchr(addresses->text, '\n', addresses->size);
        if (newline != NULL) {
            addresses->size = (size_t)(newline - addresses->text);
            addresses->begin += addresses->size + 1;
            break;
        }
        if (addresses->is_end) {
            addresses->begin = addresses->end;
            if (addresses->size == 0) {
                return 0;
            }
            break;
        }
        if (fill_buffer(addresses) != 0) {
            addresses->line++;
            addresses->text = addresses->data;
            addresses->size = addresses->error != 0 ? 0 : addresses->end;
            return -1;
        }
    }
    addresses->line++;
    while (addresses->size > 0 &&
           strchr(" \t\r", addresses->text[addresses->size - 1]) != NULL) {
        addresses->size--;
    }
    while (addresses->size > 0 && strchr(" \t", addresses->text[0]) != NULL) {
        addresses->text++;
        addresses->size--;
    }
    return 1;
}

int addresses_next(struct addresses *addresses, addresses_parse_fn parse,
                   uint64_t *address)
{
    int rc;

    do {
        rc = addresses_next_line(addresses);
        if (rc != 1) {
            return rc;
        }
    } while (addresses->size == 0);
    return parse(addresses->text, addresses->size, address) == 0 ? 1 : -1;
}
