/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/le.h"
#include "program.h"

struct cficache_verify {
    const struct cficache_reader *reader;
    struct integrity file;
    unsigned num_names;
    uint8_t *starts; /* one bit per byte of programs: a program begins here */
};

static bool check_cficache_layout(const struct cficache_verify *verify)
{
    const struct cficache_reader *cficache = verify->reader;
    size_t end = cficache->file + ((size_t)cficache->file_bytes + 3) / 4 * 4;

    if (cficache->size != end) {
        return integrity_fails(&verify->file,
                               "offset 0x%zx: %zu bytes after the parts", end,
                               cficache->size - end);
    }
    return integrity_zeros(&verify->file, CFICACHE_AT_RESERVED,
                           CFICACHE_HEADER, "header") &&
           integrity_zeros(&verify->file,
                           cficache->programs + cficache->program_bytes,
                           cficache->names, "padding") &&
           integrity_zeros(&verify->file,
                           cficache->names + cficache->name_bytes,
                           cficache->file, "padding") &&
           integrity_zeros(&verify->file,
                           cficache->file + cficache->file_bytes, end,
                           "padding");
}

static bool check_names(struct cficache_verify *verify)
{
    size_t size = 0;
    unsigned i;
    const struct cficache_reader *cficache = verify->reader;
    struct symc_string names[CFICACHE_NAMES];

    verify->num_names = cficache_reader_names(cficache, names);
    for (i = 0; i < verify->num_names; i++) {
        size += 1 + names[i].size;
    }
    if (size != cficache->name_bytes) {
        return integrity_fails(&verify->file,
                               "offset 0x%zx: names: incomplete, or too many",
                               cficache->names + size);
    }
    return true;
}

static bool check_programs(const struct cficache_verify *verify)
{
    uint32_t at = 0;
    size_t size = 0;
    unsigned kind;
    const char *fault;
    const uint8_t *code, *p;
    const struct cficache_reader *cficache = verify->reader;

    while (at < cficache->program_bytes) {
        p = cficache->data + cficache->programs + at;
        kind = p[0] == CFICACHE_PROGRAM_ASSIGNS ? CFICACHE_PROGRAM_ASSIGNS
                                                : CFICACHE_PROGRAM_VALUE;
        code = cficache_reader_program(cficache, at, kind, &size);
        if (code == NULL || p[1] != 0) {
            return integrity_fails(&verify->file,
                                   "offset 0x%zx: no program, or incomplete",
                                   cficache->programs + at);
        }
        fault = cficache_program_check(kind, code, size, verify->num_names);
        if (fault != NULL) {
            return integrity_fails(&verify->file, "offset 0x%zx: program %s",
                                   cficache->programs + at, fault);
        }
        verify->starts[at / 8] |= (uint8_t)(1 << at % 8);
        at += CFICACHE_PROGRAM_HEADER + (uint32_t)size;
    }
    return true;
}

static bool is_program(const struct cficache_verify *verify, uint32_t at,
                       unsigned kind)
{
    const struct cficache_reader *cficache = verify->reader;

    return at < cficache->program_bytes &&
           (verify->starts[at / 8] >> at % 8 & 1) != 0 &&
           cficache->data[cficache->programs + at] == kind;
}

/* Is a rule one that a set may have at this index? */
static bool is_rule(const struct cficache_verify *verify,
                    const struct cficache_rule *rule, uint32_t index)
{
    bool has_base;

    if (index == 0   ? rule->target != CFICACHE_CFA
        : index == 1 ? rule->target != CFICACHE_RA
                     : rule->target >= verify->num_names) {
        return false;
    }
    has_base = rule->base < verify->num_names ||
               (rule->base == CFICACHE_CFA && index > 0);
    switch (rule->kind) {
    case CFICACHE_FAILS:
        return index > 1 && rule->base == 0 && rule->number == 0;
    case CFICACHE_END:
        return index == 1 && rule->base == 0 && rule->number == 0;
    case CFICACHE_PROGRAM:
        return rule->base == 0 && is_program(verify, (uint32_t)rule->number,
                                             CFICACHE_PROGRAM_VALUE);
    case CFICACHE_VALUE:
    case CFICACHE_AT:
        return has_base;
    default:
        return false;
    }
}

static bool check_set(const struct cficache_verify *verify, uint32_t set,
                      uint32_t first, uint32_t end)
{
    uint32_t i;
    const struct cficache_reader *cficache = verify->reader;
    struct cficache_row row = {first, end - first};
    struct cficache_rule rule;
    int last = -1;

    if (row.count == 1 || (set <= CFICACHE_UNCOVERED && row.count > 0)) {
        return integrity_fails(&verify->file, "set %u has %u rules", set,
                               row.count);
    }
    for (i = 0; i < row.count; i++) {
        rule = cficache_reader_rule(cficache, &row, i);
        if (!is_rule(verify, &rule, i) ||
            cficache->data[cficache->rules +
                           ((size_t)first + i) * CFICACHE_RULE_SIZE + 3] !=
                0) {
            return integrity_fails(
                &verify->file, "offset 0x%zx: rule %u of set %u is none",
                cficache->rules + ((size_t)first + i) * CFICACHE_RULE_SIZE, i,
                set);
        }
        if (i > 1 && rule.target <= last) {
            return integrity_fails(&verify->file,
                                   "set %u: its registers do not ascend", set);
        }
        last = i > 1 ? rule.target : -1;
    }
    return true;
}

static bool check_sets(const struct cficache_verify *verify)
{
    uint32_t i, first = 0, end = 0;
    const struct cficache_reader *cficache = verify->reader;

    if (cficache->num_sets <= CFICACHE_UNCOVERED ||
        le32(cficache->data + cficache->sets) != 0) {
        return integrity_fails(&verify->file,
                               "offset 0x%zx: the first sets are not there",
                               cficache->sets);
    }
    for (i = 0; i < cficache->num_sets; i++) {
        first = end;
        end = le32(cficache->data + cficache->sets + ((size_t)i + 1) * 4);
        if (end < first || end > cficache->num_rules) {
            return integrity_fails(&verify->file,
                                   "set %u: rules %u to %u do not exist", i,
                                   first, end);
        }
        if (!check_set(verify, i, first, end)) {
            return false;
        }
    }
    if (end != cficache->num_rules) {
        return integrity_fails(&verify->file, "rules %u to %u are in no set",
                               end, cficache->num_rules);
    }
    return true;
}

static bool check_wins(const struct cficache_verify *verify)
{
    uint32_t i;
    const uint8_t *p;
    const struct cficache_reader *cficache = verify->reader;
    struct cficache_win win;

    for (i = 1; i <= cficache->num_wins; i++) {
        p = cficache->data + cficache->wins +
            ((size_t)i - 1) * CFICACHE_WIN_SIZE + 28;
        cficache_reader_record(cficache, i, &win);
        if (p[0] > 1 || p[1] > 1 || p[2] > 1 || p[3] != 0 ||
            (win.has_program
                 ? win.program != 0 && !is_program(verify, win.program - 1,
                                                   CFICACHE_PROGRAM_ASSIGNS)
                 : win.program != 0 || win.aligns)) {
            return integrity_fails(&verify->file,
                                   "record %u is none of STACK WIN", i);
        }
    }
    return true;
}

static bool check_cficache_map(const struct cficache_verify *verify,
                               enum cficache_map map)
{
    uint32_t i, start, value, last = 0;
    const struct cficache_reader *cficache = verify->reader;
    uint64_t end = map == CFICACHE_WIN ? (uint64_t)cficache->num_wins + 1
                                       : cficache->num_sets;

    for (i = 0; i < cficache->num_points[map]; i++) {
        start = cficache_reader_point(cficache, map, i, &value);
        if (i > 0 && start <= last) {
            return integrity_fails(&verify->file,
                                   "map %d: start %u is not after the one "
                                   "before it",
                                   map, i);
        }
        if (value >= end) {
            return integrity_fails(
                &verify->file,
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
    struct cficache_verify verify = {
        .reader = reader,
        .file = {.data = reader->data,
                 .error = error,
                 .error_size = error_size},
    };

    verify.starts = calloc(reader->program_bytes / 8 + 1, 1);
    if (verify.starts == NULL) {
        snprintf(error, error_size, "no memory for a check");
        return SYMC_NOT_VERIFIED;
    }
    is_sound = check_cficache_layout(&verify) && check_names(&verify) &&
               check_programs(&verify) && check_sets(&verify) &&
               check_wins(&verify) &&
               check_cficache_map(&verify, CFICACHE_RULES) &&
               check_cficache_map(&verify, CFICACHE_CORRECTIONS) &&
               check_cficache_map(&verify, CFICACHE_WIN);
    free(verify.starts);
    return is_sound ? SYMC_SOUND : SYMC_VIOLATED;
}
