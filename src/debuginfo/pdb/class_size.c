/*
 * Copyright (C) the ngx_symcache authors
 */

#include "class_size.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct forward_size {
    const char *name;
    uint32_t name_size;
    uint64_t size;
};

/* The indices [start, end).  Spans are disjoint and ascending. */
struct forward_span {
    uint32_t start;
    uint32_t end;
};

void class_size_free(struct class_size *f)
{
    table_free(&f->by_name);
    free(f->sizes);
    free(f->spans);
    arena_free(&f->arena);
    memset(f, 0, sizeof(*f));
}

static uint64_t class_hash_of(const struct class_size *f, const char *name,
                              uint32_t size)
{
    return table_hash((uintptr_t)f, name, size);
}

/* Returns the size that is known for a name, or NULL. */
static struct forward_size *find_class(const struct class_size *f,
                                       const char *name, uint32_t size,
                                       uint64_t hash)
{
    struct forward_size *found;
    size_t i, at = 0;

    while ((i = table_next(&f->by_name, hash, &at)) != 0) {
        found = &f->sizes[i - 1];
        if (found->name_size == size && memcmp(found->name, name, size) == 0) {
            return found;
        }
    }
    return NULL;
}

static struct forward_size *add_class(struct class_size *f, const char *name,
                                      uint32_t size, uint64_t hash)
{
    struct forward_size *added;

    if (array_need(&f->sizes, &f->room, f->count + 1, sizeof(*f->sizes)) !=
            0 ||
        table_add(&f->by_name, hash, f->count + 1) != 0) {
        return NULL;
    }
    added = &f->sizes[f->count++];
    added->name = name;
    added->name_size = size;
    return added;
}

static void class_key_of(const struct leaf *leaf, const char **name,
                         uint32_t *size)
{
    int has;

    has = leaf->unique_name != NULL;
    *name = has ? leaf->unique_name : leaf->name;
    *size = has ? leaf->unique_size : leaf->name_size;
}

/* If the record at index is a definition, remembers its size.  Returns 0, or
 * -1 at the end of the types or if memory runs out. */
static int learn_class(struct class_size *f, uint32_t index, struct leaf *leaf)
{
    uint32_t size;
    uint64_t hash;
    const char *name;
    struct forward_size *known;
    struct types_record record;

    if (types_find(f->types, index, &f->arena, &record) != TYPES_OK) {
        return -1;
    }
    if (leaf_read_type(&record, leaf) != 0 || leaf->is_forward ||
        (leaf->kind != LEAF_CLASS && leaf->kind != LEAF_UNION)) {
        leaf->kind = LEAF_OTHER;
        return 0;
    }
    class_key_of(leaf, &name, &size);
    hash = class_hash_of(f, name, size);
    known = find_class(f, name, size, hash);
    if (known == NULL) {
        known = add_class(f, name, size, hash);
    }
    if (known == NULL) {
        return -1;
    }
    known->size = leaf->size;
    return 0;
}

/* Notes that the indices [start, end) have been searched. */
static int add_class_span(struct class_size *f, uint32_t start, uint32_t end)
{
    size_t i, j;

    for (i = 0; i < f->num_spans && f->spans[i].end < start; i++) {
    }
    for (j = i; j < f->num_spans && f->spans[j].start <= end; j++) {
        start = f->spans[j].start < start ? f->spans[j].start : start;
        end = f->spans[j].end > end ? f->spans[j].end : end;
    }
    if (i == j) {
        if (array_need(&f->spans, &f->span_room, f->num_spans + 1,
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

bool class_size_find(struct class_size *f, uint32_t index,
                     const struct leaf *leaf, uint64_t *size)
{
    size_t i;
    uint32_t at, name_size, found_size;
    const char *name, *found;
    struct leaf other;
    const struct forward_size *known;

    class_key_of(leaf, &name, &name_size);
    known = find_class(f, name, name_size, class_hash_of(f, name, name_size));
    if (known != NULL) {
        *size = known->size;
        return true;
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
        if (learn_class(f, at, &other) != 0) {
            break;
        }
        if (other.kind == LEAF_OTHER) {
            continue;
        }
        class_key_of(&other, &found, &found_size);
        if (found_size == name_size && memcmp(found, name, name_size) == 0) {
            *size = other.size;
            add_class_span(f, index, at + 1);
            return true;
        }
    }
    add_class_span(f, index, UINT32_MAX);
    return false;
}
