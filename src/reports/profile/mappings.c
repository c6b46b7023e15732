/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mappings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats.h"

static bool is_in_chain(const struct profile_mapping *mapping,
                        enum mapping_chain chain)
{
    return chain == CHAIN_BEGIN
               ? mapping->module != PROFILE_NONE && mapping->offset == 0
               : chain != CHAIN_NAMED || mapping->module != PROFILE_NONE;
}

static bool is_same_key(const struct profile_mapping *a,
                        const struct profile_mapping *b,
                        enum mapping_chain chain)
{
    if (chain == CHAIN_BEGIN) {
        return a->module == b->module && a->process == b->process;
    }
    return (chain != CHAIN_PROCESS || a->process == b->process) &&
           a->path.size == b->path.size &&
           (a->path.size == 0 ||
            memcmp(a->path.data, b->path.data, a->path.size) == 0);
}

static uint64_t hash_key(const struct profile_mappings *mappings,
                         const struct profile_mapping *key,
                         enum mapping_chain chain)
{
    uint64_t hash = (uintptr_t)mappings;

    if (chain == CHAIN_PROCESS || chain == CHAIN_BEGIN) {
        hash = table_hash(hash, &key->process, sizeof(key->process));
    }
    return chain == CHAIN_BEGIN
               ? table_hash(hash, &key->module, sizeof(key->module))
               : table_hash(hash, key->path.data, key->path.size);
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
    added->begin = added->begin_of = 0;
    return 0;
}

const struct profile_mapping *
profile_mappings_find(const struct profile_mappings *mappings,
                      struct symc_string path, uint32_t process,
                      uint64_t address)
{
    static const enum mapping_chain chains[] = {CHAIN_PROCESS, CHAIN_FILE};
    const struct profile_mapping key = {.path = path, .process = process};
    const struct profile_mapping *m = NULL;
    uint32_t place;
    size_t i;

    for (i = 0; m == NULL && i < sizeof(chains) / sizeof(chains[0]); i++) {
        place = find_newest(mappings, &key, chains[i],
                            hash_key(mappings, &key, chains[i]));
        while ((m = at(mappings, place)) != NULL &&
               (address < m->start || address >= m->limit)) {
            place = m->older[chains[i]];
        }
    }
    return m;
}

uint32_t profile_mappings_module(const struct profile_mappings *mappings,
                                 struct symc_string path)
{
    const struct profile_mapping key = {.path = path};
    uint32_t place = find_newest(mappings, &key, CHAIN_NAMED,
                                 hash_key(mappings, &key, CHAIN_NAMED));

    return place != 0 ? mappings->list[place - 1].module : PROFILE_NONE;
}

/* The last mapping of the file's beginning that is not behind this one: of
 * those at the same place the oldest. */
static const struct profile_mapping *
find_begin(const struct profile_mappings *mappings,
           const struct profile_mapping *mapping)
{
    struct profile_mapping *known = &mappings->list[mapping - mappings->list];
    uint32_t newest = find_newest(mappings, mapping, CHAIN_BEGIN,
                                  hash_key(mappings, mapping, CHAIN_BEGIN));
    const struct profile_mapping *m, *begin = NULL;

    if (known->begin_of != newest) {
        for (m = at(mappings, newest); m != NULL;
             m = at(mappings, m->older[CHAIN_BEGIN])) {
            if (m->start <= mapping->start &&
                (begin == NULL || m->start >= begin->start)) {
                begin = m;
            }
        }
        known->begin =
            begin != NULL ? (uint32_t)(begin - mappings->list) + 1 : 0;
        known->begin_of = newest;
    }
    return at(mappings, known->begin);
}

uint64_t profile_relative(const struct profile_mappings *mappings,
                          const struct profile_mapping *mapping,
                          uint64_t address, uint64_t *reach)
{
    const struct profile_mapping *begin = find_begin(mappings, mapping);

    *reach = begin == NULL ? 0
             : begin == mapping && mapping->limit > 0
                 ? mapping->limit - mapping->start
                 : PROFILE_REACHES;
    return begin != NULL ? address - begin->start
                         : address - mapping->start + mapping->offset;
}

void profile_mappings_free(struct profile_mappings *mappings)
{
    enum mapping_chain chain;

    free(mappings->list);
    for (chain = 0; chain < CHAINS; chain++) {
        table_free(&mappings->newest[chain]);
    }
}
