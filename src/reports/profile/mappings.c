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

/* Where a file is mapped in any process; areas of a file do not overlap. */
struct area {
    struct symc_string path;
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
    int order = compare_paths(x->path, y->path);

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

static bool is_in_chain(const struct profile_mapping *mapping,
                        enum mapping_chain chain)
{
    return chain != CHAIN_NAMED || mapping->module != PROFILE_NONE;
}

static bool is_same_key(const struct profile_mapping *a,
                        const struct profile_mapping *b,
                        enum mapping_chain chain)
{
    return (chain != CHAIN_PROCESS || a->process == b->process) &&
           compare_paths(a->path, b->path) == 0;
}

static uint64_t hash_key(const struct profile_mappings *mappings,
                         const struct profile_mapping *key,
                         enum mapping_chain chain)
{
    uint64_t hash = (uintptr_t)mappings;

    if (chain == CHAIN_PROCESS) {
        hash = table_hash(hash, &key->process, sizeof(key->process));
    }
    return table_hash(hash, key->path.data, key->path.size);
}

/* The newest mapping of a chain, as its place + 1; or 0. */
static uint32_t find_newest(const struct profile_mappings *mappings,
                            const struct profile_mapping *key,
                            enum mapping_chain chain, uint64_t hash)
{
    uintptr_t place;
    size_t at = 0;

    do {
        place = table_next(&mappings->newest[chain], hash, &at);
    } while (place != 0 &&
             !is_same_key(&mappings->list[place - 1], key, chain));
    return (uint32_t)place;
}

static const struct profile_mapping *
at(const struct profile_mappings *mappings, uint32_t place)
{
    return place != 0 ? &mappings->list[place - 1] : NULL;
}

static bool is_same_part(const struct profile_mapping *a,
                         const struct profile_mapping *b)
{
    return a->module == b->module &&
           a->start - a->offset == b->start - b->offset;
}

/* Areas that overlap become one. */
static int add_area(struct profile_mappings *mappings, uint32_t place)
{
    const struct profile_mapping *mapping = &mappings->list[place];
    struct area area = {.path = mapping->path,
                        .start = mapping->start,
                        .limit = mapping->limit,
                        .place = place},
                key;
    struct area *other;

    while (area.limit > area.start) {
        key = area;
        key.start = area.limit - 1;
        other = (struct area *)(uintptr_t)find_last(&mappings->areas, &key,
                                                    compare_areas);
        if (other == NULL || compare_paths(other->path, area.path) != 0 ||
            other->limit <= area.start) {
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

int profile_mappings_add(struct profile_mappings *mappings,
                         const struct profile_mapping *mapping)
{
    struct profile_mapping *added;
    enum mapping_chain chain;
    uint64_t hash;

    if (mappings->n == UINT32_MAX - 1 ||
        array_need(&mappings->list, &mappings->room, mappings->n + 1,
                   sizeof(*added)) != 0) {
        return -1;
    }
    added = &mappings->list[mappings->n++];
    *added = *mapping;
    for (chain = 0; chain < CHAINS; chain++) {
        added->older[chain] = 0;
        if (!is_in_chain(added, chain)) {
            continue;
        }
        hash = hash_key(mappings, added, chain);
        added->older[chain] = find_newest(mappings, added, chain, hash);
        if (added->older[chain] != 0) {
            table_remove(&mappings->newest[chain], hash, added->older[chain]);
        }
        if (table_add(&mappings->newest[chain], hash, mappings->n) != 0) {
            return -1;
        }
    }
    if (added->module != PROFILE_NONE && added->offset == 0 &&
        add_node(&mappings->begins,
                 &(struct begin){added->process, added->module, added->start},
                 sizeof(struct begin), compare_begins) != 0) {
        return -1;
    }
    return add_area(mappings, (uint32_t)mappings->n - 1);
}

const struct profile_mapping *
profile_mappings_find(const struct profile_mappings *mappings,
                      struct symc_string path, uint32_t process,
                      uint64_t address)
{
    const struct profile_mapping key = {.path = path, .process = process};
    const struct area wanted = {.path = path, .start = address}, *area;
    uint32_t place = find_newest(mappings, &key, CHAIN_PROCESS,
                                 hash_key(mappings, &key, CHAIN_PROCESS));
    const struct profile_mapping *m;

    while ((m = at(mappings, place)) != NULL &&
           (address < m->start || address >= m->limit)) {
        place = m->older[CHAIN_PROCESS];
    }
    if (m != NULL) {
        return m;
    }
    area = find_last(&mappings->areas, &wanted, compare_areas);
    return area != NULL && compare_paths(area->path, path) == 0 &&
                   address < area->limit && !area->is_ambiguous
               ? &mappings->list[area->place]
               : NULL;
}

uint32_t profile_mappings_module(const struct profile_mappings *mappings,
                                 struct symc_string path)
{
    const struct profile_mapping key = {.path = path};
    uint32_t place = find_newest(mappings, &key, CHAIN_NAMED,
                                 hash_key(mappings, &key, CHAIN_NAMED));

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
    enum mapping_chain chain;

    tdestroy(mappings->begins, free);
    tdestroy(mappings->areas, free);
    free(mappings->list);
    for (chain = 0; chain < CHAINS; chain++) {
        table_free(&mappings->newest[chain]);
    }
}
