/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cfi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/breakpad/breakpad.h"

#define MODULE "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 a.so\n"
#define ROOM ((size_t)1 << 24)

struct output {
    uint8_t *data;
    size_t size;
};

static int write_output(void *context, const void *data, size_t size)
{
    struct output *output = context;

    if (size > ROOM - output->size) {
        return -1;
    }
    memcpy(output->data + output->size, data, size);
    output->size += size;
    return 0;
}

static struct output *allocate(void)
{
    struct output *output = calloc(1, sizeof(*output));

    if (output == NULL || (output->data = malloc(ROOM)) == NULL) {
        abort();
    }
    return output;
}

/* Any memory: each word is a mixture of its address. */
static bool read_word(void *context, uint64_t address, uint64_t *word)
{
    (void)context;
    *word = address * 0x9E3779B97F4A7C15 >> 7;
    return address % 16 != 8;
}

static int convert(cfi_read *read, bool is_text, const uint8_t *data,
                   size_t size, struct output *output)
{
    int rc;
    struct symc_sink sink = {write_output, output};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};

    memset(&result, 0, sizeof(result));
    rc = cfi_convert(read, is_text, data, size, &sink, &result, &failure);
    if (rc != 0 && (failure.code == FAILURE_NONE || failure.text[0] == '\0')) {
        abort();
    }
    return rc;
}

static void open_sound(const struct output *output,
                       struct cficache_reader *reader)
{
    char error[200];

    if (cficache_reader_open(reader, output->data, output->size, error,
                             sizeof(error)) != SYMC_OPENED ||
        cficache_verify(reader, error, sizeof(error)) != SYMC_SOUND) {
        fprintf(stderr, "CfiCache: %s\n", error);
        abort();
    }
}

/* The rules of a row as text, ordered by names: values of programs, which may
 * be numbered otherwise, are left out. */
static size_t print_row(const struct cficache_reader *r,
                        const struct symc_string *names,
                        const struct cficache_row *row, char *text)
{
    uint32_t i;
    size_t used = 0;
    struct cficache_rule rule;

    for (i = 0; i < row->count; i++) {
        rule = cficache_reader_rule(r, row, i);
        text[used++] = (char)(rule.target >= CFICACHE_RA ? rule.target : 0);
        if (rule.target < CFICACHE_RA) {
            memcpy(text + used, names[rule.target].data,
                   names[rule.target].size);
            used += names[rule.target].size;
        }
        text[used++] = (char)rule.kind;
        if (rule.kind == CFICACHE_VALUE || rule.kind == CFICACHE_AT) {
            memcpy(text + used, &rule.number, sizeof(rule.number));
            used += sizeof(rule.number);
        }
    }
    return used;
}

static int compare_bytes(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* Sets are ordered by the numbers of names: what they say is compared as the
 * bytes that there are. */
static void compare_at(struct cficache_reader *const *readers,
                       struct symc_string (*names)[CFICACHE_NAMES],
                       uint32_t address)
{
    unsigned i;
    bool found[2];
    size_t sizes[2];
    struct cficache_row rows[2];
    static char texts[2][CFICACHE_NAMES * 300];

    for (i = 0; i < 2; i++) {
        found[i] = cficache_reader_lookup(readers[i], address, false,
                                          &rows[i]);
        sizes[i] = print_row(readers[i], names[i], &rows[i], texts[i]);
        qsort(texts[i], sizes[i], 1, compare_bytes);
    }
    if (found[0] != found[1] || sizes[0] != sizes[1] ||
        memcmp(texts[0], texts[1], sizes[0]) != 0) {
        fprintf(stderr, "text and CfiCache differ at 0x%x\n", address);
        abort();
    }
}

static void compare(struct cficache_reader *a, struct cficache_reader *b)
{
    unsigned k;
    uint32_t i, value, start;
    struct cficache_reader *readers[2] = {a, b};
    static struct symc_string names[2][CFICACHE_NAMES];

    if (cficache_reader_names(a, names[0]) == CFICACHE_NAMES ||
        cficache_reader_names(b, names[1]) == CFICACHE_NAMES) {
        return; /* others have no number, and not the same ones */
    }
    for (k = 0; k < 2; k++) {
        for (i = 0; i < readers[k]->num_points[CFICACHE_RULES]; i++) {
            start = cficache_reader_point(readers[k], CFICACHE_RULES, i,
                                          &value);
            compare_at(readers, names, start);
            compare_at(readers, names, start == 0 ? 0 : start - 1);
        }
    }
}

void cfi_use(const struct cficache_reader *reader)
{
    unsigned k;
    uint32_t i, value, start;
    uint64_t result = 0;
    struct cficache_row row;
    struct cficache_rule rule;
    struct cficache_win win;
    static struct cficache_registers registers;
    static struct cficache_variables variables;
    static const struct cficache_memory memory = {read_word, NULL};

    for (i = 0; i < CFICACHE_NAMES; i++) {
        registers.values[i] = i * 0x1234567;
        registers.is_valid[i] = i % 7 != 6;
    }
    for (k = 0; k < CFICACHE_MAPS; k++) {
        for (i = 0; i < reader->num_points[k]; i++) {
            start = cficache_reader_point(reader, k, i, &value);
            cficache_reader_lookup(reader, start, k != 0, &row);
            registers.has_cfa = false;
            for (value = 0; value < row.count && value < 300; value++) {
                rule = cficache_reader_rule(reader, &row, value);
                if (cficache_evaluate(reader, &rule, &registers, &memory,
                                      &result) &&
                    value == 0) {
                    registers.cfa = result;
                    registers.has_cfa = true;
                }
            }
            if (cficache_reader_win(reader, start, &win)) {
                cficache_evaluate_win(reader, &win, &variables, &memory);
            }
        }
    }
}

void cfi_check(cfi_read *read, const uint8_t *data, size_t size)
{
    int rc;
    struct cficache_reader direct, by_text;
    static struct output *binary, *text, *other;

    if (binary == NULL) {
        binary = allocate();
        text = allocate();
        other = allocate();
        memcpy(text->data, MODULE, sizeof(MODULE) - 1);
    }
    binary->size = other->size = 0;
    text->size = sizeof(MODULE) - 1;
    rc = convert(read, false, data, size, binary);
    if ((convert(read, true, data, size, text) != 0) != (rc != 0)) {
        abort();
    }
    if (rc != 0) {
        return;
    }
    open_sound(binary, &direct);
    cfi_use(&direct);
    if (convert(breakpad_format.makes[1].read_cfi, false, text->data,
                text->size, other) == 0) {
        open_sound(other, &by_text);
        compare(&direct, &by_text);
    }
}
