/*
 * Copyright (C) the ngx_symcache authors
 *
 * From addresses of a file to places in the table of strings.
 */
#include <stdlib.h>
#include "symbolize.h"


/* Places whose memory is fetched together. */
#define PREFETCHED 128

static _Thread_local const uint64_t *sorted; /* the addresses */

static int compare(const void *a, const void *b)
{
    uint64_t x = sorted[*(const uint32_t *)a], y = sorted[*(const uint32_t *)b];

    return x < y ? -1 : x > y;
}

/* Most profiles are sorted already. */
static void sort(struct symbolize_call *call, const uint64_t *addresses,
                 uint32_t count)
{
    bool is_sorted = true;
    uint32_t i;

    for (i = 0; i < count; i++) {
        call->order[i] = i;
        is_sorted = is_sorted && (i == 0 || addresses[i - 1] <= addresses[i]);
    }
    if (!is_sorted) {
        sorted = addresses;
        qsort(call->order, count, sizeof(call->order[0]), compare);
    }
}

static uint32_t name_of(struct symbolize_call *call,
                        const struct symc_frame *frame)
{
    const struct symc_string *name = &frame->function.name;
    struct symc_string readable;
    bool is_known;
    uint32_t *place;

    if (name->size == 0) {
        return 0;
    }
    place = strings_near(&call->strings, name->data, &is_known);
    if (!is_known && demangle(name, frame->function.language, call->name,
                              &readable)) {
        *place = strings_add(&call->strings, &readable);
    } else if (!is_known) {
        *place = strings_want(&call->strings, name, place);
    }
    return *place;
}

static uint32_t file_of(struct symbolize_call *call, uint32_t file)
{
    const struct symc_reader *reader = call->chain.reader;
    const struct symc_string *path;
    bool is_known;
    uint32_t *place;

    if (file >= reader->num_files) {
        return 0;
    }
    place = strings_near(&call->strings,
                         reader->data + reader->files +
                             (size_t)file * reader->file_size,
                         &is_known);
    if (!is_known) {
        path = source_path(&call->path, reader, file);
        call->strings.has_failed |= path == NULL;
        *place = path != NULL ? strings_add(&call->strings, path) : 0;
    }
    return *place;
}

/* The functions at a location, the outermost first. */
static void write_frames(struct symbolize_call *call,
                         const struct symc_lookup *lookup,
                         struct symbolize_place *place)
{
    struct chain *chain = &call->chain;
    const struct symc_frame *frame;
    uint32_t *numbers;
    size_t i;

    chain->count = 0;
    if (lookup->location != SYMC_NONE) {
        chain_at(lookup->reader, lookup->location, chain);
    }
    place->first = (uint32_t)call->nframes;
    place->count = (uint32_t)chain->count;
    if (symc_array_need(&call->frames, &call->frames_room,
                           call->nframes + 3 * chain->count,
                           sizeof(call->frames[0])) != 0) {
        call->strings.has_failed = true;
        place->count = 0;
        return;
    }
    numbers = call->frames + call->nframes;
    for (i = chain->count; i > 0; i--) {
        frame = &chain->frames[i - 1];
        *numbers++ = name_of(call, frame);
        *numbers++ = file_of(call, frame->location.file);
        *numbers++ = frame->location.line;
    }
    call->nframes += 3 * chain->count;
}

void symbolize_resolve(struct symbolize_call *call,
                       const struct symbolize_question *question)
{
    const struct api_module *module =
        &call->base.round->modules[question->module];
    const uint64_t *addresses = call->addresses + question->first;
    struct symbolize_place *place, *last = NULL;
    struct symc_lookup *lookup;
    uint32_t i;

    sort(call, addresses, question->count);
    for (i = 0; i < question->count; i++) {
        call->lookups[i].reader = &module->reader->symcache;
        call->lookups[i].address = addresses[call->order[i]];
    }
    symc_reader_lookup_all(call->lookups, question->count);
    for (i = 0; i < question->count; i += PREFETCHED) {
        chain_prefetch(call->lookups + i, question->count - i < PREFETCHED
                                              ? question->count - i
                                              : PREFETCHED);
    }
    call->nframes = call->strings.nwishes = 0;
    for (i = 0; i < question->count; i++) {
        lookup = &call->lookups[i];
        place = &call->places[call->order[i]];
        if (last != NULL && lookup->location == lookup[-1].location) {
            *place = *last;
        } else {
            write_frames(call, lookup, place);
        }
        last = place;
        call->counts.found += place->count > 0;
    }
    strings_settle(&call->strings);
    for (i = 0; i < call->nframes; i += 3) {
        call->frames[i] = strings_get(&call->strings, call->frames[i]);
    }
}
