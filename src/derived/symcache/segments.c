/*
 * Copyright (C) the ngx_symcache authors
 */
#include "segments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "[code]"
#define DIGITS 4

size_t symc_segments_print(char text[SYMC_SEGMENTS_TEXT],
                           const struct symc_segments *segments)
{
    const struct symc_segment *s;
    size_t i, n = sizeof(BEGIN) - 1;

    memcpy(text, BEGIN, sizeof(BEGIN));
    for (i = 0; i < segments->n; i++) {
        s = &segments->list[i];
        n += (size_t)snprintf(text + n, SYMC_SEGMENTS_TEXT - n,
                              " %" PRIx64 "+%" PRIx64 "=%" PRIx64, s->offset,
                              s->size, s->address);
    }
    snprintf(text + n, SYMC_SEGMENTS_TEXT - n, " %04zx", n + 1 + DIGITS);
    return segments->n > 0 ? n + 1 + DIGITS : 0;
}

/* Reads hexadecimal digits and what must stand after them.  Returns false if
 * that is not there. */
static bool take(const char **at, char behind, uint64_t *value)
{
    char *end;

    *value = strtoull(*at, &end, 16);
    if (end == *at || *end != behind) {
        return false;
    }
    *at = end + 1;
    return true;
}

/* The last string of a SymCache, if it tells its own length.  Returns false if
 * it does not. */
static bool last_string(char text[SYMC_SEGMENTS_TEXT],
                        const struct symc_reader *r)
{
    const char *strings = (const char *)r->data + r->strings;
    char digits[DIGITS + 1] = "", *end;
    struct symc_string string;
    size_t size, head;

    if (r->string_bytes < SYMC_SEGMENTS_TEXT / 8) {
        return false;
    }
    memcpy(digits, strings + r->string_bytes - DIGITS, DIGITS);
    size = strtoul(digits, &end, 16);
    head = size < 128 ? 1 : 2; /* of LEB128 */
    if (end != digits + DIGITS || size >= SYMC_SEGMENTS_TEXT ||
        size + head > r->string_bytes) {
        return false;
    }
    string = symc_reader_string(r, r->string_bytes - (uint32_t)(size + head));
    if (string.data == NULL || string.size != size ||
        size < sizeof(BEGIN) + DIGITS ||
        memcmp(string.data, BEGIN " ", sizeof(BEGIN)) != 0) {
        return false;
    }
    memcpy(text, string.data, size);
    text[size] = '\0';
    return true;
}

void symc_segments_read(struct symc_segments *segments,
                        const struct symc_reader *reader)
{
    char text[SYMC_SEGMENTS_TEXT];
    const char *at = text + sizeof(BEGIN);
    struct symc_segment *s;

    segments->n = 0;
    if (!last_string(text, reader)) {
        return;
    }
    while (segments->n < SYMC_SEGMENTS) {
        s = &segments->list[segments->n];
        if (!take(&at, '+', &s->offset) || !take(&at, '=', &s->size) ||
            !take(&at, ' ', &s->address)) {
            return;
        }
        segments->n++;
    }
}

uint64_t symc_segments_address(const struct symc_segments *segments,
                               uint64_t offset)
{
    const struct symc_segment *s;
    size_t i;

    for (i = 0; i < segments->n; i++) {
        s = &segments->list[i];
        if (offset >= s->offset && offset - s->offset < s->size) {
            return offset - s->offset + s->address;
        }
    }
    return offset;
}

uint64_t symc_segments_end(const struct symc_segments *segments)
{
    const struct symc_segment *s;
    uint64_t end = 0;

    for (s = segments->list; s < segments->list + segments->n; s++) {
        end = s->address + s->size > end ? s->address + s->size : end;
    }
    return end;
}
