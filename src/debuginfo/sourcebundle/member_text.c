/*
 * Copyright (C) the ngx_symcache authors
 */
#include "member_text.h"

#include <string.h>

#include "base/array.h"

/* Text packs less well; what does better is a trap, unless it is small. */
#define RATIO 1000
#define SMALL (1u << 20)

static int take_inflated(void *arg, const uint8_t *data, size_t size)
{
    struct member_text *text = arg;

    if (size > text->room - text->size) {
        return -1;
    }
    if (size > 0) {
        memcpy(text->data + text->size, data, size);
    }
    text->size += size;
    return 0;
}

enum sourcecache_status member_text_read(struct member_text *text,
                                         struct zip *zip,
                                         const struct zip_member *member,
                                         size_t most)
{
    char error[160];

    text->size = 0;
    if (member->refuse != NULL) {
        return SOURCECACHE_DAMAGED;
    }
    if (member->size > most ||
        (member->size > SMALL && member->size / RATIO > member->packed)) {
        return SOURCECACHE_TOO_LARGE;
    }
    if (array_need(&text->data, &text->room, (size_t)member->size + 1, 1) !=
        0) {
        return SOURCECACHE_TOO_LARGE;
    }
    return zip_unpack(zip, take_inflated, text, error, sizeof(error)) == 0
               ? SOURCECACHE_TEXT
               : SOURCECACHE_DAMAGED;
}

static bool ends_line(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

struct symc_text script_map(const char *text, size_t size)
{
    static const char word[] = "sourceMappingURL=";
    struct symc_text map = {NULL, 0};
    const char *p, *at = text, *end = text + size;

    while ((p = memmem(at, (size_t)(end - at), word, sizeof(word) - 1)) !=
           NULL) {
        at = p + sizeof(word) - 1;
        if (p - text < 4 ||
            (memcmp(p - 4, "//# ", 4) != 0 && memcmp(p - 4, "//@ ", 4) != 0)) {
            continue;
        }
        for (p = at; p < end && ends_line(*p); p++) {
        }
        map.data = p;
        for (; p < end && !ends_line(*p) && *p != '?' && *p != '#'; p++) {
        }
        map.size = (uint32_t)(p - map.data);
    }
    return map;
}
