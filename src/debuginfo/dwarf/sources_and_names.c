/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sources_and_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_SLOTS 1024

/* File numbers that are forgotten in one step. */
#define NUMBERS_A_STEP 16

void dwarf_sources_free(struct dwarf_sources *sources)
{
    free(sources->sources);
    free(sources->numbers);
    memset(sources, 0, sizeof(*sources));
}

void dwarf_names_free(struct dwarf_names *names)
{
    free(names->list);
    free(names->slots);
    memset(names, 0, sizeof(*names));
}

/* sources ----------------------------------------------------------------- */

static int add_source(struct dwarf_sources *sources,
                      const struct symc_text *comp,
                      const struct symc_text *directory,
                      const struct symc_text *name)
{
    struct symc_source *s;

    if (sources->num_sources >= SYMC_NONE ||
        array_need(&sources->sources, &sources->source_room,
                   sources->num_sources + 1, sizeof(*sources->sources)) != 0) {
        return -1;
    }
    s = &sources->sources[sources->num_sources++];
    memset(s, 0, sizeof(*s));
    s->comp_dir = *comp;
    s->directory = *directory;
    s->name = *name;
    s->file = SYMC_NONE;
    return 0;
}

int dwarf_sources_begin(struct dwarf_sources *sources, struct dwarf_reader *d,
                        const struct symc_text *comp_dir,
                        const struct dwarf_lines *lines)
{
    static const struct symc_text empty = {"", 0};

    sources->first = sources->num_sources;
    sources->num_numbers = lines == NULL ? 0 : lines->num_files + 1;
    if (sources->num_numbers > 0) {
        if (array_need(&sources->numbers, &sources->number_room,
                       sources->num_numbers, sizeof(*sources->numbers)) != 0) {
            return failure_memory(d->failure);
        }
        /* many units may have the same files */
        if (dwarf_charge(d, sources->num_numbers / NUMBERS_A_STEP) != 0) {
            return -1;
        }
        memset(sources->numbers, 0,
               sources->num_numbers * sizeof(*sources->numbers));
    }
    return add_source(sources, comp_dir, &empty, &empty) != 0
               ? failure_memory(d->failure)
               : 0;
}

/* A string that is not there becomes an empty one. */
static struct symc_text text_of(struct dwarf_reader *d,
                                const struct dwarf_unit *u,
                                const struct dwarf_value *value)
{
    size_t size;
    struct symc_text text = {"", 0};
    const char *data;

    if (dwarf_string(d, u, value, &data, &size) && size <= UINT32_MAX) {
        text.data = data;
        text.size = (uint32_t)size;
    }
    return text;
}

int dwarf_sources_add(struct dwarf_sources *sources, struct dwarf_reader *d,
                      const struct dwarf_unit *u,
                      const struct dwarf_root *root,
                      const struct dwarf_lines *lines, uint64_t number,
                      uint32_t *source)
{
    struct dwarf_value directory, name;
    struct symc_text comp_dir, texts[2];

    *source = (uint32_t)sources->first;
    if (number >= sources->num_numbers ||
        !dwarf_lines_file(lines, &root->name, &root->comp_dir, number,
                          &directory, &name)) {
        return 0;
    }
    texts[0] = text_of(d, u, &directory);
    texts[1] = text_of(d, u, &name);
    comp_dir = sources->sources[sources->first].comp_dir;
    *source = sources->numbers[number] = (uint32_t)sources->num_sources;
    return add_source(sources, &comp_dir, &texts[0], &texts[1]);
}

/* names ------------------------------------------------------------------- */

static int allocate_slots(struct dwarf_names *names, size_t num_slots)
{
    struct dwarf_name_slot *slots = calloc(num_slots, sizeof(*slots));

    if (slots == NULL) {
        return -1;
    }
    free(names->slots);
    names->slots = slots;
    names->num_slots = num_slots;
    names->unit = 1;
    names->used = 0;
    return 0;
}

int dwarf_names_begin(struct dwarf_names *names)
{
    names->used = 0;
    names->unit++;
    return names->num_slots == 0 || names->unit == 0
               ? allocate_slots(names, FIRST_SLOTS)
               : 0;
}

/* Finds the slot of a key, or the free one for it, and counts others that were
 * looked at: a file can choose keys that lead to the same place. */
static struct dwarf_name_slot *find_slot(const struct dwarf_names *names,
                                         uint64_t key, size_t *steps)
{
    size_t mask = names->num_slots - 1;
    size_t i = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;

    for (; names->slots[i].unit == names->unit && names->slots[i].key != key;
         ++*steps) {
        i = (i + 1) & mask;
    }
    return &names->slots[i];
}

static int put_slot(struct dwarf_names *names, uint64_t key, uint32_t name)
{
    size_t i, old = names->num_slots, steps = 0;
    uint32_t unit = names->unit;
    struct dwarf_name_slot *slots = names->slots, *slot;

    if (names->used >= names->num_slots / 2) {
        names->slots = NULL;
        if (allocate_slots(names, 2 * old) != 0) {
            names->slots = slots;
            return -1;
        }
        for (i = 0; i < old; i++) {
            if (slots[i].unit == unit) {
                slot = find_slot(names, slots[i].key, &steps);
                *slot = slots[i];
                slot->unit = names->unit;
                names->used++;
            }
        }
        free(slots);
    }
    slot = find_slot(names, key, &steps);
    slot->key = key;
    slot->name = name;
    slot->unit = names->unit;
    names->used++;
    return 0;
}

static int add_name(struct dwarf_names *names, struct dwarf_reader *d,
                    struct dwarf_unit *u, const struct dwarf_entry *entry,
                    uint8_t language)
{
    int rc;
    size_t size = 0;
    const char *text = "";
    struct inlinee_name *name;

    if (names->count >= SYMC_NONE ||
        array_need(&names->list, &names->room, names->count + 1,
                   sizeof(*names->list)) != 0) {
        return failure_memory(d->failure);
    }
    name = &names->list[names->count];
    memset(name, 0, sizeof(*name));
    name->language = language;
    if (dwarf_entry_language(d, u, entry, &language) < 0) {
        return -1;
    }
    name->language = language;
    rc = dwarf_entry_name(d, u, entry, &text, &size);
    if (rc > 0 && size <= UINT32_MAX) {
        name->name.size = (uint32_t)size;
    }
    name->name.data = name->name.size > 0 ? text : "";
    names->count++;
    return rc < 0 ? -1 : 0;
}

int dwarf_names_find(struct dwarf_names *names, struct dwarf_reader *d,
                     struct dwarf_unit *u, const struct dwarf_entry *entry,
                     uint8_t caller, uint32_t *name)
{
    bool has_origin = entry->origin.kind == DWARF_UNIT_REF ||
                      entry->origin.kind == DWARF_INFO_REF ||
                      entry->origin.kind == DWARF_SUP_REF;
    uint64_t key = has_origin ? entry->origin.number : 0;
    bool is_usual = has_origin && entry->linkage_name.kind == DWARF_NO_VALUE &&
                    entry->name.kind == DWARF_NO_VALUE &&
                    entry->reference.kind == entry->origin.kind &&
                    entry->reference.number == key;
    size_t steps = 0;
    struct dwarf_name_slot *slot;

    key = (key << 10) | (uint64_t)caller << 2 |
          (entry->origin.kind == DWARF_INFO_REF  ? 1u
           : entry->origin.kind == DWARF_SUP_REF ? 2u
                                                 : 0u);
    slot = is_usual ? find_slot(names, key, &steps) : NULL;
    if (dwarf_charge(d, steps) != 0) {
        return -1;
    }
    if (slot != NULL && slot->unit == names->unit) {
        *name = slot->name;
        return 0;
    }
    *name = (uint32_t)names->count;
    if (add_name(names, d, u, entry, caller) != 0) {
        return -1;
    }
    return is_usual && put_slot(names, key, *name) != 0
               ? failure_memory(d->failure)
               : 0;
}
