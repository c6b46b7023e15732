/*
 * Copyright (C) the ngx_symcache authors
 */
#include "strings.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define LARGE (8 * 1024 * 1024) /* bytes */

void strings_begin(struct strings *s)
{
    table_free(&s->table);
    s->size = 0;
    s->told = 0;
    s->count = 1;
    if (symc_array_need(&s->ends, &s->ends_room, 1, sizeof(*s->ends)) !=
        0) {
        s->has_failed = true;
        s->count = 0;
    } else {
        s->ends[0] = 0;
    }
    strings_forget_files(s);
}

void strings_tell(struct strings *s)
{
    s->told = s->count;
    if (s->size > LARGE) {
        strings_begin(s);
    }
}

void strings_forget_files(struct strings *s)
{
    memset(s->near, 0, sizeof(s->near));
}

uint32_t *strings_near(struct strings *s, const void *what, bool *is_known)
{
    uint64_t hash = (uintptr_t)what * UINT64_C(0x9E3779B97F4A7C15);
    struct strings_near *near = &s->near[hash >> 52 & (STRINGS_NEAR - 1)];

    *is_known = near->what == what;
    near->what = what;
    return &near->place;
}

struct symc_string strings_at(const struct strings *s, size_t place)
{
    size_t begin = place > 0 ? s->ends[place - 1] : 0;

    return (struct symc_string){s->data + begin, s->ends[place] - begin};
}

uint32_t strings_add(struct strings *s, const struct symc_string *string)
{
    struct symc_string other;
    uint64_t hash;
    uintptr_t place;
    size_t at = 0;

    if (string->size == 0 || s->has_failed) {
        return 0;
    }
    hash = table_hash((uintptr_t)s, string->data, string->size);
    while ((place = table_next(&s->table, hash, &at)) != 0) {
        other = strings_at(s, place - 1);
        if (other.size == string->size &&
            memcmp(other.data, string->data, other.size) == 0) {
            return (uint32_t)place - 1;
        }
    }
    if (symc_array_need(&s->data, &s->room, s->size + string->size, 1) !=
            0 ||
        symc_array_need(&s->ends, &s->ends_room, s->count + 1,
                           sizeof(*s->ends)) != 0 ||
        table_add(&s->table, hash, s->count + 1) != 0) {
        s->has_failed = true;
        return 0;
    }
    memcpy(s->data + s->size, string->data, string->size);
    s->size += string->size;
    s->ends[s->count] = s->size;
    return (uint32_t)s->count++;
}

void strings_free(struct strings *s)
{
    table_free(&s->table);
    free(s->data);
    free(s->ends);
}
