/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <string.h>

#include "base/le.h"

#define POINT_SIZE 8 /* start and value, in two arrays */

bool cficache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, CFICACHE_MAGIC, 4) == 0;
}

static const struct symc_head head = {"CfiCache", CFICACHE_MAGIC,
                                      CFICACHE_VERSION, CFICACHE_HEADER};

/* Returns where a part of size bytes begins, and moves the end past it. */
static uint64_t take_cficache(uint64_t *end, uint64_t size)
{
    uint64_t begin = *end;

    *end += (size + 3) & ~(uint64_t)3;
    return begin;
}

/* Computes where the parts begin; returns where the last one ends. */
static uint64_t cficache_lay_out(struct cficache_reader *reader)
{
    unsigned i;
    uint64_t end = CFICACHE_HEADER;

    for (i = 0; i < CFICACHE_MAPS; i++) {
        reader->maps[i] =
            take_cficache(&end, (uint64_t)reader->num_points[i] * POINT_SIZE);
    }
    reader->sets = take_cficache(&end, ((uint64_t)reader->num_sets + 1) * 4);
    reader->rules =
        take_cficache(&end, (uint64_t)reader->num_rules * CFICACHE_RULE_SIZE);
    reader->wins =
        take_cficache(&end, (uint64_t)reader->num_wins * CFICACHE_WIN_SIZE);
    reader->programs = take_cficache(&end, reader->program_bytes);
    reader->names = take_cficache(&end, reader->name_bytes);
    reader->file = take_cficache(&end, reader->file_bytes);
    return end;
}

enum symc_reader_status cficache_reader_open(struct cficache_reader *reader,
                                             const void *data, size_t size,
                                             char *error, size_t error_size)
{
    unsigned i;
    enum symc_reader_status status;
    struct cficache_reader r;

    status = symc_head_check(&head, data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    r.data = data;
    r.size = size;
    for (i = 0; i < CFICACHE_MAPS; i++) {
        r.num_points[i] = le32(r.data + CFICACHE_AT_MAPS + (size_t)i * 4);
    }
    r.num_sets = le32(r.data + CFICACHE_AT_SETS);
    r.num_rules = le32(r.data + CFICACHE_AT_RULES);
    r.num_wins = le32(r.data + CFICACHE_AT_WINS);
    r.program_bytes = le32(r.data + CFICACHE_AT_PROGRAMS);
    r.name_bytes = le32(r.data + CFICACHE_AT_NAMES);
    r.file_bytes = le32(r.data + CFICACHE_AT_FILE);
    status =
        symc_head_check_end(cficache_lay_out(&r), size, error, error_size);
    if (status == SYMC_OPENED) {
        *reader = r;
    }
    return status;
}

unsigned cficache_reader_names(const struct cficache_reader *reader,
                               struct symc_string names[CFICACHE_NAMES])
{
    size_t at = 0;
    unsigned n;
    const uint8_t *p = reader->data + reader->names;

    for (n = 0; n < CFICACHE_NAMES && at < reader->name_bytes &&
                p[at] < reader->name_bytes - at;
         n++) {
        names[n].data = (const char *)p + at + 1;
        names[n].size = p[at];
        at += 1 + (size_t)p[at];
    }
    return n;
}

uint32_t cficache_reader_point(const struct cficache_reader *reader,
                               enum cficache_map map, uint32_t index,
                               uint32_t *value)
{
    const uint8_t *starts = reader->data + reader->maps[map];

    *value = le32(starts + ((size_t)reader->num_points[map] + index) * 4);
    return le32(starts + (size_t)index * 4);
}

/* Returns what a map holds for an address. */
static uint32_t look_up(const struct cficache_reader *reader,
                        enum cficache_map map, uint32_t address)
{
    uint32_t value, half, base = 0, count = reader->num_points[map];
    const uint8_t *starts = reader->data + reader->maps[map];

    if (count == 0) {
        return 0;
    }
    while (count > 1) {
        half = count / 2;
        base += le32(starts + ((size_t)base + half) * 4) <= address ? half : 0;
        count -= half;
    }
    return cficache_reader_point(reader, map, base, &value) <= address ? value
                                                                       : 0;
}

static bool find_rule_set(const struct cficache_reader *reader, uint32_t set,
                          struct cficache_row *row)
{
    uint32_t first, end;

    row->first = row->count = 0;
    if (set >= reader->num_sets) {
        return false;
    }
    first = le32(reader->data + reader->sets + (size_t)set * 4);
    end = le32(reader->data + reader->sets + (size_t)set * 4 + 4);
    if (first <= end && end <= reader->num_rules) {
        row->first = first;
        row->count = end - first;
    }
    return true;
}

bool cficache_reader_lookup(const struct cficache_reader *reader,
                            uint32_t address, bool corrected,
                            struct cficache_row *row)
{
    uint32_t set = CFICACHE_NOTHING;

    if (corrected) {
        set = look_up(reader, CFICACHE_CORRECTIONS, address);
    }
    if (set == CFICACHE_NOTHING) {
        set = look_up(reader, CFICACHE_RULES, address);
    }
    return find_rule_set(reader, set, row) && set > CFICACHE_UNCOVERED;
}

struct cficache_rule cficache_reader_rule(const struct cficache_reader *reader,
                                          const struct cficache_row *row,
                                          uint32_t index)
{
    const uint8_t *p = reader->data + reader->rules +
                       ((size_t)row->first + index) * CFICACHE_RULE_SIZE;
    struct cficache_rule rule = {p[0], p[1], p[2], (int32_t)le32(p + 4)};

    return rule;
}

bool cficache_reader_record(const struct cficache_reader *reader,
                            uint32_t number, struct cficache_win *win)
{
    const uint8_t *p;

    if (number == 0 || number > reader->num_wins) {
        return false;
    }
    p = reader->data + reader->wins + ((size_t)number - 1) * CFICACHE_WIN_SIZE;
    win->prolog = le32(p);
    win->epilog = le32(p + 4);
    win->params = le32(p + 8);
    win->saved_registers = le32(p + 12);
    win->locals = le32(p + 16);
    win->max_stack = le32(p + 20);
    win->program = le32(p + 24);
    win->has_program = p[28] != 0;
    win->allocates_base_pointer = p[29] != 0;
    win->aligns = p[30] != 0;
    return true;
}

bool cficache_reader_win(const struct cficache_reader *reader,
                         uint32_t address, struct cficache_win *win)
{
    return cficache_reader_record(reader,
                                  look_up(reader, CFICACHE_WIN, address), win);
}

const uint8_t *cficache_reader_program(const struct cficache_reader *reader,
                                       uint32_t offset, unsigned kind,
                                       size_t *size)
{
    const uint8_t *p = reader->data + reader->programs;

    if (reader->program_bytes < CFICACHE_PROGRAM_HEADER ||
        offset > reader->program_bytes - CFICACHE_PROGRAM_HEADER) {
        return NULL;
    }
    p += offset;
    *size = le16(p + 2);
    return p[0] == kind && *size <= reader->program_bytes - offset -
                                        CFICACHE_PROGRAM_HEADER
               ? p + CFICACHE_PROGRAM_HEADER
               : NULL;
}
