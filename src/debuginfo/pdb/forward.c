/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "forward.h"
#include "base/array.h"

struct forward_size {
    const char *name; /* NULL = free */
    uint32_t name_size;
    uint64_t size;
};

/* [start, end), disjoint and ascending */
struct forward_span {
    uint32_t start;
    uint32_t end;
};

void forward_free(struct forward *f)
{
    free(f->slots);
    free(f->spans);
    arena_free(&f->arena);
    memset(f, 0, sizeof(*f));
}

static struct forward_size *find_slot(const struct forward *f,
                                      const char *name, uint32_t size)
{
    size_t i;
    uint32_t k;
    uint64_t h;

    h = size ^ (uint64_t)(uintptr_t)f * 0x9E3779B97F4A7C15u;
    for (k = 0; k < size; k++) {
        h = (h ^ (uint8_t)name[k]) * 0x100000001B3u;
    }
    i = (size_t)(h ^ h >> 32) & (f->num_slots - 1);
    while (f->slots[i].name != NULL &&
           (f->slots[i].name_size != size ||
            memcmp(f->slots[i].name, name, size) != 0)) {
        i = (i + 1) & (f->num_slots - 1);
    }
    return &f->slots[i];
}

static int grow(struct forward *f)
{
    size_t i, n;
    struct forward_size *old;

    old = f->slots;
    n = f->num_slots;
    f->num_slots = n == 0 ? 256 : 2 * n;
    f->slots = calloc(f->num_slots, sizeof(*f->slots));
    if (f->slots == NULL) {
        f->slots = old;
        f->num_slots = n;
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (old[i].name != NULL) {
            *find_slot(f, old[i].name, old[i].name_size) = old[i];
        }
    }
    free(old);
    return 0;
}

static void key_of(const struct leaf *leaf, const char **name, uint32_t *size)
{
    int has;

    has = leaf->unique_name != NULL;
    *name = has ? leaf->unique_name : leaf->name;
    *size = has ? leaf->unique_size : leaf->name_size;
}

/* Learns the definition at index, if it is one.  Returns 0, or -1 at the end
 * of the types or without memory. */
static int learn(struct forward *f, uint32_t index, struct leaf *leaf)
{
    uint32_t size;
    const char *name;
    struct forward_size *slot;
    struct types_record record;

    if (types_find(f->types, index, &f->arena, &record) != TYPES_OK) {
        return -1;
    }
    if (leaf_read_type(&record, leaf) != 0 || leaf->is_forward ||
        (leaf->kind != LEAF_CLASS && leaf->kind != LEAF_UNION)) {
        leaf->kind = LEAF_OTHER;
        return 0;
    }
    if (f->count >= f->num_slots / 2 && grow(f) != 0) {
        return -1;
    }
    key_of(leaf, &name, &size);
    slot = find_slot(f, name, size);
    f->count += slot->name == NULL;
    slot->name = name;
    slot->name_size = size;
    slot->size = leaf->size;
    return 0;
}

/* Adds [start, end) to what was walked. */
static int add_span(struct forward *f, uint32_t start, uint32_t end)
{
    size_t i, j;

    for (i = 0; i < f->num_spans && f->spans[i].end < start; i++) {
    }
    for (j = i; j < f->num_spans && f->spans[j].start <= end; j++) {
        start = f->spans[j].start < start ? f->spans[j].start : start;
        end = f->spans[j].end > end ? f->spans[j].end : end;
    }
    if (i == j) {
        if (symfile_array_need(&f->spans, &f->span_room, f->num_spans + 1,
                               sizeof(*f->spans)) != 0) {
            return -1;
        }
        memmove(f->spans + i + 1, f->spans + i,
                (f->num_spans - i) * sizeof(*f->spans));
        f->num_spans++;
    } else {
        memmove(f->spans + i + 1, f->spans + j,
                (f->num_spans - j) * sizeof(*f->spans));
        f->num_spans -= j - i - 1;
    }
    f->spans[i].start = start;
    f->spans[i].end = end;
    return 0;
}

int forward_find(struct forward *f, uint32_t index, const struct leaf *leaf,
                 uint64_t *size)
{
    size_t i;
    uint32_t at, name_size, found_size;
    const char *name, *found;
    struct leaf other;
    struct forward_size *slot;

    key_of(leaf, &name, &name_size);
    if (f->num_slots == 0 && grow(f) != 0) {
        return 0;
    }
    slot = find_slot(f, name, name_size);
    if (slot->name != NULL) {
        *size = slot->size;
        return 1;
    }
    i = 0;
    for (at = index + 1; at < f->types->end; at++) {
        while (i < f->num_spans && f->spans[i].end <= at) {
            i++;
        }
        if (i < f->num_spans && f->spans[i].start <= at) {
            at = f->spans[i].end - 1;
            continue;
        }
        if (learn(f, at, &other) != 0) {
            break;
        }
        if (other.kind == LEAF_OTHER) {
            continue;
        }
        key_of(&other, &found, &found_size);
        if (found_size == name_size && memcmp(found, name, name_size) == 0) {
            *size = other.size;
            add_span(f, index, at + 1);
            return 1;
        }
    }
    add_span(f, index, UINT32_MAX);
    return 0;
}
