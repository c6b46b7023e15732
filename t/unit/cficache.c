/*
 * Copyright (C) the ngx_symcache authors
 *
 * CfiCaches: what Breakpad's readers find in the text is found in them.  The
 * expected values follow from the rules of STACK CFI and STACK WIN records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "derived/derived.h"

#define ROWS 20000

struct file {
    uint8_t *data;
    size_t size;
    struct cficache_reader reader;
    unsigned num_names;
    struct symc_string names[CFICACHE_NAMES];
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    file->data = realloc(file->data, file->size + size);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

/* Checks a file for a debug id with this GUID. */
static enum symc_verify_status check(const struct file *file,
                                     const uint8_t guid[16], char *error,
                                     size_t error_size)
{
    symcache_key_t key = {.kind = SYMCACHE_KIND_CFICACHE};

    memcpy(key.guid, guid, sizeof(key.guid));
    return derived_check(file->data, file->size, &key, false, error,
                         error_size);
}

static void finish(struct cficache_writer *w, struct file *file)
{
    char error[200] = "";
    struct symc_sink sink = {append, file};
    struct cficache_identity identity = {"guidguidguidgui", 7, SYMC_ARCH_AMD64,
                                         "a.pdb", 5};

    file->data = NULL;
    file->size = 0;
    assert_int_equal(cficache_writer_finish(w, &identity, &sink), SYMC_OK);
    cficache_writer_free(w);
    assert_int_equal(cficache_reader_open(&file->reader, file->data,
                                          file->size, error, sizeof(error)),
                     SYMC_OPENED);
    assert_int_equal(check(file, identity.guid, error, sizeof(error)),
                     SYMC_SOUND);
    assert_string_equal(error, "");
    file->num_names = cficache_reader_names(&file->reader, file->names);
}

static void range(struct cficache_writer *w, uint64_t start, uint64_t size,
                  const char *rules)
{
    assert_int_equal(cficache_writer_range(w, CFICACHE_RULES, start, size),
                     SYMC_OK);
    assert_int_equal(cficache_writer_text(w, rules, strlen(rules)), SYMC_OK);
}

static void row(struct cficache_writer *w, uint64_t address, const char *rules)
{
    assert_int_equal(cficache_writer_row(w, address), SYMC_OK);
    assert_int_equal(cficache_writer_text(w, rules, strlen(rules)), SYMC_OK);
}

static int number_of(const struct file *file, const char *name)
{
    unsigned i;

    for (i = 0; i < file->num_names; i++) {
        if (file->names[i].size == strlen(name) &&
            memcmp(file->names[i].data, name, strlen(name)) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Memory in which each word is its address + 1, from 0x1000 on. */
static bool read_word(void *context, uint64_t address, uint64_t *word)
{
    (void)context;
    *word = address + 1;
    return address >= 0x1000;
}

static const struct cficache_memory memory = {read_word, NULL};

/* Returns the value that a register has in the caller of the frame at an
 * address with $rsp = 0x2000, or "fails", "none": no rule, "": no CFI. */
static const char *value(const struct file *file, uint32_t address,
                         const char *name)
{
    int number = strcmp(name, ".cfa") == 0  ? CFICACHE_CFA
                 : strcmp(name, ".ra") == 0 ? CFICACHE_RA
                                            : number_of(file, name);
    uint32_t i;
    uint64_t result;
    static char text[32];
    static struct cficache_registers registers;
    struct cficache_row found;
    struct cficache_rule rule;

    memset(&registers, 0, sizeof(registers));
    if (number_of(file, "rsp") >= 0) {
        registers.values[number_of(file, "rsp")] = 0x2000;
        registers.is_valid[number_of(file, "rsp")] = true;
    }
    if (!cficache_reader_lookup(&file->reader, address, false, &found)) {
        return "";
    }
    for (i = 0; i < found.count; i++) {
        rule = cficache_reader_rule(&file->reader, &found, i);
        result = 0;
        if (!cficache_evaluate(&file->reader, &rule, &registers, &memory,
                               &result)) {
            snprintf(text, sizeof(text), "fails");
        } else {
            snprintf(text, sizeof(text), "%llx", (unsigned long long)result);
        }
        if (rule.target == CFICACHE_CFA) {
            registers.cfa = result;
            registers.has_cfa = true;
        }
        if (rule.target == number) {
            return text;
        }
    }
    return "none";
}

static void test_rows(void **state)
{
    struct file file;
    static struct cficache_writer w;

    (void)state;
    range(&w, 0x500, 0x100, ".cfa: $rsp 8 + .ra: .cfa -8 + ^");
    row(&w, 0x520, ".cfa: $rsp 48 +");
    row(&w, 0x510, ".cfa: $rsp 32 +"); /* not in order */
    row(&w, 0x504, ".cfa: $rsp 16 + $rbx: .cfa -16 + ^");
    row(&w, 0x600, ".cfa: $rsp 64 +"); /* behind the end */
    range(&w, 0x508, 0x10, ".cfa: $rsp 96 + .ra: .cfa -8 + ^");
    range(&w, 0x600, 0, ".cfa: $rsp 96 + .ra: .cfa -8 + ^");
    range(&w, UINT64_MAX, 2, ".cfa: $rsp 96 + .ra: .cfa -8 + ^");
    range(&w, 0xFFFFFF00, 0x1000, ".cfa: $rsp 8 + .ra: .cfa -8 + ^");
    row(&w, (uint64_t)1 << 32, ".cfa: $rsp 16 +");
    finish(&w, &file);
    assert_string_equal(value(&file, 0x4FF, ".cfa"), "");
    assert_string_equal(value(&file, 0x500, ".cfa"), "2008");
    assert_string_equal(value(&file, 0x500, ".ra"), "2001");
    assert_string_equal(value(&file, 0x503, "rbx"), "none");
    assert_string_equal(value(&file, 0x504, ".cfa"), "2010");
    assert_string_equal(value(&file, 0x504, "rbx"), "2001");
    assert_string_equal(value(&file, 0x50F, ".cfa"), "2010");
    assert_string_equal(value(&file, 0x510, ".cfa"), "2020");
    assert_string_equal(value(&file, 0x520, ".cfa"), "2030");
    assert_string_equal(value(&file, 0x5FF, "rbx"), "2021");
    assert_string_equal(value(&file, 0x600, ".cfa"), "");
    assert_string_equal(value(&file, 0xFFFFFFFE, ".cfa"), "2008");
    free(file.data);
}

static void test_rules(void **state)
{
    struct file file;
    static struct cficache_writer w;

    (void)state;
    range(&w, 0, 16,
          ".cfa: $rsp 16 16 * 8 / + .ra: .cfa 8 - ^ $rbx: .cfa 7 % "
          "$rbp: .cfa 256 @ $r12: .cfa 0 / $r13: .undef $r14: 3 "
          "$r15: $rsp 1 x19: 0 ^ x20: x21 x22: rsp 99999999999 + "
          "r12: .cfa 3 @");
    range(&w, 16, 16, ".cfa: .cfa .ra: 1");
    range(&w, 32, 16, ".cfa: $rsp 8 +");
    row(&w, 40, ".ra: 1");
    range(&w, 48, 16, "8 .cfa: $rsp .ra: 1");
    range(&w, 64, 16, ".cfa: .ra: 1");
    range(&w, 80, 16, ".cfa: $rsp .ra: +1 $rsp: -2 rax: 1 +");
    row(&w, 88, "rbx:");
    row(&w, 92, "rbx: 1");
    finish(&w, &file);
    assert_string_equal(value(&file, 0, ".cfa"), "2020");
    assert_string_equal(value(&file, 0, ".ra"), "2019");
    assert_string_equal(value(&file, 0, "rbx"), "6");
    assert_string_equal(value(&file, 0, "rbp"), "2000");
    assert_string_equal(value(&file, 0, "r12"), "fails");
    assert_string_equal(value(&file, 0, "r13"), "fails");
    assert_string_equal(value(&file, 0, "r14"), "3");
    assert_string_equal(value(&file, 0, "r15"), "fails");
    assert_string_equal(value(&file, 0, "x19"), "fails");
    assert_string_equal(value(&file, 0, "x20"), "fails");
    assert_string_equal(value(&file, 0, "x22"), "17487707ff");
    assert_string_equal(value(&file, 16, ".cfa"), "none"); /* covered */
    assert_string_equal(value(&file, 32, ".cfa"), "none");
    assert_string_equal(value(&file, 40, ".cfa"), "2008");
    assert_string_equal(value(&file, 48, ".cfa"), "none");
    assert_string_equal(value(&file, 64, ".cfa"), "none");
    assert_string_equal(value(&file, 80, "rsp"), "fffffffffffffffe");
    assert_string_equal(value(&file, 80, "rax"), "fails");
    assert_string_equal(value(&file, 88, "rsp"), "none");
    assert_string_equal(value(&file, 92, "rsp"), "none");
    free(file.data);
}

static void win(struct cficache_writer *w, uint64_t start, uint32_t size,
                uint32_t locals, const char *program)
{
    struct cficache_win record = {0};

    record.locals = locals;
    record.has_program = program != NULL;
    assert_int_equal(
        cficache_writer_win(w, start, size, record, program,
                            program == NULL ? 0 : strlen(program)),
        SYMC_OK);
}

/* Returns the locals of the record at an address, or -1. */
static int locals_at(const struct file *file, uint32_t address)
{
    struct cficache_win record;

    return cficache_reader_win(&file->reader, address, &record)
               ? (int)record.locals
               : -1;
}

static void test_win_ranges(void **state)
{
    struct file file;
    static struct cficache_writer w;

    (void)state;
    win(&w, 0x100, 0x100, 1, NULL);
    win(&w, 0x140, 0x10, 2, NULL);  /* cuts 1 off for good */
    win(&w, 0x140, 0x10, 3, NULL);  /* comes too late */
    win(&w, 0x130, 0x18, 4, NULL);  /* begins before, and is dropped */
    win(&w, 0x300, 0x100, 5, NULL); /* hidden in part by 7 and 8 */
    win(&w, 0x500, 0, 6, NULL);
    win(&w, 0x2F0, 0x20, 7, "$eip 1 =");
    win(&w, 0x380, 0x10, 8, "$eip 1 =");
    finish(&w, &file);
    assert_int_equal(locals_at(&file, 0xFF), -1);
    assert_int_equal(locals_at(&file, 0x100), 1);
    assert_int_equal(locals_at(&file, 0x13F), 1);
    assert_int_equal(locals_at(&file, 0x140), 2);
    assert_int_equal(locals_at(&file, 0x150), -1);
    assert_int_equal(locals_at(&file, 0x2F0), 7);
    assert_int_equal(locals_at(&file, 0x310), 5);
    assert_int_equal(locals_at(&file, 0x380), 8);
    assert_int_equal(locals_at(&file, 0x390), 5);
    assert_int_equal(locals_at(&file, 0x400), -1);
    assert_int_equal(locals_at(&file, 0x500), -1);
    free(file.data);
}

static void test_win_programs(void **state)
{
    int i, eip, esp;
    struct file file;
    struct cficache_win record;
    static struct cficache_writer w;
    static struct cficache_variables variables;
    static const struct {
        const char *program;
        int64_t eip; /* or -1: it fails */
    } cases[] = {
        {"$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =", 0x3001},
        {"$T0 $esp = $eip $T0 4 + ^ =", 0x2005},
        {"$T1 .raSearch =$T0 $T1 4 - 8 @ = $eip $T0 =", 0x2FF8},
        {"$T0 .undef = $eip $T0 =", -1},
        {"$eip $T0 $T0 5 = =", 5}, /* read when it is taken */
        {"$eip 4294967295 =", -1}, /* no number of 32 bits */
        {"$eip -1 =", 0xFFFFFFFF},
        {"$eip 2147483647 2 * 3 + =", 1},
        {"$eip 1 = 2", 1},
        {"1 $eip =", -1},
        {"$eip eax =", -1},
        {"$eip 1 0 / =", -1},
        {"=", -1},
        {"", 7},
    };

    (void)state;
    for (i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
        win(&w, 0x10 * (uint64_t)i, 0x10, 0, cases[i].program);
    }
    finish(&w, &file);
    eip = number_of(&file, "$eip");
    esp = number_of(&file, "$esp");
    assert_true(eip >= 0 && esp >= 0);
    for (i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
        memset(&variables, 0, sizeof(variables));
        variables.values[eip] = 7;
        variables.values[esp] = 0x2000;
        variables.values[number_of(&file, ".raSearch")] = 0x3000;
        variables.is_set[eip] = variables.is_set[esp] =
            variables.is_set[number_of(&file, ".raSearch")] = true;
        assert_true(cficache_reader_win(&file.reader, 0x10 * (uint32_t)i,
                                        &record));
        assert_true(record.has_program);
        assert_int_equal(record.aligns, strchr(cases[i].program, '@') != NULL);
        assert_int_equal(
            cficache_evaluate_win(&file.reader, &record, &variables, &memory),
            cases[i].eip >= 0);
        assert_true(cases[i].eip < 0 ||
                    variables.values[eip] == (uint32_t)cases[i].eip);
    }
    free(file.data);
}

static void test_corrections(void **state)
{
    struct file file;
    struct cficache_row found;
    struct cficache_rule end = {CFICACHE_END, CFICACHE_RA, 0, 0};
    static struct cficache_writer w;

    (void)state;
    range(&w, 0x100, 0x100, ".cfa: $rsp 8 + .ra: .cfa 8 - ^");
    cficache_writer_range(&w, CFICACHE_CORRECTIONS, 0x180, 0x10);
    cficache_writer_text(&w, ".cfa: $rsp", 10);
    cficache_writer_rule(&w, &end);
    finish(&w, &file);
    assert_true(cficache_reader_lookup(&file.reader, 0x180, false, &found));
    assert_int_equal(cficache_reader_rule(&file.reader, &found, 1).kind,
                     CFICACHE_AT);
    assert_true(cficache_reader_lookup(&file.reader, 0x180, true, &found));
    assert_int_equal(cficache_reader_rule(&file.reader, &found, 1).kind,
                     CFICACHE_END);
    assert_true(cficache_reader_lookup(&file.reader, 0x190, true, &found));
    assert_int_equal(cficache_reader_rule(&file.reader, &found, 1).kind,
                     CFICACHE_AT);
    free(file.data);
}

/* Many names, many rows, and a large program. */
static void test_limits(void **state)
{
    unsigned i;
    char rules[64];
    static char text[200000] = ".cfa: $rsp .ra: 1 $r1: 1";
    struct file file;
    static struct cficache_writer w;

    (void)state;
    for (i = (unsigned)strlen(text); i + 4 < sizeof(text); i += 4) {
        memcpy(text + i, " 1 +", 5);
    }
    range(&w, 2 * ROWS, 1, text);
    range(&w, 0, 2 * ROWS, ".cfa: $rsp .ra: 1 last: 5");
    for (i = 0; i < ROWS; i++) {
        snprintf(rules, sizeof(rules), "$x%u: $rsp %u +", i % 300, i % 256);
        row(&w, 2 * i, rules);
    }
    finish(&w, &file);
    assert_int_equal(file.num_names, CFICACHE_NAMES);
    assert_string_equal(value(&file, 2 * 240, "x240"), "20f0");
    assert_string_equal(value(&file, 2 * 240 + 2, "x240"), "20f0");
    assert_string_equal(value(&file, 2 * ROWS - 1, "last"), "5");
    assert_string_equal(value(&file, 2 * ROWS, "r1"), "fails");
    free(file.data);
}

/* Each byte of a file, changed: opening, looking up and running stay in it, and
 * verification finds what leads to nothing. */
static void test_damage(void **state)
{
    size_t i;
    uint32_t address;
    char error[200];
    struct file file;
    struct cficache_reader reader;
    struct cficache_win record;
    struct cficache_row found;
    struct cficache_rule rule;
    static struct cficache_registers registers;
    static struct cficache_variables variables;
    static struct cficache_writer w;
    uint64_t result;

    (void)state;
    range(&w, 0, 16, ".cfa: $rsp 8 + .ra: .cfa 4 * ^ $rbx: .cfa -16 + ^");
    win(&w, 0, 16, 1, "$eip $esp ^ =");
    finish(&w, &file);
    for (i = 0; i < file.size * 8; i++) {
        file.data[i / 8] ^= (uint8_t)(1 << i % 8);
        if (cficache_reader_open(&reader, file.data, file.size, error,
                                 sizeof(error)) == SYMC_OPENED) {
            (void)cficache_verify(&reader, error, sizeof(error));
            for (address = 0; address < 20; address++) {
                cficache_reader_lookup(&reader, address, true, &found);
                for (; found.count > 0; found.count--) {
                    rule = cficache_reader_rule(&reader, &found,
                                                found.count - 1);
                    cficache_evaluate(&reader, &rule, &registers, &memory,
                                      &result);
                }
                if (cficache_reader_win(&reader, address, &record)) {
                    cficache_evaluate_win(&reader, &record, &variables,
                                          &memory);
                }
            }
        }
        file.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_int_equal(cficache_reader_open(&reader, file.data, file.size - 1,
                                          error, sizeof(error)),
                     SYMC_DAMAGED);
    assert_int_equal(
        cficache_reader_open(&reader, "SCFI\2\0\0\0", 8, error, sizeof(error)),
        SYMC_FOREIGN);
    assert_int_equal(check(&file, (const uint8_t *)"anotheridentity!", error,
                           sizeof(error)),
                     SYMC_VIOLATED);
    free(file.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_win_ranges),  cmocka_unit_test(test_win_programs),
        cmocka_unit_test(test_corrections), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests_name("cficache", tests, NULL, NULL);
}
