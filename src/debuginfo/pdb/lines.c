/*
 * Copyright (C) the ngx_symcache authors
 */

#include "lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "c13.h"
#include "base/le.h"
#include "base/array.h"
#include "base/sort.h"

#define SECTION_HEADER 12
#define BLOCK_HEADER 12
#define HAS_COLUMNS 1
#define NEVER_STEP_ONTO 0xFEEFEE
#define NEVER_STEP_INTO 0xF00F00

struct lines_section {
    uint64_t key; /* section in the high half, offset in the low half */
    const uint8_t *data;
    uint32_t size;
};

void lines_free(struct lines *lines)
{
    free(lines->sections);
    free(lines->files);
    free(lines->used_files);
    memset(lines, 0, sizeof(*lines));
}

void lines_list_free(struct lines_list *list)
{
    free(list->data);
    free(list->work);
    memset(list, 0, sizeof(*list));
}

static int add_line_section(struct lines *lines,
                            const struct c13_subsection *s)
{
    struct lines_section *section;

    if (s->size < SECTION_HEADER ||
        array_need(&lines->sections, &lines->section_room,
                   lines->num_sections + 1, sizeof(*lines->sections)) != 0) {
        return -1;
    }
    section = &lines->sections[lines->num_sections++];
    section->key = (uint64_t)le16(s->data + 4) << 32 | le32(s->data);
    section->data = s->data;
    section->size = s->size;
    return 0;
}

/* Sorts by section and offset.  Functions that the linker has folded into one
 * have equal keys; their order must be the same as in the reference. */
static int sort_sections(struct lines *lines)
{
    size_t i, n;
    struct symc_sort_item *ties;
    struct lines_section *copy;

    n = lines->num_sections;
    for (i = 1; i < n && lines->sections[i - 1].key <= lines->sections[i].key;
         i++) {
    }
    if (i >= n) {
        return 0;
    }
    ties = malloc(n * sizeof(*ties));
    copy = malloc(n * sizeof(*copy));
    if (ties == NULL || copy == NULL) {
        free(ties);
        free(copy);
        return -1;
    }
    memcpy(copy, lines->sections, n * sizeof(*copy));
    for (i = 0; i < n; i++) {
        ties[i].key = copy[i].key;
        ties[i].value = i;
    }
    symc_sort_unstable(ties, n);
    for (i = 0; i < n; i++) {
        lines->sections[i] = copy[ties[i].value];
    }
    free(ties);
    free(copy);
    return 0;
}

int lines_open(struct lines *lines, const uint8_t *c13, uint32_t size)
{
    int rc;
    size_t n;
    uint32_t at;
    struct c13_subsection s;

    lines->num_sections = lines->next_section = 0;
    lines->checksums = NULL;
    lines->checksums_size = lines->known_files = 0;
    while (lines->num_used_files > 0) {
        lines->files[lines->used_files[--lines->num_used_files]] = 0;
    }
    lines->inlinees = NULL;
    lines->inlinees_size = 0;
    lines->imports.data = NULL;
    lines->imports.size = 0;
    at = 0;
    while ((rc = c13_next(c13, size, &at, &s)) > 0) {
        if (s.kind == C13_LINES && add_line_section(lines, &s) != 0) {
            return -1;
        }
        if (s.kind == C13_CHECKSUMS) {
            lines->checksums = s.data;
            lines->checksums_size = s.size;
        }
        if (s.kind == C13_INLINEES && lines->inlinees == NULL) {
            lines->inlinees = s.data;
            lines->inlinees_size = s.size;
        }
        if (s.kind == C13_IMPORTS && lines->imports.data == NULL) {
            lines->imports.data = s.data;
            lines->imports.size = s.size;
        }
    }
    n = lines->checksums_size / 4 + 1;
    if (rc != 0 || array_need(&lines->files, &lines->file_room, n,
                              sizeof(*lines->files)) != 0) {
        return -1;
    }
    return sort_sections(lines);
}

/* Finds the source file of a checksum entry, without the cache. */
static int read_line_file(struct lines *lines, uint32_t at, uint32_t *source)
{
    uint32_t left, size;
    const uint8_t *p;

    if (at >= lines->checksums_size || lines->checksums_size - at < 6) {
        return -1;
    }
    p = lines->checksums + at;
    left = lines->checksums_size - at - 6;
    size = p[4];
    if (size > left || p[5] > 3) {
        return -1;
    }
    if ((-(at + 6 + size) & 3) > left - size) {
        return -1; /* no room for the padding */
    }
    return source_files_find(lines->sources, le32(p), source);
}

/* Sets those of the files that no module has used yet to 0. */
static void clear_files(struct lines *lines)
{
    size_t n = lines->checksums_size / 4 + 1;

    if (n > lines->cleared_files) {
        memset(lines->files + lines->cleared_files, 0,
               (n - lines->cleared_files) * sizeof(*lines->files));
        lines->cleared_files = n;
    }
    lines->known_files = lines->checksums_size;
}

/* As read_line_file(), and puts the result into the cache if the entry has a
 * place there.  The cache is made on first use only, because many modules have
 * a table of files and no lines.  This is called rarely, so it is kept out of
 * the hot code of its caller. */
static __attribute__((noinline)) int find_file(struct lines *lines,
                                               uint32_t at, uint32_t *source)
{
    if (lines->known_files != lines->checksums_size) {
        clear_files(lines);
    }
    if (read_line_file(lines, at, source) != 0) {
        return -1;
    }
    if ((at & 3) != 0 || at >= lines->known_files) {
        return 0;
    }
    if (array_need(&lines->used_files, &lines->used_file_room,
                   lines->num_used_files + 1,
                   sizeof(*lines->used_files)) != 0) {
        return -1;
    }
    lines->used_files[lines->num_used_files++] = at / 4;
    lines->files[at / 4] = *source + 1;
    return 0;
}

static inline int add_line_record(struct lines *lines,
                                  const struct lines_record *record,
                                  struct lines_list *list)
{
    uint32_t address, known, source;
    struct symc_line *line;

    lines->count++;
    if (!address_find(lines->addresses, record->section, record->offset,
                      &address) ||
        (record->has_length && record->length == 0)) {
        return 0;
    }
    known = 0;
    if ((record->file & 3) == 0 && record->file < lines->known_files) {
        known = lines->files[record->file / 4];
    }
    if (known == 0) {
        if (find_file(lines, record->file, &source) != 0) {
            return -1;
        }
        known = source + 1;
    }
    if (array_need(&list->data, &list->room, list->count + 1,
                   sizeof(*list->data)) != 0) {
        return -1;
    }
    line = &list->data[list->count++];
    line->address = address;
    line->line = record->line;
    line->source = known - 1;
    line->size = record->has_length ? record->length : SYMC_NO_SIZE;
    return 0;
}

int lines_add(struct lines *lines, const struct lines_record *record,
              struct lines_list *list)
{
    return add_line_record(lines, record, list);
}

static void set_end(struct lines_record *record, uint32_t end)
{
    record->has_length = record->offset <= end;
    record->length = end - record->offset;
}

/* Reads the records of one block.  If *has_pending is set, *pending is the
 * record before, whose end is not known yet. */
static int read_block(struct lines *lines, const uint8_t *p, uint32_t count,
                      uint32_t base, struct lines_record *pending,
                      int *has_pending, uint32_t file, struct lines_list *list)
{
    uint32_t i, line, offset;
    struct lines_record record = *pending;

    for (i = 0; i < count; i++, p += 8) {
        line = le32(p + 4) & 0xFFFFFF;
        if (line == NEVER_STEP_ONTO || line == NEVER_STEP_INTO) {
            continue;
        }
        offset = base + le32(p);
        if (*has_pending) {
            set_end(&record, offset);
            if (add_line_record(lines, &record, list) != 0) {
                return -1;
            }
        }
        record.offset = offset;
        record.line = line;
        record.file = file;
        *has_pending = 1;
    }
    *pending = record;
    return 0;
}

static int read_line_section(struct lines *lines,
                             const struct lines_section *section,
                             struct lines_list *list)
{
    int has_pending;
    uint32_t at, base, count, size, record;
    const uint8_t *p;
    struct lines_record pending;

    p = section->data;
    base = le32(p);
    memset(&pending, 0, sizeof(pending));
    pending.section = le16(p + 4);
    record = (le16(p + 6) & HAS_COLUMNS) != 0 ? 12 : 8;
    has_pending = 0;
    for (at = SECTION_HEADER; at < section->size; at += size) {
        if (section->size - at < BLOCK_HEADER) {
            return -1;
        }
        count = le32(p + at + 4);
        size = le32(p + at + 8);
        if (size < BLOCK_HEADER || size > section->size - at ||
            count > (size - BLOCK_HEADER) / record ||
            read_block(lines, p + at + BLOCK_HEADER, count, base, &pending,
                       &has_pending, le32(p + at), list) != 0) {
            return -1;
        }
    }
    if (has_pending) {
        set_end(&pending, base + le32(p + 8));
        return add_line_record(lines, &pending, list);
    }
    return 0;
}

/* Returns how many sections have this key or a lower one. */
static size_t sections_before(struct lines *lines, uint64_t key)
{
    size_t low, high, mid;

    /* procedures are mostly in the order of their lines */
    low = lines->next_section;
    if (low < lines->num_sections && lines->sections[low].key == key &&
        (low + 1 == lines->num_sections ||
         lines->sections[low + 1].key > key)) {
        return low + 1;
    }
    low = 0;
    high = lines->num_sections;
    while (low < high) {
        mid = low + (high - low) / 2;
        if (lines->sections[mid].key <= key) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

int lines_of_procedure(struct lines *lines, uint32_t section, uint32_t offset,
                       struct lines_list *list)
{
    size_t n;

    n = sections_before(lines, (uint64_t)section << 32 | offset);
    if (n == 0 || lines->sections[n - 1].key >> 32 != section) {
        return 0;
    }
    lines->next_section = n;
    return read_line_section(lines, &lines->sections[n - 1], list);
}

static int sort_lines(struct lines_list *list, size_t first)
{
    size_t i, n;
    uint64_t *keys;
    struct symc_line *lines, *copy;

    n = list->count - first;
    lines = list->data + first;
    /* room for the keys, the work space of sorting, and a copy of the lines */
    if (array_need(&list->work, &list->work_room, (2 + sizeof(*lines) / 8) * n,
                   sizeof(*list->work)) != 0) {
        return -1;
    }
    keys = list->work;
    copy = (struct symc_line *)(keys + 2 * n);
    memcpy(copy, lines, n * sizeof(*lines));
    for (i = 0; i < n; i++) {
        keys[i] = lines[i].address << 32 | i;
    }
    sort_keys(keys, keys + n, n);
    for (i = 0; i < n; i++) {
        lines[i] = copy[(uint32_t)keys[i]];
    }
    return 0;
}

static bool continues_line(const struct symc_line *last,
                           const struct symc_line *line)
{
    return last->line == line->line && last->source == line->source &&
           last->size != SYMC_NO_SIZE &&
           last->address + last->size == line->address;
}

int lines_tidy(struct lines_list *list, size_t first)
{
    int sorted, tidy;
    size_t i, out;
    struct symc_line *last, *line;

    sorted = tidy = 1;
    for (i = first + 1; i < list->count; i++) {
        line = &list->data[i];
        sorted &= line[-1].address <= line->address;
        tidy &= !continues_line(line - 1, line);
    }
    if (sorted && tidy) {
        return 0;
    }
    if (!sorted && sort_lines(list, first) != 0) {
        return -1;
    }
    out = first;
    for (i = first; i < list->count; i++) {
        line = &list->data[i];
        last = &list->data[out] - 1;
        if (out > first && continues_line(last, line)) {
            last->size += line->size == SYMC_NO_SIZE ? 0 : line->size;
        } else {
            list->data[out++] = *line;
        }
    }
    list->count = out;
    return 0;
}

void lines_clip(struct lines_list *list, size_t first, uint64_t start,
                uint64_t size)
{
    size_t i, out;
    const struct symc_line *line;

    if (list->count == first) {
        return;
    }
    /* lines are in ascending order and not empty: often all are inside */
    if (list->data[first].address >= start &&
        list->data[list->count - 1].address < start + size) {
        return;
    }
    out = first;
    for (i = first; i < list->count; i++) {
        line = &list->data[i];
        if (line->address < start + size &&
            (line->size == SYMC_NO_SIZE ||
             line->address + line->size > start)) {
            list->data[out++] = *line;
        }
    }
    list->count = out;
}
