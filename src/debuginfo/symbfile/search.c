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

static int add_record(struct symbfile_search *s,
                      const struct symbfile_record *record)
{
    struct symbfile_entry *entry;

    if (array_need(&s->entries, &s->entry_room, s->num_entries + 1,
                   sizeof(*s->entries)) != 0) {
        return -1;
    }
    entry = &s->entries[s->num_entries++];
    entry->record = *record;
    entry->end = end_of(record);
    return keep_array(&s->arena, (const void **)&entry->record.lines,
                      record->num_lines * sizeof(*record->lines)) != 0 ||
                   keep_array(&s->arena, (const void **)&entry->record.frames,
                              record->num_frames * sizeof(*record->frames)) !=
                       0
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

static void sort_records(struct symbfile_search *s)
{
    size_t i;
    uint64_t last = 0;

    if (s->num_entries > 0) {
        qsort(s->entries, s->num_entries, sizeof(*s->entries),
              compare_records);
    }
    for (i = 0; i < s->num_entries; i++) {
        last = s->entries[i].end > last ? s->entries[i].end : last;
        s->entries[i].last_end = last;
    }
}

int symbfile_search_open(struct symbfile_search *s, const uint8_t *data,
                         size_t size, struct failure *failure)
{
    int rc;
    struct symbfile_reader reader;
    struct symbfile_record record;

    memset(s, 0, sizeof(*s));
    symbfile_reader_init(&reader, data, size);
    while ((rc = symbfile_reader_next(&reader, &record)) > 0) {
        if (add_record(s, &record) != 0) {
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
    sort_records(s);
    return rc;
}

void symbfile_search_free(struct symbfile_search *s)
{
    arena_free(&s->arena);
    free(s->entries);
    free(s->frames);
    free(s->found);
}

/* The number of entries that begin at or before an address. */
static size_t entries_until(const struct symbfile_search *s, uint64_t address)
{
    size_t low = 0, high = s->num_entries, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (s->entries[middle].record.address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Keeps the ranges in order of their depths, of each depth the first. */
static int note_entry(struct symbfile_search *s, size_t *count,
                      const struct symbfile_entry *entry)
{
    size_t at = *count;

    while (at > 0 &&
           s->found[at - 1]->record.depth > entry->record.depth) {
        at--;
    }
    if (at > 0 && s->found[at - 1]->record.depth == entry->record.depth) {
        s->found[at - 1] = entry; /* which begins earlier */
        return 0;
    }
    if (array_need(&s->found, &s->found_room, *count + 1, sizeof(*s->found)) !=
        0) {
        return -1;
    }
    memmove(s->found + at + 1, s->found + at,
            (*count - at) * sizeof(*s->found));
    s->found[at] = entry;
    (*count)++;
    return 0;
}

static uint32_t line_at(const struct symbfile_record *record, uint64_t address)
{
    size_t i = record->num_lines;

    while (i > 0 && record->lines[i - 1].offset > address - record->address) {
        i--;
    }
    return i > 0 ? record->lines[i - 1].line : 0;
}

static long make_frames(struct symbfile_search *s, size_t count,
                        uint64_t address)
{
    size_t i;
    const struct symbfile_record *record, *callee;
    struct symbfile_frame *frame;

    if (count > LONG_MAX || array_need(&s->frames, &s->frame_room, count,
                                       sizeof(*s->frames)) != 0) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        record = &s->found[i]->record;
        frame = &s->frames[i];
        frame->func = record->func;
        frame->file = record->file;
        if (i + 1 == count) {
            frame->line = line_at(record, address);
            break;
        }
        callee = &s->found[i + 1]->record;
        frame->line = callee->call_line;
        frame->file = callee->call_file.data != NULL ? callee->call_file
                                                     : record->file;
    }
    return (long)count;
}

long symbfile_search_at(struct symbfile_search *s, uint64_t address,
                        const struct symbfile_frame **frames)
{
    size_t i, count = 0;
    const struct symbfile_entry *entry;
    long n;

    for (i = entries_until(s, address);
         i > 0 && s->entries[i - 1].last_end > address; i--) {
        entry = &s->entries[i - 1];
        if (entry->record.is_pad && entry->record.address == address) {
            *frames = entry->record.frames;
            return (long)entry->record.num_frames;
        }
        if (!entry->record.is_pad && entry->end > address &&
            note_entry(s, &count, entry) != 0) {
            return -1;
        }
    }
    n = make_frames(s, count, address);
    *frames = s->frames;
    return n;
}
