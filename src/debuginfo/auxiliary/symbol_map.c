/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbol_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

#define HEAD "BCSymbolMap Version: "
#define VERSION "2.0"
#define HIDDEN "__hidden#"

static int fail_symbol_map(char *error, size_t size, const char *what)
{
    snprintf(error, size, "%s", what);
    return -1;
}

/* The size of the line at a place, without its end; *next is where the next
 * one begins. */
static uint32_t symbol_map_line_at(const struct symbol_map *map, uint32_t at,
                                   uint32_t *next)
{
    const char *begin = map->text + at;
    const char *end = memchr(begin, '\n', map->size - at);
    uint32_t size = end != NULL ? (uint32_t)(end - begin) : map->size - at;

    *next = at + size + (end != NULL);
    return end != NULL && size > 0 && begin[size - 1] == '\r' ? size - 1
                                                              : size;
}

bool symbol_map_sniff(const uint8_t *data, size_t size)
{
    return size >= sizeof(HEAD) - 1 &&
           memcmp(data, HEAD, sizeof(HEAD) - 1) == 0;
}

int symbol_map_open(struct symbol_map *map, const uint8_t *data, size_t size,
                    char *error, size_t error_size)
{
    static const char first[] = HEAD VERSION;
    uint32_t at, next;
    size_t room = 0;

    memset(map, 0, sizeof(*map));
    if (size > SYMBOL_MAP_SIZE_MAX) {
        return fail_symbol_map(error, error_size, "has more than 512 MiB");
    }
    map->text = (const char *)data;
    map->size = (uint32_t)size;
    if (symbol_map_line_at(map, 0, &next) != sizeof(first) - 1 ||
        memcmp(map->text, first, sizeof(first) - 1) != 0) {
        return fail_symbol_map(error, error_size,
                               "is no BCSymbolMap of version 2.0");
    }
    if (utf8_valid(map->text, size) != size) {
        return fail_symbol_map(error, error_size, "is not UTF-8");
    }
    for (at = next; at < map->size; at = next) {
        if (array_need(&map->lines, &room, (size_t)map->count + 1,
                       sizeof(map->lines[0])) != 0) {
            symbol_map_close(map);
            return fail_symbol_map(error, error_size,
                                   "needs more memory than there is");
        }
        map->lines[map->count++] = at;
        (void)symbol_map_line_at(map, at, &next);
    }
    return 0;
}

void symbol_map_close(struct symbol_map *map)
{
    free(map->lines);
    memset(map, 0, sizeof(*map));
}

/* A number as the "symbolic" library reads it: with leading zeros, or "+". */
static bool read_number(const char *p, size_t size, uint32_t *number)
{
    uint64_t n = 0;
    size_t i = size > 0 && p[0] == '+';

    if (i == size) {
        return false;
    }
    for (; i < size; i++) {
        if (p[i] < '0' || p[i] > '9') {
            return false;
        }
        n = n > UINT32_MAX ? n : n * 10 + (uint64_t)(p[i] - '0');
    }
    *number = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
    return true;
}

/* Reads the number of a hidden text. */
static bool read_hidden(const char *text, uint32_t size, uint32_t *number)
{
    size_t hidden = sizeof(HIDDEN) - 1;

    return size > hidden && memcmp(text, HIDDEN, hidden) == 0 &&
           text[size - 1] == '_' &&
           read_number(text + hidden, size - hidden - 1, number);
}

bool symbol_map_hides(const char *text, uint32_t size)
{
    uint32_t number;

    return read_hidden(text, size, &number);
}

bool symbol_map_resolve(const struct symbol_map *map, const char **text,
                        uint32_t *size)
{
    uint32_t number, next;

    if (!read_hidden(*text, *size, &number) || number >= map->count) {
        return false;
    }
    *size = symbol_map_line_at(map, map->lines[number], &next);
    *text = map->text + map->lines[number];
    return true;
}
