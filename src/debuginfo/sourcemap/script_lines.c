/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Units of UTF-16 that begin in some bytes of UTF-8: one for each character,
 * and one more for those of 4 bytes. */
static uint32_t count_units(const char *p, const char *end)
{
    uint32_t n = 0;

    for (; p < end; p++) {
        n += (*p & 0xC0) != 0x80;
        n += (unsigned char)*p >= 0xF0;
    }
    return n;
}

static bool is_ascii(const char *p, size_t size)
{
    size_t i;
    unsigned char all = 0;

    for (i = 0; i < size; i++) {
        all |= (unsigned char)p[i];
    }
    return all < 0x80;
}

static int read_units(struct script_lines *lines)
{
    size_t i, n = lines->size / SCRIPT_LINES_STEP + 1;
    const char *p = lines->text;

    lines->units = malloc(n * sizeof(*lines->units));
    if (lines->units == NULL) {
        return -1;
    }
    lines->units[0] = 0;
    for (i = 1; i < n; i++, p += SCRIPT_LINES_STEP) {
        lines->units[i] =
            lines->units[i - 1] + count_units(p, p + SCRIPT_LINES_STEP);
    }
    return 0;
}

int script_lines_read(struct script_lines *lines, const char *text,
                      size_t size)
{
    const char *p, *end = text + size;

    memset(lines, 0, sizeof(*lines));
    lines->text = text;
    lines->size = (uint32_t)size;
    for (p = text; p != NULL;) {
        if (array_need(&lines->starts, &lines->room, lines->count + 1,
                       sizeof(*lines->starts)) != 0) {
            return -1;
        }
        lines->starts[lines->count++] = (uint32_t)(p - text);
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        p = p != NULL ? p + 1 : NULL;
    }
    return is_ascii(text, size) ? 0 : read_units(lines);
}

void script_lines_free(struct script_lines *lines)
{
    free(lines->starts);
    free(lines->units);
    memset(lines, 0, sizeof(*lines));
}

/* Units of UTF-16 before a byte. */
static uint32_t units_before(const struct script_lines *lines, uint32_t at)
{
    uint32_t step = at / SCRIPT_LINES_STEP;

    return lines->units == NULL
               ? at
               : lines->units[step] +
                     count_units(lines->text + step * SCRIPT_LINES_STEP,
                                 lines->text + at);
}

bool script_lines_find(const struct script_lines *lines, uint32_t at,
                       uint32_t *line, uint32_t *column)
{
    size_t half, base = 0, count = lines->count;

    if (at >= lines->size) {
        return false;
    }
    while (count > 1) {
        half = count / 2;
        base += lines->starts[base + half] <= at ? half : 0;
        count -= half;
    }
    *line = (uint32_t)base;
    *column =
        units_before(lines, at) - units_before(lines, lines->starts[base]);
    return true;
}
