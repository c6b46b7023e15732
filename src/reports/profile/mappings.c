/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mappings.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats.h"

/* Where the beginning of a module is mapped in a process. */
struct begin {
    uint32_t process;
    uint32_t module;
    uint64_t start;
};

/* Where a file is mapped in a process, or in any; areas of a file do not
 * overlap. */
struct area {
    struct symc_string path;
    uint32_t process; /* 0: any */
    uint64_t start;
    uint64_t limit;
    uint32_t place;    /* of one of its mappings */
    bool is_ambiguous; /* mappings have other parts of the file here */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_begins(const void *a, const void *b)
{
    const struct begin *x = a, *y = b;
    int order = compare_numbers(x->process, y->process);

    if (order == 0) {
        order = compare_numbers(x->module, y->module);
    }
    return order != 0 ? order : compare_numbers(x->start, y->start);
}

static int compare_paths(struct symc_string a, struct symc_string b)
{
    int order = compare_numbers(a.size, b.size);

    return order != 0 || a.size == 0 ? order : memcmp(a.data, b.data, a.size);
}

static int compare_areas(const void *a, const void *b)
{
    const struct area *x = a, *y = b;
    int order = compare_numbers(x->process, y->process);

    if (order == 0) {
        order = compare_paths(x->path, y->path);
    }
    return order != 0 ? order : compare_numbers(x->start, y->start);
}

/* What is looked for in a tree, and the last node that is not after it. */
struct search {
    const void *key;
    int (*compare)(const void *a, const void *b);
    const void *last;
};

/* The search for a key goes by the node that is before it. */
static int note_last(const void *key, const void *node)
{
    struct search *search = (struct search *)(uintptr_t)key;
    int order = search->compare(search->key, node);

    if (order >= 0) {
        search->last = node;
    }
    return order;
}

/* The last node of a tree that is not after the key, or NULL. */
static const void *find_last(void *const *tree, const void *key,
                             int (*compare)(const void *a, const void *b))
{
    struct search search = {key, compare, NULL};

    (void)tfind(&search, tree, note_last);
    return search.last;
}

/* Returns 0, or -1 without memory. */
static int add_node(void **tree, const void *node, size_t size,
                    int (*compare)(const void *a, const void *b))
{
    void *copy = malloc(size), *const *found;

    if (copy == NULL) {
        return -1;
    }
    memcpy(copy, node, size);
    found = tsearch(copy, tree, compare);
    if (found == NULL || *found != copy) {
        free(copy); /* the oldest of what is equal stays */
    }
    return found != NULL ? 0 : -1;
}

static uint64_t hash_path(const struct profile_mappings *mappings,
                          struct symc_string path)
{
    return table_hash((uintptr_t)mappings, path.data, path.size);
}

/* The newest mapping of a path that has a module, as its place + 1; or 0. */
static uint32_t find_named(const struct profile_mappings *mappings,
                           struct symc_string path, uint64_t hash)
{
    uintptr_t place;
    size_t at = 0;

    do {
        place = table_next(&mappings->named, hash, &at);
    } while (place != 0 &&
             compare_paths(mappings->list[place - 1].path, path) != 0);
    return (uint32_t)place;
}

/* The last area that begins before an address, or NULL. */
static struct area *find_area(void *const *tree, const struct area *of,
                              uint64_t address)
{
    struct area key = *of, *area;

    key.start = address - 1;
    area = (struct area *)(uintptr_t)find_last(tree, &key, compare_areas);
    return area != NULL && area->process == of->process &&
                   compare_paths(area->path, of->path) == 0
               ? area
               : NULL;
}

static bool is_same_part(const struct profile_mapping *a,
                         const struct profile_mapping *b)
{
    return a->module == b->module &&
           a->start - a->offset == b->start - b->offset;
}

static struct area area_of(const struct profile_mappings *mappings,
                           uint32_t place)
{
    const struct profile_mapping *mapping = &mappings->list[place];

    return (struct area){.path = mapping->path,
                         .start = mapping->start,
                         .limit = mapping->limit,
                         .place = place};
}

/* Areas that overlap become one. */
static int add_area(struct profile_mappings *mappings, uint32_t place)
{
    const struct profile_mapping *mapping = &mappings->list[place];
    struct area area = area_of(mappings, place), *other;

    while (area.limit > area.start) {
        other = find_area(&mappings->areas, &area, area.limit);
        if (other == NULL || other->limit <= area.start) {
            return add_node(&mappings->areas, &area, sizeof(area),
                            compare_areas);
        }
        area.is_ambiguous =
            area.is_ambiguous || other->is_ambiguous ||
            !is_same_part(mapping, &mappings->list[other->place]);
        area.start = other->start < area.start ? other->start : area.start;
        area.limit = other->limit > area.limit ? other->limit : area.limit;
        tdelete(other, &mappings->areas, compare_areas);
        free(other);
    }
    return 0;
}

/* What older mappings have of the area of a new one becomes its own. */
static int cover_area(struct profile_mappings *mappings, uint32_t place)
{
    struct area area = area_of(mappings, place), *other, rest;

    area.process = mappings->list[place].process;
    while (area.limit > area.start) {
        other = find_area(&mappings->newest, &area, area.limit);
        if (other == NULL || other->limit <= area.start) {
            return add_node(&mappings->newest, &area, sizeof(area),
                            compare_areas);
        }
        rest = *other;
        if (other->start < area.start) {
            other->limit = area.start;
        } else {
            tdelete(other, &mappings->newest, compare_areas);
            free(other);
        }
        rest.start = area.limit;
        if (rest.limit > rest.start &&
            add_node(&mappings->newest, &rest, sizeof(rest), compare_areas) !=
                0) {
            return -1;
        }
    }
    return 0;
}

int profile_mappings_add(struct profile_mappings *mappings,
                         const struct profile_mapping *mapping)
{
    uint32_t place = (uint32_t)mappings->n, older;
    uint64_t hash;

    if (mappings->n == UINT32_MAX - 1 ||
        array_need(&mappings->list, &mappings->room, mappings->n + 1,
                   sizeof(*mappings->list)) != 0) {
        return -1;
    }
    mappings->list[mappings->n++] = *mapping;
    if (mapping->module != PROFILE_NONE) {
        hash = hash_path(mappings, mapping->path);
        older = find_named(mappings, mapping->path, hash);
        if (older != 0) {
            table_remove(&mappings->named, hash, older);
        }
        if (table_add(&mappings->named, hash, place + 1) != 0) {
            return -1;
        }
    }
    if (mapping->module != PROFILE_NONE && mapping->offset == 0 &&
        add_node(&mappings->begins,
                 &(struct begin){mapping->process, mapping->module,
                                 mapping->start},
                 sizeof(struct begin), compare_begins) != 0) {
        return -1;
    }
    return add_area(mappings, place) == 0 ? cover_area(mappings, place) : -1;
}

const struct profile_mapping *
profile_mappings_find(const struct profile_mappings *mappings,
                      struct symc_string path, uint32_t process,
                      uint64_t address)
{
    struct area of = {.path = path, .process = process};
    const struct area *area;

    if (address == UINT64_MAX) {
        return NULL; /* no mapping ends after it */
    }
    area = find_area(&mappings->newest, &of, address + 1);
    if (area == NULL || address >= area->limit) {
        of.process = 0;
        area = find_area(&mappings->areas, &of, address + 1);
    }
    return area != NULL && address < area->limit && !area->is_ambiguous
               ? &mappings->list[area->place]
               : NULL;
}

uint32_t profile_mappings_module(const struct profile_mappings *mappings,
                                 struct symc_string path)
{
    uint32_t place = find_named(mappings, path, hash_path(mappings, path));

    return place != 0 ? mappings->list[place - 1].module : PROFILE_NONE;
}

uint64_t profile_relative(const struct profile_mappings *mappings,
                          const struct profile_mapping *mapping,
                          uint64_t address, uint64_t *reach)
{
    const struct begin key = {mapping->process, mapping->module,
                              mapping->start};
    const struct begin *begin =
        find_last(&mappings->begins, &key, compare_begins);

    if (begin == NULL || begin->process != key.process ||
        begin->module != key.module) {
        *reach = 0;
        return address - mapping->start + mapping->offset;
    }
    *reach = mapping->offset == 0 && mapping->limit > 0
                 ? mapping->limit - mapping->start
                 : PROFILE_REACHES;
    return address - begin->start;
}

void profile_mappings_free(struct profile_mappings *mappings)
{
    tdestroy(mappings->begins, free);
    tdestroy(mappings->newest, free);
    tdestroy(mappings->areas, free);
    free(mappings->list);
    table_free(&mappings->named);
}
