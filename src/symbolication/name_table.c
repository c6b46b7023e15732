/*
 * Copyright (C) the ngx_symcache authors
 */
#include "name_table.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define LARGE (8 * 1024 * 1024) /* bytes */

void name_table_begin(struct name_table *s)
{
    table_free(&s->table);
    s->size = 0;
    s->told = 0;
    s->count = 1;
    if (array_need(&s->ends, &s->ends_room, 1, sizeof(*s->ends)) != 0) {
        s->has_failed = true;
        s->count = 0;
    } else {
        s->ends[0] = 0;
    }
    name_table_forget_files(s);
}

void name_table_tell(struct name_table *s)
{
    s->told = s->count;
    if (s->size > LARGE) {
        name_table_begin(s);
    }
}

void name_table_forget_files(struct name_table *s)
{
    memset(s->near, 0, sizeof(s->near));
}

uint32_t *name_table_near(struct name_table *s, const void *what,
                          bool *is_known)
{
    uint64_t hash = (uintptr_t)what * UINT64_C(0x9E3779B97F4A7C15);
    struct name_table_near *near = &s->near[hash >> 52 & (NAME_TABLE_NEAR - 1)];

    *is_known = near->what == what;
    near->what = what;
    return &near->place;
}

struct symc_string name_table_at(const struct name_table *s, size_t place)
{
    size_t begin;

    if (place == 0) {
        return (struct symc_string){"", 0};
    }
    begin = s->ends[place - 1];
    return (struct symc_string){s->data + begin, s->ends[place] - begin};
}

static uint64_t hash_of(const struct name_table *s,
                        const struct symc_string *string)
{
    return table_hash((uintptr_t)s, string->data, string->size);
}

static uint32_t add_name(struct name_table *s,
                         const struct symc_string *string, uint64_t hash)
{
    struct symc_string other;
    uintptr_t place;
    size_t at = 0;

    if (string->size == 0 || s->has_failed) {
        return 0;
    }
    while ((place = table_next(&s->table, hash, &at)) != 0) {
        other = name_table_at(s, place - 1);
        if (other.size == string->size &&
            memcmp(other.data, string->data, other.size) == 0) {
            return (uint32_t)place - 1;
        }
    }
    if (array_need(&s->data, &s->room, s->size + string->size, 1) != 0 ||
        array_need(&s->ends, &s->ends_room, s->count + 1, sizeof(*s->ends)) !=
            0 ||
        table_add(&s->table, hash, s->count + 1) != 0) {
        s->has_failed = true;
        return 0;
    }
    memcpy(s->data + s->size, string->data, string->size);
    s->size += string->size;
    s->ends[s->count] = s->size;
    return (uint32_t)s->count++;
}

uint32_t name_table_add(struct name_table *s, const struct symc_string *string)
{
    return add_name(s, string, hash_of(s, string));
}

uint32_t name_table_want(struct name_table *s, const struct symc_string *string,
                      uint32_t *near)
{
    struct name_table_wish *wish;

    if (array_need(&s->wishes, &s->wishes_room, s->nwishes + 1,
                   sizeof(*s->wishes)) != 0) {
        s->has_failed = true;
        return 0;
    }
    wish = &s->wishes[s->nwishes];
    wish->string = *string;
    wish->near = near;
    wish->hash = hash_of(s, string);
    if (s->table.num_slots > 0) {
        __builtin_prefetch(
            &s->table.slots[wish->hash & (s->table.num_slots - 1)]);
    }
    return (uint32_t)s->nwishes++ | NAME_TABLE_WANTED;
}

/* Has the memory fetched that a string will be compared with, which takes two
 * steps. */
static void prefetch_name(const struct name_table *s,
                          const struct name_table_wish *wish, bool has_end)
{
    size_t at = 0;
    uintptr_t place = table_next(&s->table, wish->hash, &at);

    if (place > 1 && has_end) {
        __builtin_prefetch(s->data + s->ends[place - 2]);
    } else if (place > 1) {
        __builtin_prefetch(&s->ends[place - 2]);
    }
}

void name_table_settle(struct name_table *s)
{
    struct name_table_wish *wish, *end;

    if (s->nwishes == 0) {
        return;
    }
    end = s->wishes + s->nwishes;
    for (wish = s->wishes; wish < end; wish++) {
        prefetch_name(s, wish, false);
    }
    for (wish = s->wishes; wish < end; wish++) {
        prefetch_name(s, wish, true);
    }
    for (wish = s->wishes; wish < end; wish++) {
        wish->place = add_name(s, &wish->string, wish->hash);
    }
    /* another string may be near there since */
    for (wish = s->wishes; wish < end; wish++) {
        *wish->near = name_table_get(s, *wish->near);
    }
}

uint32_t name_table_get(const struct name_table *s, uint32_t number)
{
    return number & NAME_TABLE_WANTED
               ? s->wishes[number & ~NAME_TABLE_WANTED].place
               : number;
}

void name_table_free(struct name_table *s)
{
    table_free(&s->table);
    free(s->data);
    free(s->ends);
    free(s->wishes);
}
