/*
 * Copyright (C) the ngx_symcache authors
 */
#include "uuid_map.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"

#define SIZE_MAX_PLIST (1u << 20)
#define DEPTH_MAX 64
#define KEY "DBGOriginalUUID"

/* A position in the text.  An element has its name in front of its text. */
struct uuid_map_scan {
    const char *at;
    const char *end;
    const char *name; /* of the tag that was read last */
    size_t name_size;
    const char *attributes;
    size_t attributes_size;
    const char *text; /* between the tag before and this one */
    size_t text_size;
    bool is_end;   /* </name> */
    bool is_empty; /* <name/> */
};

static int fail_uuid_map(char *error, size_t size, const char *what)
{
    snprintf(error, size, "%s", what);
    return -1;
}

static bool begins_tag(const struct uuid_map_scan *map, const char *text)
{
    size_t size = strlen(text);

    return (size_t)(map->end - map->at) >= size &&
           memcmp(map->at, text, size) == 0;
}

/* Goes past a text.  Returns false if it does not come. */
static bool pass_tag(struct uuid_map_scan *map, const char *text)
{
    const char *found =
        memmem(map->at, (size_t)(map->end - map->at), text, strlen(text));

    map->at = found != NULL ? found + strlen(text) : map->end;
    return found != NULL;
}

static bool is_tag(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void read_tag(struct uuid_map_scan *map, const char *tag, size_t size)
{
    map->is_end = size > 0 && tag[0] == '/';
    map->is_empty = size > 0 && tag[size - 1] == '/';
    tag += map->is_end;
    size -= map->is_end;
    size -= map->is_empty && size > 0;
    map->name = tag;
    for (map->name_size = 0;
         map->name_size < size && !is_blank(tag[map->name_size]);
         map->name_size++) {
    }
    map->attributes = tag + map->name_size;
    map->attributes_size = size - map->name_size;
}

/* Reads the next tag, after comments, the declaration and the like.  Returns
 * false at the end, or where the text is no XML. */
static bool next_tag(struct uuid_map_scan *map)
{
    const char *begin;

    for (;;) {
        map->text = map->at;
        map->at = memchr(map->at, '<', (size_t)(map->end - map->at));
        if (map->at == NULL) {
            map->at = map->end;
            return false;
        }
        map->text_size = (size_t)(map->at - map->text);
        if (begins_tag(map, "<!--")) {
            if (!pass_tag(map, "-->")) {
                return false;
            }
        } else if (begins_tag(map, "<?") || begins_tag(map, "<!")) {
            if (!pass_tag(map, ">")) {
                return false;
            }
        } else {
            begin = map->at + 1;
            if (!pass_tag(map, ">")) {
                return false;
            }
            read_tag(map, begin, (size_t)(map->at - 1 - begin));
            return true;
        }
    }
}

/* With or without hyphens. */
static bool read_uuid(const char *text, size_t size, uint8_t uuid[16])
{
    size_t i, n = 0;

    for (i = 0; i < size && is_blank(text[i]); i++) {
    }
    for (; size > i && is_blank(text[size - 1]); size--) {
    }
    for (; i < size; i++) {
        if (text[i] == '-') {
            continue;
        }
        if (hex_digit(text[i]) < 0 || n == 32) {
            return false;
        }
        uuid[n / 2] = (uint8_t)(n % 2 == 0 ? hex_digit(text[i]) << 4
                                           : uuid[n / 2] | hex_digit(text[i]));
        n++;
    }
    return n == 32;
}

bool uuid_map_sniff(const uint8_t *data, size_t size)
{
    static const char head[] = "<?xml ";

    return size >= sizeof(head) - 1 &&
           memcmp(data, head, sizeof(head) - 1) == 0 &&
           memmem(data, size < 1024 ? size : 1024, "<plist", 6) != NULL;
}

/* The text of the element after the key, whatever its type. */
static int find_value(struct uuid_map_scan *map, uint8_t uuid[16], char *error,
                      size_t size)
{
    unsigned depth = 1;
    bool is_key = false, is_value = false;

    while (depth > 0 && next_tag(map)) {
        if (!map->is_end) {
            depth += !map->is_empty;
            is_value = is_key && !map->is_empty;
            is_key = false;
        } else {
            depth--;
            if (is_value) {
                return read_uuid(map->text, map->text_size, uuid)
                           ? 0
                           : fail_uuid_map(error, size,
                                           "has a " KEY " that is no UUID");
            }
            is_key = is_tag(map->name, map->name_size, "key") &&
                     is_tag(map->text, map->text_size, KEY);
        }
        if (depth > DEPTH_MAX) {
            return fail_uuid_map(error, size,
                                 "has too many elements inside others");
        }
    }
    return fail_uuid_map(error, size, "has no " KEY);
}

int uuid_map_read(const uint8_t *data, size_t size, uint8_t uuid[16],
                  char *error, size_t error_size)
{
    struct uuid_map_scan map = {.at = (const char *)data,
                                .end = (const char *)data + size};

    if (size > SIZE_MAX_PLIST) {
        return fail_uuid_map(error, error_size, "has more than 1 MiB");
    }
    if (!next_tag(&map) || map.is_end ||
        !is_tag(map.name, map.name_size, "plist") ||
        (memmem(map.attributes, map.attributes_size, "version=\"1.0\"", 13) ==
             NULL &&
         memmem(map.attributes, map.attributes_size, "version='1.0'", 13) ==
             NULL)) {
        return fail_uuid_map(error, error_size,
                             "is no property list of version 1.0");
    }
    if (!next_tag(&map) || map.is_end || map.is_empty ||
        !is_tag(map.name, map.name_size, "dict")) {
        return fail_uuid_map(error, error_size, "has no dictionary");
    }
    return find_value(&map, uuid, error, error_size);
}
