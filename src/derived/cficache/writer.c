/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

#define FAILING 2   /* the set of rows that fail, after the two of format.h */
#define TARGETS 256

void cficache_writer_free(struct cficache_writer *writer)
{
    unsigned i;

    table_free(&writer->names.table);
    free(writer->code.data);
    cficache_pool_free(&writer->programs);
    cficache_pool_free(&writer->sets);
    for (i = 0; i < CFICACHE_WIN; i++) {
        free(writer->spans[i].data);
    }
    free(writer->rows.data);
    free(writer->wins[0].data);
    free(writer->wins[1].data);
    free(writer->records);
    free(writer->deltas);
    free(writer->rules);
    memset(writer, 0, sizeof(*writer));
}

bool cficache_writer_name(struct cficache_writer *writer, const char *text,
                          size_t size, uint8_t *name)
{
    bool out_of_memory = false;

    return cficache_name(&writer->names, text, size, name, &out_of_memory);
}

/* Adds a program to the others; *offset is where it begins. */
static enum symc_status add_program(struct cficache_writer *writer,
                                    enum cficache_program kind,
                                    uint32_t *offset)
{
    uint32_t number;
    uint8_t header[CFICACHE_PROGRAM_HEADER] = {
        (uint8_t)kind, 0, (uint8_t)writer->code.size,
        (uint8_t)(writer->code.size >> 8)};

    if (array_need(&writer->code.data, &writer->code.room,
                   writer->code.size + sizeof(header), 1) != 0) {
        return SYMC_NO_MEMORY;
    }
    memmove(writer->code.data + sizeof(header), writer->code.data,
            writer->code.size);
    memcpy(writer->code.data, header, sizeof(header));
    if (cficache_pool_add(&writer->programs, writer->code.data,
                          writer->code.size + sizeof(header), &number) != 0) {
        return SYMC_NO_MEMORY;
    }
    *offset = cficache_pool_start(&writer->programs, number);
    return SYMC_OK;
}

enum symc_status cficache_writer_rule(struct cficache_writer *writer,
                                      const struct cficache_rule *rule)
{
    if (!writer->is_open) {
        return SYMC_OK;
    }
    if (array_need(&writer->rules, &writer->rule_room, writer->num_rules + 1,
                   sizeof(*writer->rules)) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->rules[writer->num_rules++] = *rule;
    writer->deltas[writer->num_deltas - 1].count++;
    return SYMC_OK;
}

enum symc_status cficache_writer_code(struct cficache_writer *writer,
                                      uint8_t target)
{
    uint32_t offset;
    enum symc_status status;
    struct cficache_rule rule = {CFICACHE_PROGRAM, target, 0, 0};

    if (!writer->is_open) {
        return SYMC_OK;
    }
    if (!cficache_simplify(&writer->code, writer->names.count, &rule)) {
        status = add_program(writer, CFICACHE_PROGRAM_VALUE, &offset);
        if (status != SYMC_OK) {
            return status;
        }
        rule.kind = CFICACHE_PROGRAM;
        rule.base = 0;
        rule.number = (int32_t)offset;
    }
    return cficache_writer_rule(writer, &rule);
}

/* Adds the rule of the register with a name, which ends in ":". */
static enum symc_status add_text_rule(struct cficache_writer *writer,
                                      const char *name, size_t name_size,
                                      const char *text, size_t size)
{
    uint8_t target;
    bool out_of_memory = false;
    enum symc_status status;

    name_size--;
    if (name_size == 4 && memcmp(name, ".cfa", 4) == 0) {
        target = CFICACHE_CFA;
    } else if (name_size == 3 && memcmp(name, ".ra", 3) == 0) {
        target = CFICACHE_RA;
    } else {
        if (name_size > 0 && name[0] == '$') {
            name++;
            name_size--;
        }
        if (!cficache_name(&writer->names, name, name_size, &target,
                           &out_of_memory)) {
            return out_of_memory ? SYMC_NO_MEMORY : SYMC_OK;
        }
    }
    status = cficache_compile_value(&writer->names, &writer->code, text, size);
    return status == SYMC_OK ? cficache_writer_code(writer, target) : status;
}

enum symc_status cficache_writer_text(struct cficache_writer *writer,
                                      const char *text, size_t size)
{
    size_t name_size = 0, n;
    const char *name = NULL, *first = NULL, *word, *end = text;
    enum symc_status status = SYMC_OK;

    if (!writer->is_open) {
        return SYMC_OK;
    }
    while (status == SYMC_OK && cficache_word(&text, &size, &word, &n)) {
        if (word[n - 1] != ':') {
            first = first == NULL ? word : first;
            if (name == NULL) {
                break;
            }
        } else if (name != NULL && first == NULL) {
            break;
        } else {
            if (name != NULL) {
                status = add_text_rule(writer, name, name_size, first,
                                       (size_t)(end - first));
            }
            name = word;
            name_size = n;
            first = NULL;
        }
        end = text;
    }
    if (status != SYMC_OK) {
        return status;
    }
    if (name == NULL || first == NULL) {
        writer->deltas[writer->num_deltas - 1].fails = true;
        return SYMC_OK;
    }
    return add_text_rule(writer, name, name_size, first,
                         (size_t)(end - first));
}

static enum symc_status add_delta(struct cficache_writer *writer,
                                  uint32_t address)
{
    struct cficache_delta *delta;

    if (writer->num_deltas >= UINT32_MAX ||
        array_need(&writer->deltas, &writer->delta_room,
                   writer->num_deltas + 1, sizeof(*writer->deltas)) != 0) {
        return SYMC_NO_MEMORY;
    }
    if (writer->num_deltas > 1 &&
        address < writer->deltas[writer->num_deltas - 1].address) {
        writer->is_unsorted = true;
    }
    delta = &writer->deltas[writer->num_deltas++];
    delta->address = address;
    delta->fails = false;
    delta->first = writer->num_rules;
    delta->count = 0;
    return SYMC_OK;
}

enum symc_status cficache_writer_row(struct cficache_writer *writer,
                                     uint64_t address)
{
    return writer->is_open
               ? add_delta(writer, address < UINT32_MAX ? (uint32_t)address
                                                        : UINT32_MAX)
               : SYMC_OK;
}

/* Sorts the rows of the open range, without the first one, by address. */
static enum symc_status sort_deltas(struct cficache_writer *writer)
{
    size_t i, n = writer->num_deltas;
    uint64_t *keys = malloc(2 * n * sizeof(*keys));
    struct cficache_delta *sorted = malloc(n * sizeof(*sorted));
    enum symc_status status = SYMC_NO_MEMORY;

    if (keys != NULL && sorted != NULL) {
        for (i = 1; i < n; i++) {
            keys[i] = (uint64_t)writer->deltas[i].address << 32 | i;
        }
        sort_keys(keys + 1, keys + n, n - 1);
        for (i = 1; i < n; i++) {
            sorted[i] = writer->deltas[(uint32_t)keys[i]];
        }
        memcpy(writer->deltas + 1, sorted + 1, (n - 1) * sizeof(*sorted));
        status = SYMC_OK;
    }
    free(keys);
    free(sorted);
    return status;
}

/* The rules of a row, by target. */
struct rule_set {
    bool fails;
    unsigned count;
    uint8_t targets[TARGETS]; /* of rules, in the order of a set */
    bool has[TARGETS];
    struct cficache_rule rules[TARGETS];
};

/* The place of a target in a set: the CFA's and the return address's rules are
 * first. */
static unsigned writer_rank(uint8_t target)
{
    return target >= CFICACHE_RA ? CFICACHE_CFA - (unsigned)target
                                 : target + 2u;
}

static void writer_apply_rules(struct rule_set *sum,
                               const struct cficache_rule *rules, size_t count)
{
    size_t i;
    unsigned at;
    uint8_t target;

    for (i = 0; i < count; i++) {
        target = rules[i].target;
        sum->rules[target] = rules[i];
        if (!sum->has[target]) {
            sum->has[target] = true;
            for (at = sum->count++;
                 at > 0 &&
                 writer_rank(sum->targets[at - 1]) > writer_rank(target);
                 at--) {
                sum->targets[at] = sum->targets[at - 1];
            }
            sum->targets[at] = target;
        }
    }
}

/* Finds the number of the set of a row. */
static int find_set(struct cficache_writer *writer, const struct rule_set *sum,
                    uint32_t *set)
{
    unsigned i;
    uint8_t data[TARGETS * CFICACHE_RULE_SIZE], *p = data;
    const struct cficache_rule *rule = &sum->rules[CFICACHE_CFA];

    *set = FAILING;
    if (sum->fails || !sum->has[CFICACHE_CFA] || !sum->has[CFICACHE_RA] ||
        rule->kind == CFICACHE_FAILS || rule->base == CFICACHE_CFA ||
        sum->rules[CFICACHE_RA].kind == CFICACHE_FAILS) {
        return 0;
    }
    for (i = 0; i < sum->count; i++) {
        rule = &sum->rules[sum->targets[i]];
        p[0] = rule->kind;
        p[1] = rule->target;
        p[2] = rule->base;
        p[3] = 0;
        le32_store(p + 4, (uint32_t)rule->number);
        p += CFICACHE_RULE_SIZE;
    }
    return cficache_pool_add(&writer->sets, data, (size_t)(p - data), set);
}

/* Ends the range, if there is one: sums its records up to rows. */
static enum symc_status end_range(struct cficache_writer *writer)
{
    size_t i;
    uint32_t address, set;
    struct rule_set sum;
    struct cficache_span span = {writer->start, writer->end,
                                 writer->rows.count, 0};
    const struct cficache_delta *delta;

    while (writer->sets.count <= FAILING) {
        if (cficache_pool_append(&writer->sets, NULL, 0, &set) != 0) {
            return SYMC_NO_MEMORY;
        }
    }
    if (!writer->is_open) {
        return SYMC_OK;
    }
    writer->is_open = false;
    if (writer->is_unsorted && sort_deltas(writer) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    sum.fails = false;
    sum.count = 0;
    memset(sum.has, 0, sizeof(sum.has));
    for (i = 0; i < writer->num_deltas; i++) {
        delta = &writer->deltas[i];
        address =
            delta->address > writer->start ? delta->address : writer->start;
        if (address >= writer->end) {
            break;
        }
        sum.fails = sum.fails || delta->fails;
        if (delta->count > 0) {
            writer_apply_rules(&sum, writer->rules + delta->first,
                               delta->count);
        }
        if (find_set(writer, &sum, &set) != 0 ||
            cficache_points_add(&writer->rows, span.first, address, set) !=
                0) {
            return SYMC_NO_MEMORY;
        }
    }
    span.count = writer->rows.count - span.first;
    return cficache_spans_add(&writer->spans[writer->map], &span) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

enum symc_status cficache_writer_range(struct cficache_writer *writer,
                                       enum cficache_map map, uint64_t start,
                                       uint64_t size)
{
    uint64_t end;
    enum symc_status status = end_range(writer);

    if (status != SYMC_OK || size == 0 ||
        __builtin_add_overflow(start, size, &end) || start >= UINT32_MAX) {
        return status;
    }
    writer->is_open = true;
    writer->is_unsorted = false;
    writer->map = map;
    writer->start = (uint32_t)start;
    writer->end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
    writer->num_deltas = 0;
    writer->num_rules = 0;
    return add_delta(writer, writer->start);
}

/* Adds a record to those that there are, and the row of its span. */
static enum symc_status add_cficache_record(struct cficache_writer *writer,
                                            const struct cficache_win *win,
                                            struct cficache_span *span)
{
    uint8_t *p;

    if (writer->num_records >= UINT32_MAX ||
        array_need(&writer->records, &writer->record_room,
                   writer->num_records + 1, CFICACHE_WIN_SIZE) != 0) {
        return SYMC_NO_MEMORY;
    }
    p = writer->records + writer->num_records * CFICACHE_WIN_SIZE;
    le32_store(p, win->prolog);
    le32_store(p + 4, win->epilog);
    le32_store(p + 8, win->params);
    le32_store(p + 12, win->saved_registers);
    le32_store(p + 16, win->locals);
    le32_store(p + 20, win->max_stack);
    le32_store(p + 24, win->program);
    p[28] = win->has_program;
    p[29] = win->allocates_base_pointer;
    p[30] = win->aligns;
    p[31] = 0;
    writer->num_records++;
    span->first = writer->rows.count;
    span->count = 1;
    return cficache_points_add(&writer->rows, span->first, span->start,
                               (uint32_t)writer->num_records) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

static enum symc_status compile_program(struct cficache_writer *writer,
                                        struct cficache_win *win,
                                        const char *program, size_t size)
{
    uint32_t offset;
    enum symc_status status;

    win->aligns = memchr(program, '@', size) != NULL;
    status =
        cficache_compile_win(&writer->names, &writer->code, program, size);
    if (status != SYMC_OK || writer->code.fails ||
        cficache_program_check(CFICACHE_PROGRAM_ASSIGNS, writer->code.data,
                               writer->code.size,
                               writer->names.count) != NULL) {
        return status;
    }
    status = add_program(writer, CFICACHE_PROGRAM_ASSIGNS, &offset);
    win->program = offset + 1;
    return status;
}

enum symc_status cficache_writer_win(struct cficache_writer *writer,
                                     uint64_t start, uint32_t size,
                                     struct cficache_win win,
                                     const char *program, size_t program_size)
{
    uint64_t end = start + size;
    enum symc_status status = SYMC_OK;
    struct cficache_spans *wins = &writer->wins[win.has_program];
    struct cficache_span span, *last;

    if (size == 0 || end < start || start >= UINT32_MAX) {
        return SYMC_OK;
    }
    span.start = (uint32_t)start;
    span.end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
    last = wins->count > 0 ? &wins->data[wins->count - 1] : NULL;
    if (last != NULL && span.start < last->end && last->start < span.end) {
        if (span.start > last->start) {
            last->end = span.start;
        } else if (span.start != last->start || span.end != last->end) {
            return SYMC_OK;
        }
    }
    win.program = 0;
    win.aligns = false;
    if (win.has_program) {
        status = compile_program(writer, &win, program, program_size);
    }
    if (status == SYMC_OK) {
        status = add_cficache_record(writer, &win, &span);
    }
    return status == SYMC_OK && cficache_spans_add(wins, &span) != 0
               ? SYMC_NO_MEMORY
               : status;
}

/* Writes bytes, and zeros up to a multiple of 4. */
static void writer_put_bytes(struct symc_output *out, const void *data,
                             size_t size)
{
    symc_output_bytes(out, data, size);
    symc_output_align(out, 4);
}

static void writer_put_map(struct symc_output *out,
                           const struct cficache_points *map)
{
    size_t i;

    for (i = 0; i < map->count; i++) {
        symc_output_number(out, map->data[i].start);
    }
    for (i = 0; i < map->count; i++) {
        symc_output_number(out, map->data[i].value);
    }
}

static void put_cficache_header(struct symc_output *out,
                                const struct cficache_writer *writer,
                                const struct cficache_identity *identity,
                                const struct cficache_points *maps,
                                size_t name_bytes)
{
    unsigned i;
    uint8_t *p = symc_output_room(out, CFICACHE_HEADER);

    memset(p, 0, CFICACHE_HEADER);
    memcpy(p, CFICACHE_MAGIC, 4);
    le32_store(p + CFICACHE_AT_VERSION, CFICACHE_VERSION);
    memcpy(p + CFICACHE_AT_GUID, identity->guid, 16);
    le32_store(p + CFICACHE_AT_AGE, identity->age);
    le32_store(p + CFICACHE_AT_ARCH, identity->arch);
    for (i = 0; i < CFICACHE_MAPS; i++) {
        le32_store(p + CFICACHE_AT_MAPS + (size_t)i * 4,
                   (uint32_t)maps[i].count);
    }
    le32_store(p + CFICACHE_AT_SETS, (uint32_t)writer->sets.count);
    le32_store(p + CFICACHE_AT_RULES,
               (uint32_t)(writer->sets.size / CFICACHE_RULE_SIZE));
    le32_store(p + CFICACHE_AT_WINS, (uint32_t)writer->num_records);
    le32_store(p + CFICACHE_AT_PROGRAMS, (uint32_t)writer->programs.size);
    le32_store(p + CFICACHE_AT_NAMES, (uint32_t)name_bytes);
    le32_store(p + CFICACHE_AT_FILE, (uint32_t)identity->file_size);
}

/* Writes all names into a buffer for as many as there can be; returns their
 * size. */
static size_t write_cficache_names(const struct cficache_names *names,
                                   uint8_t *p)
{
    unsigned i;
    uint8_t *begin = p;

    for (i = 0; i < names->count; i++) {
        *p++ = names->sizes[i];
        memcpy(p, names->texts[i], names->sizes[i]);
        p += names->sizes[i];
    }
    return (size_t)(p - begin);
}

static enum symc_status write_cficache_file(
    struct cficache_writer *writer, const struct cficache_identity *identity,
    const struct cficache_points *maps, const struct symc_sink *sink)
{
    size_t i, name_bytes;
    uint8_t names[sizeof(writer->names.texts) + CFICACHE_NAMES];
    struct symc_output out;

    symc_output_init(&out, sink);
    name_bytes = write_cficache_names(&writer->names, names);
    put_cficache_header(&out, writer, identity, maps, name_bytes);
    for (i = 0; i < CFICACHE_MAPS; i++) {
        writer_put_map(&out, &maps[i]);
    }
    symc_output_number(&out, 0);
    for (i = 0; i < writer->sets.count; i++) {
        symc_output_number(&out, writer->sets.ends[i] / CFICACHE_RULE_SIZE);
    }
    writer_put_bytes(&out, writer->sets.data, writer->sets.size);
    writer_put_bytes(&out, writer->records,
                     writer->num_records * CFICACHE_WIN_SIZE);
    writer_put_bytes(&out, writer->programs.data, writer->programs.size);
    writer_put_bytes(&out, names, name_bytes);
    writer_put_bytes(&out, identity->file, identity->file_size);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}

/* Makes the map of STACK WIN records: those with programs hide the others. */
static int writer_make_win(const struct cficache_writer *writer,
                           struct cficache_points *map)
{
    int rc;
    struct cficache_points fpo = {0}, programs = {0};

    rc =
        cficache_points_map(&fpo, &writer->wins[0], &writer->rows) != 0 ||
        cficache_points_map(&programs, &writer->wins[1], &writer->rows) != 0 ||
        cficache_points_merge(map, &programs, &fpo) != 0;
    free(fpo.data);
    free(programs.data);
    return rc;
}

/* Makes the map of corrections, which readers ask first. */
static int make_corrections(const struct cficache_writer *writer,
                            struct cficache_points *maps)
{
    int rc;
    struct cficache_points merged = {0};

    if (!writer->fills_gaps) {
        return 0;
    }
    rc = cficache_points_merge(&merged, &maps[CFICACHE_RULES],
                               &maps[CFICACHE_CORRECTIONS]);
    free(maps[CFICACHE_CORRECTIONS].data);
    maps[CFICACHE_CORRECTIONS] = merged;
    return rc;
}

enum symc_status
cficache_writer_finish(struct cficache_writer *writer,
                       const struct cficache_identity *identity,
                       const struct symc_sink *sink)
{
    unsigned i;
    struct cficache_points maps[CFICACHE_MAPS] = {{0}};
    enum symc_status status = end_range(writer);

    for (i = 0; i < CFICACHE_WIN && status == SYMC_OK; i++) {
        if (cficache_points_map(&maps[i], &writer->spans[i], &writer->rows) !=
            0) {
            status = SYMC_NO_MEMORY;
        }
    }
    if (status == SYMC_OK &&
        (make_corrections(writer, maps) != 0 ||
         writer_make_win(writer, &maps[CFICACHE_WIN]) != 0)) {
        status = SYMC_NO_MEMORY;
    }
    if (status == SYMC_OK) {
        status = write_cficache_file(writer, identity, maps, sink);
    }
    for (i = 0; i < CFICACHE_MAPS; i++) {
        free(maps[i].data);
    }
    return status;
}
