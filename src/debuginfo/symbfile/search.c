/*
 * Copyright (C) the ngx_symcache authors
 */
#include "search.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint64_t end_of(const struct symbfile_record *record)
{
    uint64_t size = record->is_pad ? 1 : record->size;

    return size > UINT64_MAX - record->address ? UINT64_MAX
                                               : record->address + size;
}

/* Copies the array of a record, which its reader uses again. */
static int keep_array(struct arena *arena, const void **array, size_t size)
{
    void *copy;

    if (size == 0) {
        return 0;
    }
    copy = arena_take(arena, size);
    if (copy == NULL) {
        return -1;
    }
    memcpy(copy, *array, size);
    *array = copy;
    return 0;
}

static int add_search_record(struct symbfile_search *search,
                             const struct symbfile_record *record)
{
    struct symbfile_entry *entry;

    if (array_need(&search->entries, &search->entry_room,
                   search->num_entries + 1, sizeof(*search->entries)) != 0) {
        return -1;
    }
    entry = &search->entries[search->num_entries++];
    entry->record = *record;
    entry->end = end_of(record);
    return keep_array(&search->arena, (const void **)&entry->record.lines,
                      record->num_lines * sizeof(*record->lines)) != 0 ||
                   keep_array(
                       &search->arena, (const void **)&entry->record.frames,
                       record->num_frames * sizeof(*record->frames)) != 0
               ? -1
               : 0;
}

static int compare_records(const void *left, const void *right)
{
    const struct symbfile_record *a = left, *b = right;

    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    if (a->depth != b->depth) {
        return a->depth < b->depth ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : 1;
}

static void sort_records(struct symbfile_search *search)
{
    size_t i;
    uint64_t last = 0;

    if (search->num_entries > 0) {
        qsort(search->entries, search->num_entries, sizeof(*search->entries),
              compare_records);
    }
    for (i = 0; i < search->num_entries; i++) {
        last = search->entries[i].end > last ? search->entries[i].end : last;
        search->entries[i].last_end = last;
    }
}

int symbfile_search_open(struct symbfile_search *search, const uint8_t *data,
                         size_t size, struct failure *failure)
{
    int rc;
    struct symbfile_reader reader;
    struct symbfile_record record;

    memset(search, 0, sizeof(*search));
    symbfile_reader_init(&reader, data, size);
    while ((rc = symbfile_reader_next(&reader, &record)) > 0) {
        if (add_search_record(search, &record) != 0) {
            rc = failure_memory(failure);
            break;
        }
    }
    if (rc < 0 && reader.error[0] != '\0') {
        failure_set(failure, reader.is_out_of_memory ? FAILURE_LIMIT
                                                     : FAILURE_DAMAGED,
                    "%s", reader.error);
    }
    symbfile_reader_free(&reader);
    sort_records(search);
    return rc;
}

void symbfile_search_free(struct symbfile_search *search)
{
    arena_free(&search->arena);
    free(search->entries);
    free(search->frames);
    free(search->found);
}

/* The number of entries that begin at or before an address. */
static size_t entries_until(const struct symbfile_search *search,
                            uint64_t address)
{
    size_t low = 0, high = search->num_entries, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (search->entries[middle].record.address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Keeps the ranges in order of their depths, of each depth the first. */
static int note_entry(struct symbfile_search *search, size_t *count,
                      const struct symbfile_entry *entry)
{
    size_t at = *count;

    while (at > 0 &&
           search->found[at - 1]->record.depth > entry->record.depth) {
        at--;
    }
    if (at > 0 && search->found[at - 1]->record.depth == entry->record.depth) {
        search->found[at - 1] = entry; /* which begins earlier */
        return 0;
    }
    if (array_need(&search->found, &search->found_room, *count + 1,
                   sizeof(*search->found)) != 0) {
        return -1;
    }
    memmove(search->found + at + 1, search->found + at,
            (*count - at) * sizeof(*search->found));
    search->found[at] = entry;
    (*count)++;
    return 0;
}

static uint32_t search_line_at(const struct symbfile_record *record,
                               uint64_t address)
{
    size_t i = record->num_lines;

    while (i > 0 && record->lines[i - 1].offset > address - record->address) {
        i--;
    }
    return i > 0 ? record->lines[i - 1].line : 0;
}

static long make_frames(struct symbfile_search *search, size_t count,
                        uint64_t address)
{
    size_t i;
    const struct symbfile_record *record, *callee;
    struct symbfile_frame *frame;

    if (count > LONG_MAX || array_need(&search->frames, &search->frame_room,
                                       count, sizeof(*search->frames)) != 0) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        record = &search->found[i]->record;
        frame = &search->frames[i];
        frame->func = record->func;
        frame->file = record->file;
        if (i + 1 == count) {
            frame->line = search_line_at(record, address);
            break;
        }
        callee = &search->found[i + 1]->record;
        frame->line = callee->call_line;
        frame->file = callee->call_file.data != NULL ? callee->call_file
                                                     : record->file;
    }
    return (long)count;
}

long symbfile_search_at(struct symbfile_search *search, uint64_t address,
                        const struct symbfile_frame **frames)
{
    size_t i, count = 0;
    const struct symbfile_entry *entry;
    long n;

    for (i = entries_until(search, address);
         i > 0 && search->entries[i - 1].last_end > address; i--) {
        entry = &search->entries[i - 1];
        if (entry->record.is_pad && entry->record.address == address) {
            *frames = entry->record.frames;
            return (long)entry->record.num_frames;
        }
        if (!entry->record.is_pad && entry->end > address &&
            note_entry(search, &count, entry) != 0) {
            return -1;
        }
    }
    n = make_frames(search, count, address);
    *frames = search->frames;
    return n;
}
