/*
 * Copyright (C) the ngx_symcache authors
 */
#include "resolver.h"

#include <stdlib.h>
#include "base/array.h"

/* Places whose memory is fetched together. */
#define PREFETCHED 128

static _Thread_local const uint64_t *sorted; /* the addresses */

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = sorted[*(const uint32_t *)a], y = sorted[*(const uint32_t *)b];

    return x < y ? -1 : x > y;
}

/* Most profiles are sorted already. */
static void sort_addresses(struct resolver *resolver,
                           const uint64_t *addresses, uint32_t count)
{
    bool is_sorted = true;
    uint32_t i;

    for (i = 0; i < count; i++) {
        resolver->order[i] = i;
        is_sorted = is_sorted && (i == 0 || addresses[i - 1] <= addresses[i]);
    }
    if (!is_sorted) {
        sorted = addresses;
        qsort(resolver->order, count, sizeof(resolver->order[0]),
              compare_addresses);
    }
}

static uint32_t name_of(struct resolver *resolver,
                        const struct symc_frame *frame)
{
    const struct symc_string *name = &frame->function.name;
    struct symc_string readable;
    bool is_known;
    uint32_t *place;

    if (name->size == 0) {
        return 0;
    }
    place = name_table_near(&resolver->names, name->data, &is_known);
    if (!is_known && demangle(name, frame->function.language, resolver->name,
                              &readable)) {
        *place = name_table_add(&resolver->names, &readable);
    } else if (!is_known) {
        *place = name_table_want(&resolver->names, name, place);
    }
    return *place;
}

static uint32_t file_of(struct resolver *resolver, uint32_t file)
{
    const struct symc_reader *reader = resolver->chain.reader;
    const struct symc_string *path;
    bool is_known;
    uint32_t *place;

    if (file >= reader->num_files) {
        return 0;
    }
    place = name_table_near(&resolver->names,
                         reader->data + reader->files +
                             (size_t)file * reader->file_size,
                         &is_known);
    if (!is_known) {
        path = source_path(&resolver->path, reader, file);
        resolver->names.has_failed |= path == NULL;
        *place = path != NULL ? name_table_add(&resolver->names, path) : 0;
    }
    return *place;
}

/* The functions at a location, the outermost first. */
static void write_frames(struct resolver *resolver,
                         const struct symc_lookup *lookup,
                         struct resolved *place)
{
    struct chain *chain = &resolver->chain;
    const struct symc_frame *frame;
    uint32_t *numbers;
    size_t i;

    chain->count = 0;
    if (lookup->location != SYMC_NONE) {
        chain_at(lookup->reader, lookup->location, chain);
    }
    place->first = (uint32_t)resolver->nframes;
    place->count = (uint32_t)chain->count;
    if (chain->count == 0) {
        return;
    }
    if (array_need(&resolver->frames, &resolver->frames_room,
                   resolver->nframes + 3 * chain->count,
                   sizeof(resolver->frames[0])) != 0) {
        resolver->names.has_failed = true;
        place->count = 0;
        return;
    }
    numbers = resolver->frames + resolver->nframes;
    for (i = chain->count; i > 0; i--) {
        frame = &chain->frames[i - 1];
        *numbers++ = name_of(resolver, frame);
        *numbers++ = file_of(resolver, frame->location.file);
        *numbers++ = frame->location.line;
    }
    resolver->nframes += 3 * chain->count;
}

void resolver_run(struct resolver *resolver, const struct symc_reader *reader,
                  const uint64_t *addresses, uint32_t count)
{
    struct resolved *place, *last = NULL;
    struct symc_lookup *lookup;
    uint32_t i;

    sort_addresses(resolver, addresses, count);
    for (i = 0; i < count; i++) {
        resolver->lookups[i].reader = reader;
        resolver->lookups[i].address = addresses[resolver->order[i]];
    }
    symc_reader_lookup_all(resolver->lookups, count);
    for (i = 0; i < count; i += PREFETCHED) {
        chain_prefetch(resolver->lookups + i,
                       count - i < PREFETCHED ? count - i : PREFETCHED);
    }
    resolver->nframes = resolver->names.nwishes = 0;
    for (i = 0; i < count; i++) {
        lookup = &resolver->lookups[i];
        place = &resolver->places[resolver->order[i]];
        if (last != NULL && lookup->location == lookup[-1].location) {
            *place = *last;
        } else {
            write_frames(resolver, lookup, place);
        }
        last = place;
    }
    name_table_settle(&resolver->names);
    for (i = 0; i < resolver->nframes; i += 3) {
        resolver->frames[i] =
            name_table_get(&resolver->names, resolver->frames[i]);
    }
}

void resolver_forget_files(struct resolver *resolver)
{
    name_table_forget_files(&resolver->names);
    resolver->path.reader = NULL;
}

void resolver_free(struct resolver *resolver)
{
    name_table_free(&resolver->names);
    source_path_free(&resolver->path);
    free(resolver->frames);
}
