/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bytes.h"

#include <string.h>

#include "base/utf8.h"

#define ENTRY 12 /* of the directory */

struct minidump_bytes bytes_at(const struct minidump *dump, uint64_t offset,
                               uint64_t size)
{
    struct minidump_bytes bytes = {NULL, 0};

    if (offset <= dump->size && size <= dump->size - offset) {
        bytes.data = dump->data + offset;
        bytes.size = (size_t)size;
    }
    return bytes;
}

struct minidump_bytes bytes_located(struct minidump *dump,
                                    const uint8_t *location)
{
    uint32_t size = get32(dump, location);
    struct minidump_bytes bytes =
        bytes_at(dump, get32(dump, location + 4), size);

    if (bytes.data == NULL && size > 0) {
        dump->cut = MINIDUMP_CUT_OFF;
    }
    return bytes;
}

struct minidump_bytes bytes_stream(const struct minidump *dump, uint32_t type)
{
    const uint8_t *p = dump->data + get32(dump, dump->data + 12);
    uint32_t i, count = get32(dump, dump->data + 8);
    struct minidump_bytes found = {NULL, 0};

    for (i = 0; i < count && i < MINIDUMP_STREAMS; i++, p += ENTRY) {
        if (get32(dump, p) == type) {
            found = bytes_at(dump, get32(dump, p + 8), get32(dump, p + 4));
        }
    }
    return found;
}

static size_t bytes_limited_count(struct minidump *dump, uint64_t count,
                                  const struct bytes_limit *limit)
{
    if (count > limit->count) {
        dump->cut = limit->word;
        return limit->count;
    }
    return (size_t)count;
}

bool bytes_list(struct minidump *dump, struct minidump_bytes stream,
                size_t entry, const struct bytes_limit *limit,
                const uint8_t **entries, size_t *count)
{
    uint64_t n;
    size_t header;

    if (stream.size < 4) {
        return false;
    }
    n = get32(dump, stream.data);
    header = stream.size == n * entry + 8 ? 8 : 4;
    if (stream.size != n * entry + header) {
        return false;
    }
    *entries = stream.data + header;
    *count = bytes_limited_count(dump, n, limit);
    return true;
}

bool bytes_sized_list(struct minidump *dump, struct minidump_bytes stream,
                      size_t entry, const struct bytes_limit *limit,
                      const uint8_t **entries, size_t *count)
{
    uint32_t header;
    uint64_t n;

    if (stream.size < 12) {
        return false;
    }
    header = get32(dump, stream.data);
    n = get32(dump, stream.data + 8);
    if (get32(dump, stream.data + 4) != entry || header > stream.size ||
        n * entry > stream.size - header) {
        return false;
    }
    *entries = stream.data + header;
    *count = bytes_limited_count(dump, n, limit);
    return true;
}

/* Returns how much of a string is within the limits. */
static size_t bytes_take_text(struct minidump *dump, size_t size)
{
    size_t most = MINIDUMP_TEXTS - dump->text_size;

    most = most < MINIDUMP_TEXT ? most : MINIDUMP_TEXT;
    if (size > most) {
        dump->cut = "texts";
        size = most;
    }
    dump->text_size += size;
    return size;
}

char *bytes_string(struct minidump *dump, uint64_t offset)
{
    struct minidump_bytes length = bytes_at(dump, offset, 4), text;
    uint32_t c, pair;
    size_t i;
    char *string, *end;

    if (length.data == NULL) {
        return NULL;
    }
    text = bytes_at(dump, offset + 4, get32(dump, length.data));
    if (text.data == NULL || text.size % 2 != 0) {
        return NULL;
    }
    if (bytes_take_text(dump, text.size) < text.size) {
        return NULL;
    }
    string = end = arena_take(&dump->arena, text.size / 2 * 3 + 1);
    for (i = 0; string != NULL && i < text.size; i += 2) {
        c = get16(dump, text.data + i);
        if (c >= 0xd800 && c < 0xe000) {
            i += 2;
            pair = i < text.size
                       ? utf16_pair(c, get16(dump, text.data + i))
                       : 0;
            if (pair == 0) {
                return NULL;
            }
            c = pair;
        }
        if (c != 0) { /* a C string cannot have it */
            end += utf8_encode(end, c);
        }
    }
    if (string != NULL) {
        *end = '\0';
    }
    return string;
}

char *bytes_text(struct minidump *dump, const uint8_t *p, size_t size)
{
    const uint8_t *nul = memchr(p, 0, size);
    size_t n, left;
    uint32_t c;
    int taken;
    char *text, *end;

    left = bytes_take_text(dump, nul != NULL ? (size_t)(nul - p) : size);
    text = end = arena_take(&dump->arena, left * 3 + 1);
    for (; text != NULL && left > 0; p += n, left -= n) {
        taken = utf8_decode(p, left, &c);
        n = (size_t)(taken > 0 ? taken : -taken);
        end += utf8_encode(end, c);
    }
    if (text != NULL) {
        *end = '\0';
    }
    return text;
}
