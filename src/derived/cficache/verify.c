/*
 * Copyright (C) the ngx_symcache authors
 */
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "program.h"

struct verify {
    const struct cficache_reader *reader;
    struct verification file;
    unsigned num_names;
    uint8_t *starts; /* one bit per byte of programs: a program begins here */
};

static bool check_layout(const struct verify *v)
{
    const struct cficache_reader *r = v->reader;
    size_t end = r->file + ((size_t)r->file_bytes + 3) / 4 * 4;

    if (r->size != end) {
        return verification_fails(&v->file,
                                  "offset 0x%zx: %zu bytes after the parts",
                                  end, r->size - end);
    }
    return verification_zeros(&v->file, CFICACHE_AT_RESERVED, CFICACHE_HEADER,
                              "header") &&
           verification_zeros(&v->file, r->programs + r->program_bytes,
                              r->names, "padding") &&
           verification_zeros(&v->file, r->names + r->name_bytes, r->file,
                              "padding") &&
           verification_zeros(&v->file, r->file + r->file_bytes, end,
                              "padding");
}

static bool check_names(struct verify *v)
{
    size_t size = 0;
    unsigned i;
    const struct cficache_reader *r = v->reader;
    struct symc_string names[CFICACHE_NAMES];

    v->num_names = cficache_reader_names(r, names);
    for (i = 0; i < v->num_names; i++) {
        size += 1 + names[i].size;
    }
    if (size != r->name_bytes) {
        return verification_fails(
            &v->file, "offset 0x%zx: names: incomplete, or too many",
            r->names + size);
    }
    return true;
}

static bool check_programs(const struct verify *v)
{
    uint32_t at = 0;
    size_t size = 0;
    unsigned kind;
    const char *fault;
    const uint8_t *code, *p;
    const struct cficache_reader *r = v->reader;

    while (at < r->program_bytes) {
        p = r->data + r->programs + at;
        kind = p[0] == CFICACHE_PROGRAM_ASSIGNS ? CFICACHE_PROGRAM_ASSIGNS
                                                : CFICACHE_PROGRAM_VALUE;
        code = cficache_reader_program(r, at, kind, &size);
        if (code == NULL || p[1] != 0) {
            return verification_fails(
                &v->file, "offset 0x%zx: no program, or incomplete",
                r->programs + at);
        }
        fault = cficache_program_check(kind, code, size, v->num_names);
        if (fault != NULL) {
            return verification_fails(&v->file, "offset 0x%zx: program %s",
                                      r->programs + at, fault);
        }
        v->starts[at / 8] |= (uint8_t)(1 << at % 8);
        at += CFICACHE_PROGRAM_HEADER + (uint32_t)size;
    }
    return true;
}

static bool is_program(const struct verify *v, uint32_t at, unsigned kind)
{
    const struct cficache_reader *r = v->reader;

    return at < r->program_bytes && (v->starts[at / 8] >> at % 8 & 1) != 0 &&
           r->data[r->programs + at] == kind;
}

/* Is a rule one that a set may have at this index? */
static bool is_rule(const struct verify *v, const struct cficache_rule *rule,
                    uint32_t index)
{
    bool has_base;

    if (index == 0 ? rule->target != CFICACHE_CFA
                   : index == 1 ? rule->target != CFICACHE_RA
                                : rule->target >= v->num_names) {
        return false;
    }
    has_base = rule->base < v->num_names ||
               (rule->base == CFICACHE_CFA && index > 0);
    switch (rule->kind) {
    case CFICACHE_FAILS:
        return index > 1 && rule->base == 0 && rule->number == 0;
    case CFICACHE_END:
        return index == 1 && rule->base == 0 && rule->number == 0;
    case CFICACHE_PROGRAM:
        return rule->base == 0 && is_program(v, (uint32_t)rule->number,
                                             CFICACHE_PROGRAM_VALUE);
    case CFICACHE_VALUE:
    case CFICACHE_AT:
        return has_base;
    default:
        return false;
    }
}

static bool check_set(const struct verify *v, uint32_t set, uint32_t first,
                      uint32_t end)
{
    uint32_t i;
    const struct cficache_reader *r = v->reader;
    struct cficache_row row = {first, end - first};
    struct cficache_rule rule;
    int last = -1;

    if (row.count == 1 || (set <= CFICACHE_UNCOVERED && row.count > 0)) {
        return verification_fails(&v->file, "set %u has %u rules", set,
                                  row.count);
    }
    for (i = 0; i < row.count; i++) {
        rule = cficache_reader_rule(r, &row, i);
        if (!is_rule(v, &rule, i) ||
            r->data[r->rules + ((size_t)first + i) * CFICACHE_RULE_SIZE + 3] !=
                0) {
            return verification_fails(
                &v->file, "offset 0x%zx: rule %u of set %u is none",
                r->rules + ((size_t)first + i) * CFICACHE_RULE_SIZE, i, set);
        }
        if (i > 1 && rule.target <= last) {
            return verification_fails(
                &v->file, "set %u: its registers do not ascend", set);
        }
        last = i > 1 ? rule.target : -1;
    }
    return true;
}

static bool check_sets(const struct verify *v)
{
    uint32_t i, first = 0, end = 0;
    const struct cficache_reader *r = v->reader;

    if (r->num_sets <= CFICACHE_UNCOVERED || le32(r->data + r->sets) != 0) {
        return verification_fails(
            &v->file, "offset 0x%zx: the first sets are not there", r->sets);
    }
    for (i = 0; i < r->num_sets; i++) {
        first = end;
        end = le32(r->data + r->sets + ((size_t)i + 1) * 4);
        if (end < first || end > r->num_rules) {
            return verification_fails(&v->file,
                                      "set %u: rules %u to %u do not exist", i,
                                      first, end);
        }
        if (!check_set(v, i, first, end)) {
            return false;
        }
    }
    if (end != r->num_rules) {
        return verification_fails(&v->file, "rules %u to %u are in no set",
                                  end, r->num_rules);
    }
    return true;
}

static bool check_wins(const struct verify *v)
{
    uint32_t i;
    const uint8_t *p;
    const struct cficache_reader *r = v->reader;
    struct cficache_win win;

    for (i = 1; i <= r->num_wins; i++) {
        p = r->data + r->wins + ((size_t)i - 1) * CFICACHE_WIN_SIZE + 28;
        cficache_reader_record(r, i, &win);
        if (p[0] > 1 || p[1] > 1 || p[2] > 1 || p[3] != 0 ||
            (win.has_program
                 ? win.program != 0 && !is_program(v, win.program - 1,
                                                   CFICACHE_PROGRAM_ASSIGNS)
                 : win.program != 0 || win.aligns)) {
            return verification_fails(&v->file,
                                      "record %u is none of STACK WIN", i);
        }
    }
    return true;
}

static bool check_map(const struct verify *v, enum cficache_map map)
{
    uint32_t i, start, value, last = 0;
    const struct cficache_reader *r = v->reader;
    uint64_t end =
        map == CFICACHE_WIN ? (uint64_t)r->num_wins + 1 : r->num_sets;

    for (i = 0; i < r->num_points[map]; i++) {
        start = cficache_reader_point(r, map, i, &value);
        if (i > 0 && start <= last) {
            return verification_fails(&v->file,
                                      "map %d: start %u is not after the one "
                                      "before it",
                                      map, i);
        }
        if (value >= end) {
            return verification_fails(
                &v->file,
                "map %d: start %u leads to %u, which does not "
                "exist",
                map, i, value);
        }
        last = start;
    }
    return true;
}

enum symc_verify_status cficache_verify(const struct cficache_reader *reader,
                                        char *error, size_t error_size)
{
    bool is_sound;
    struct verify v = {
        .reader = reader,
        .file = {.data = reader->data,
                 .error = error,
                 .error_size = error_size},
    };

    v.starts = calloc(reader->program_bytes / 8 + 1, 1);
    if (v.starts == NULL) {
        snprintf(error, error_size, "no memory for a check");
        return SYMC_NOT_VERIFIED;
    }
    is_sound = check_layout(&v) && check_names(&v) && check_programs(&v) &&
               check_sets(&v) && check_wins(&v) &&
               check_map(&v, CFICACHE_RULES) &&
               check_map(&v, CFICACHE_CORRECTIONS) &&
               check_map(&v, CFICACHE_WIN);
    free(v.starts);
    return is_sound ? SYMC_SOUND : SYMC_VIOLATED;
}
