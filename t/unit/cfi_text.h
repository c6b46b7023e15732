/*
 * Copyright (C) the ngx_symcache authors
 *
 * Random STACK CFI records: what a CfiCache made of them says of each address
 * is what a direct evaluation of their text does, by the rules of Breakpad's
 * readers.  For one test and one fuzz target, which say where chance comes
 * from (random_below) and what happens to a difference (CFI_TEXT_CHECK).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "derived/cficache/cficache.h"

#define RECORDS 8
#define REGISTERS 4 /* r0 to r3; r3 is not valid */
#define TARGETS 6   /* these, .cfa and .ra */
#define END 64      /* of all addresses */

static const char *const targets[TARGETS] = {
    "$r0:", "r1:", "r2:", "r3:", ".cfa:", ".ra:"};
/* A number below n, of the caller's making. */
static unsigned random_below(unsigned n);

static uint64_t value_of(unsigned reg)
{
    return reg * 0x1111111111111111u + 5;
}

static bool read_word(void *context, uint64_t address, uint64_t *word)
{
    (void)context;
    *word = address * 3 + 1;
    return address % 5 != 4;
}

/* A record; rows have no size. */
struct record {
    unsigned start;
    unsigned size;
    char rules[400];
};

static void random_rules(char *text, size_t size)
{
    static const char *const words[] = {
        "r0", "$r1", "r2", "r3", "r0", "+",    "-",    "*",      "/",
        "%",  "@",   "^",  "+",  "^",  "4",    "-8",   "16",     "+2",
        "0",  "9x",  "3",  "8",  "r1", ".cfa", ".cfa", ".undef", "r9"};
    unsigned i, n, k;

    text[0] = '\0';
    n = random_below(4) + (random_below(9) != 0);
    for (i = 0; i < n; i++) {
        k = random_below(12);
        strncat(text, k < TARGETS ? targets[k] : targets[4 + k % 2],
                size - strlen(text) - 1);
        strncat(text, " ", size - strlen(text) - 1);
        k = random_below(5) == 0 ? random_below(8) : 0;
        if (k == 0) { /* what compilers write */
            snprintf(text + strlen(text), size - strlen(text), "%s %d + %s",
                     random_below(2) ? ".cfa" : "r1",
                     (int)random_below(64) - 32, random_below(2) ? "^ " : "");
        }
        for (; k > 0; k--) {
            strncat(text,
                    words[random_below(sizeof(words) / sizeof(words[0]))],
                    size - strlen(text) - 1);
            strncat(text, " ", size - strlen(text) - 1);
        }
    }
}

static bool apply(char operation, uint64_t a, uint64_t b, uint64_t *result)
{
    switch (operation) {
    case '+':
        *result = a + b;
        return true;
    case '-':
        *result = a - b;
        return true;
    case '*':
        *result = a * b;
        return true;
    case '/':
        *result = b != 0 ? a / b : 0;
        return b != 0;
    case '%':
        *result = b != 0 ? a % b : 0;
        return b != 0;
    default:
        *result = b != 0 ? a & ~(b - 1) : 0;
        return b != 0 && (b & (b - 1)) == 0;
    }
}

/* Evaluates an expression. */
static bool evaluate(const char *text, const uint64_t *cfa, uint64_t *result)
{
    unsigned n = 0;
    int used;
    long long number;
    char word[32], rest;
    uint64_t stack[32];

    for (; sscanf(text, "%31s%n", word, &used) == 1; text += used) {
        if (strchr("+-*/%@", word[0]) != NULL && word[1] == '\0') {
            if (n < 2 ||
                !apply(word[0], stack[n - 2], stack[n - 1], &stack[n - 2])) {
                return false;
            }
            n--;
        } else if (strcmp(word, "^") == 0) {
            if (n < 1 || !read_word(NULL, stack[n - 1], &stack[n - 1])) {
                return false;
            }
        } else if (strcmp(word, ".cfa") == 0) {
            if (cfa == NULL) {
                return false;
            }
            stack[n++] = *cfa;
        } else if (sscanf(word, "%lld%c", &number, &rest) == 1) {
            stack[n++] = (uint64_t)number;
        } else if (sscanf(word + (word[0] == '$'), "r%lld%c", &number,
                          &rest) == 1 &&
                   number < REGISTERS - 1) {
            stack[n++] = value_of((unsigned)number);
        } else {
            return false;
        }
    }
    *result = stack[0];
    return n == 1;
}

/* Splits rules into expressions by target.  Returns false if they are not
 * complete. */
static bool split(const char *text, char (*expressions)[400])
{
    int used;
    unsigned i, target = TARGETS;
    char word[32];

    for (; sscanf(text, "%31s%n", word, &used) == 1; text += used) {
        if (word[strlen(word) - 1] == ':') {
            if (target < TARGETS && expressions[target][0] == '\0') {
                return false;
            }
            for (i = 0; strcmp(targets[i], word) != 0; i++) {
            }
            target = i;
            expressions[target][0] = '\0';
        } else if (target == TARGETS) {
            return false;
        } else {
            strncat(expressions[target], word, 380);
            strncat(expressions[target], " ", 2);
        }
    }
    return target < TARGETS && expressions[target][0] != '\0';
}

/* What is known at an address: -1 no CFI, 0 it fails, 1 values. */
struct answer {
    int known;
    bool has[TARGETS];
    uint64_t values[TARGETS];
};

/* Finds the record that covers an address: of those that are sorted, one that
 * begins in the one kept before is dropped. */
static int find_range(const struct record *records, unsigned address)
{
    int i, best, found = -1;
    unsigned from = 0;

    for (;;) {
        best = -1;
        for (i = 0; i < RECORDS; i++) {
            if (records[i].size > 0 && records[i].start >= from &&
                (best < 0 || records[i].start < records[best].start ||
                 (records[i].start == records[best].start &&
                  records[i].size < records[best].size))) {
                best = i;
            }
        }
        if (best < 0 || records[best].start > address) {
            return found;
        }
        from = records[best].start + records[best].size;
        found = address < from ? best : -1;
    }
}

static void answer_by_text(const struct record *records, unsigned address,
                           struct answer *answer)
{
    int first = find_range(records, address), i, k, next;
    unsigned at = 0;
    bool is_used[RECORDS] = {false};
    static char expressions[TARGETS][400];

    memset(answer, 0, sizeof(*answer));
    answer->known = first < 0 ? -1 : 0;
    memset(expressions, 0, sizeof(expressions));
    if (first < 0 || !split(records[first].rules, expressions)) {
        return;
    }
    for (k = first + 1; k < RECORDS && records[k].size == 0; k++) {
        next = -1; /* the lowest row that was not applied */
        for (i = first + 1; i < RECORDS && records[i].size == 0; i++) {
            if (!is_used[i] && records[i].start <= address &&
                (next < 0 || records[i].start < records[next].start)) {
                next = i;
            }
        }
        if (next >= 0) {
            is_used[next] = true;
            if (!split(records[next].rules, expressions)) {
                return;
            }
        }
    }
    if (!evaluate(expressions[4], NULL, &answer->values[4]) ||
        !evaluate(expressions[5], &answer->values[4], &answer->values[5])) {
        return;
    }
    answer->known = 1;
    for (at = 0; at < REGISTERS; at++) {
        answer->has[at] =
            evaluate(expressions[at], &answer->values[4], &answer->values[at]);
    }
}

static void answer_by_cache(const struct cficache_reader *r, unsigned address,
                            struct answer *answer)
{
    unsigned i, n;
    bool is_good;
    uint64_t value = 0;
    struct cficache_row row;
    struct cficache_rule rule;
    struct symc_string names[CFICACHE_NAMES];
    static struct cficache_registers registers;
    static const struct cficache_memory memory = {read_word, NULL};

    memset(answer, 0, sizeof(*answer));
    memset(&registers, 0, sizeof(registers));
    n = cficache_reader_names(r, names);
    for (i = 0; i < n; i++) {
        registers.values[i] = value_of((unsigned)(names[i].data[1] - '0'));
        registers.is_valid[i] = names[i].size == 2 &&
                                names[i].data[0] == 'r' &&
                                names[i].data[1] < '0' + REGISTERS - 1;
    }
    answer->known = cficache_reader_lookup(r, address, false, &row) ? 0 : -1;
    for (i = 0; i < row.count; i++) {
        rule = cficache_reader_rule(r, &row, i);
        is_good = cficache_evaluate(r, &rule, &registers, &memory, &value);
        if (i < 2 && !is_good) {
            return;
        }
        n = i < 2 ? 4 + i : (unsigned)(names[rule.target].data[1] - '0');
        if (is_good) {
            answer->values[n] = value;
            answer->has[n] = i >= 2;
        }
        if (i == 0) {
            registers.cfa = value;
            registers.has_cfa = true;
        }
        answer->known = i >= 1;
    }
}

struct file {
    uint8_t data[65536];
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    CFI_TEXT_CHECK(size <= sizeof(file->data) - file->size);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

static void make(const struct record *records, struct file *file,
                 struct cficache_reader *reader)
{
    unsigned i;
    char error[200];
    static struct cficache_writer w;
    struct symc_sink sink = {append, file};
    struct cficache_identity identity = {.age = 0};

    file->size = 0;
    for (i = 0; i < RECORDS; i++) {
        CFI_TEXT_CHECK(
            (records[i].size > 0
                 ? cficache_writer_range(&w, CFICACHE_RULES, records[i].start,
                                         records[i].size)
                 : cficache_writer_row(&w, records[i].start)) == SYMC_OK);
        CFI_TEXT_CHECK(cficache_writer_text(&w, records[i].rules,
                                            strlen(records[i].rules)) ==
                       SYMC_OK);
    }
    CFI_TEXT_CHECK(cficache_writer_finish(&w, &identity, &sink) == SYMC_OK);
    cficache_writer_free(&w);
    CFI_TEXT_CHECK(cficache_reader_open(reader, file->data, file->size, error,
                                        sizeof(error)) == SYMC_OPENED);
    CFI_TEXT_CHECK(cficache_verify(reader, error, sizeof(error)) ==
                   SYMC_SOUND);
}

/*
 * Makes random records and compares both answers at each address.  Returns at
 * how many of them there is one.
 */
static unsigned cfi_text_compare(void)
{
    unsigned i, k, known = 0;
    struct record records[RECORDS];
    struct cficache_reader reader;
    struct answer expected, got;
    static struct file file;

    for (i = 0; i < RECORDS; i++) {
        records[i].start = random_below(END);
        records[i].size =
            i == 0 || random_below(3) == 0 ? 1 + random_below(30) : 0;
        random_rules(records[i].rules, sizeof(records[i].rules));
    }
    make(records, &file, &reader);
    for (i = 0; i < END + 32; i++) {
        answer_by_text(records, i, &expected);
        answer_by_cache(&reader, i, &got);
        CFI_TEXT_CHECK(got.known == expected.known);
        if (got.known > 0) {
            known++;
            CFI_TEXT_CHECK(memcmp(got.has, expected.has, sizeof(got.has)) ==
                           0);
        }
        for (k = 0; got.known > 0 && k < TARGETS; k++) {
            CFI_TEXT_CHECK((k < REGISTERS && !got.has[k]) ||
                           got.values[k] == expected.values[k]);
        }
    }
    return known;
}
