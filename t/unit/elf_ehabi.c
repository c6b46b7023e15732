/*
 * Copyright (C) the ngx_symcache authors
 *
 * Exception tables of 32-bit ARM.  Of those that are made here, in both byte
 * orders, a CfiCache says what table 4 of IHI 0038 says of the instructions; of
 * those that a compiler made, what readelf prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "cficache_rules.h"
#include "debuginfo/elf/elf.h"

#define LOAD 0x10000 /* the address of the file */
#define TEXT_AT 0x200
#define TEXT_SIZE 0x100
#define INDEX_AT 0x300
#define TABLE_AT 0x400
#define NAMES_AT 0x500
#define FRAMES_AT 0x580
#define FILE_SIZE 0x600
#define FUNCTION 0x10 /* bytes */

struct image {
    uint8_t data[FILE_SIZE];
    bool is_big;
    size_t num_functions;
    size_t table_size;
};

static void put(struct image *m, size_t at, uint32_t value, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        m->data[at + (m->is_big ? size - 1 - i : i)] =
            (uint8_t)(value >> (8 * i));
    }
}

static void put_section(struct image *m, size_t n, uint32_t name,
                        uint32_t offset, uint32_t size)
{
    size_t i, at = 0x60 + n * 40;
    const uint32_t words[] = {name, 1, 2, LOAD + offset, offset, size};

    for (i = 0; i < 6; i++) {
        put(m, at + i * 4, words[i], 4);
    }
}

/* A library without functions. */
static void make(struct image *m, bool is_big, unsigned type, unsigned machine)
{
    static const char names[] =
        "\0.text\0.ARM.exidx\0.ARM.extab\0.names\0.debug_frame";

    memset(m, 0, sizeof(*m));
    m->is_big = is_big;
    memcpy(m->data, "\177ELF\1\1\1", 7);
    m->data[5] = is_big ? 2 : 1;
    put(m, 16, type, 2);
    put(m, 18, machine, 2);
    put(m, 20, 1, 4);
    put(m, 28, 52, 4);   /* segments */
    put(m, 32, 0x60, 4); /* sections */
    put(m, 40, 52, 2);
    put(m, 42, 32, 2);
    put(m, 44, 1, 2);
    put(m, 46, 40, 2);
    put(m, 48, 6, 2);
    put(m, 50, 4, 2);
    put(m, 52, 1, 4); /* PT_LOAD */
    put(m, 60, LOAD, 4);
    put(m, 68, FILE_SIZE, 4);
    put(m, 72, FILE_SIZE, 4);
    put_section(m, 1, 1, TEXT_AT, TEXT_SIZE);
    put_section(m, 2, 7, INDEX_AT, 0);
    put_section(m, 3, 18, TABLE_AT, 0);
    put_section(m, 4, 29, NAMES_AT, sizeof(names));
    put_section(m, 5, 36, FRAMES_AT, 0);
    memcpy(m->data + NAMES_AT, names, sizeof(names));
}

/* Adds a function whose entry's second word is this one. */
static void add_function(struct image *m, uint32_t word)
{
    size_t at = INDEX_AT + m->num_functions * 8;
    uint32_t function = (uint32_t)(TEXT_AT + m->num_functions * FUNCTION);

    put(m, at, (function - (uint32_t)at) & 0x7fffffff, 4);
    put(m, at + 4, word, 4);
    m->num_functions++;
    put_section(m, 2, 7, INDEX_AT, (uint32_t)m->num_functions * 8);
}

/* Adds a function with words in .ARM.extab. */
static void add_in_table(struct image *m, const uint32_t *words, size_t count)
{
    size_t i, at = INDEX_AT + m->num_functions * 8 + 4;

    add_function(m, (uint32_t)(TABLE_AT + m->table_size - at) & 0x7fffffff);
    for (i = 0; i < count; i++) {
        put(m, TABLE_AT + m->table_size, words[i], 4);
        m->table_size += 4;
    }
    put_section(m, 3, 18, TABLE_AT, (uint32_t)m->table_size);
}

/* Asserts what is known of the n-th function, from its begin to its end. */
static void assert_rules(const struct image *m, size_t n, const char *rules)
{
    uint32_t address = (uint32_t)(TEXT_AT + n * FUNCTION);
    char text[400];
    struct output cache;

    convert(&elf_format, m->data, sizeof(m->data), false, &cache);
    describe(&cache, address, true, text, sizeof(text));
    assert_string_equal(text, rules);
    describe(&cache, address + FUNCTION - 1, true, text, sizeof(text));
    assert_string_equal(text, rules);
    describe(&cache, address, false, text, sizeof(text));
    assert_string_equal(text, "");
}

/* Instructions of up to 6 bytes, and the CFA, the return address and registers
 * that they mean. */
static void test_instructions(void **state)
{
    size_t i, big;
    struct image m;
    uint32_t words[2];
    static const struct {
        uint8_t code[6];
        const char *rules;
    } cases[] = {
        {{0xb0}, "sp+0 lr+0"},
        {{0x00, 0xb0}, "sp+4 lr+0"},
        {{0x3f, 0xb0}, "sp+256 lr+0"},
        {{0x3f, 0x40, 0xb0}, "sp+252 lr+0"},
        {{0x7f, 0xb0}, "sp-256 lr+0"},
        {{0x80, 0x00, 0xb0}, ""}, /* refuse to unwind */
        {{0x88, 0x81, 0xb0}, "sp+12 sp+8^ r4: sp+0^ r11: sp+4^"},
        {{0x84, 0x08, 0xb0}, "sp+8 sp+4^ r7: sp+0^"},
        {{0x8c, 0x00, 0xb0}, "sp+8 sp+4^"}, /* lr and pc: pc */
        {{0x81, 0x00, 0xb0}, "sp+4 lr+0 r12: sp+0^"},
        {{0x82, 0x00, 0xb0}, ""}, /* the stack pointer from the stack */
        {{0x8a, 0x00, 0xb0}, ""},
        {{0x8f, 0x00, 0xb0}, /* ... with all others, behind a signal handler */
         "sp+4^ sp+12^ r12: sp+0^ lr: sp+8^ .signal: .cfa+0"},
        {{0x8e, 0x01, 0x00, 0xb0}, ""}, /* and more after it */
        {{0x8e, 0x01, 0xa8, 0xb0}, ""},
        {{0x97, 0x00, 0xa8, 0xb0}, "r7+12 r7+8^ r4: r7+4^"},
        {{0x9b, 0x41, 0x84, 0x80, 0xb0}, "r11+0 r11-4^ r11: r11-8^"},
        {{0xa3, 0x97, 0xb0}, ""}, /* r7 from the stack */
        {{0x9d, 0xb0}, ""},
        {{0x9f, 0xb0}, ""},
        {{0xa0, 0xb0}, "sp+4 lr+0 r4: sp+0^"},
        {{0xa2, 0xb0}, "sp+12 lr+0 r4: sp+0^ r5: sp+4^ r6: sp+8^"},
        {{0xa9, 0xb0}, "sp+12 sp+8^ r4: sp+0^ r5: sp+4^"},
        {{0xaf, 0xb0},
         "sp+36 sp+32^ r4: sp+0^ r5: sp+4^ r6: sp+8^ r7: sp+12^ r8: sp+16^ "
         "r9: sp+20^ r10: sp+24^ r11: sp+28^"},
        {{0xb1, 0x09, 0xb0}, "sp+8 lr+0 r0: sp+0^ r3: sp+4^"},
        {{0xb1, 0x00, 0xb0}, ""},
        {{0xb1, 0x10, 0xb0}, ""},
        {{0xb2, 0x00, 0xb0}, "sp+516 lr+0"},
        {{0xb2, 0x81, 0x01, 0xb0}, "sp+1032 lr+0"}, /* 0x204 + (129 << 2) */
        {{0xb3, 0x81, 0xb0}, "sp+20 lr+0"},
        {{0xb4, 0xb0}, "sp+4 lr+0"},
        {{0xb5, 0xb0}, "sp+0 lr+0"},
        {{0xb6, 0xb0}, ""},
        {{0xb7, 0xb0}, ""},
        {{0xb9, 0xb0}, "sp+20 lr+0"},
        {{0xc5, 0xb0}, "sp+48 lr+0"},
        {{0xc6, 0xa2, 0xb0}, "sp+24 lr+0"},
        {{0xc7, 0x0d, 0xb0}, "sp+12 lr+0"},
        {{0xc7, 0x00, 0xb0}, ""},
        {{0xc7, 0x10, 0xb0}, ""},
        {{0xc8, 0x0f, 0xb0}, "sp+128 lr+0"},
        {{0xc9, 0x81, 0xb0}, "sp+16 lr+0"},
        {{0xca, 0xb0}, ""},
        {{0xcf, 0xb0}, ""},
        {{0xd0, 0xb0}, "sp+8 lr+0"},
        {{0xd7, 0xb0}, "sp+64 lr+0"},
        {{0xd8, 0xb0}, ""},
        {{0xff, 0xb0}, ""},
        {{0, 0, 0, 0, 0, 0}, "sp+24 lr+0"},   /* without an end */
        {{0, 0, 0, 0, 0, 0xb1}, ""},          /* cut off */
        {{0xb2, 0xff, 0xff, 0xff, 0xff, 0xff}, ""},
    };

    (void)state;
    for (big = 0; big < 2; big++) {
        for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            const uint8_t *c = cases[i].code;

            make(&m, big, 3, 40);
            words[0] = 0x81010000 | (uint32_t)c[0] << 8 | c[1];
            words[1] = (uint32_t)c[2] << 24 | (uint32_t)c[3] << 16 |
                       (uint32_t)c[4] << 8 | c[5];
            add_in_table(&m, words, 2);
            add_function(&m, 1);
            assert_rules(&m, 0, cases[i].rules);
            assert_rules(&m, 1, "");
        }
    }
}

/* Each place where instructions can be. */
static void test_tables(void **state)
{
    size_t big;
    struct image m;
    static const uint32_t short_model[] = {0x80a80100};
    static const uint32_t routine[] = {0x7ffff000, 0x01a80102, 0xb0ffffff};
    static const uint32_t cut[] = {0x8103a8b0};
    static const uint32_t unknown[] = {0x8300a8b0};

    (void)state;
    for (big = 0; big < 2; big++) {
        make(&m, big, 3, 40);
        add_function(&m, 0x80a80100);          /* 0: model 0 */
        add_function(&m, 0x8100a8b0);          /* 1: not in this place */
        add_in_table(&m, short_model, 1);      /* 2: model 0 */
        add_in_table(&m, routine, 3);          /* 3: a routine's own */
        add_in_table(&m, unknown, 1);          /* 4 */
        add_in_table(&m, cut, 1);              /* 5: not all words are there */
        add_function(&m, 0x7fffff00 - 0x100);  /* 6: outside of the table */
        add_function(&m, 0x80b0b0b0);          /* 7: the last one */
        assert_rules(&m, 0, "sp+20 sp+4^ r4: sp+0^");
        assert_rules(&m, 1, "");
        assert_rules(&m, 2, "sp+20 sp+4^ r4: sp+0^");
        assert_rules(&m, 3, "sp+28 sp+4^ r4: sp+0^");
        assert_rules(&m, 4, "");
        assert_rules(&m, 5, "");
        assert_rules(&m, 6, "");
        assert_rules(&m, 7, "sp+0 lr+0");
        assert_rules(&m, TEXT_SIZE / FUNCTION - 1, "sp+0 lr+0");
        assert_rules(&m, TEXT_SIZE / FUNCTION, "");
    }
}

/* A bit of an address says that a function is in Thumb code. */
static void test_thumb(void **state)
{
    struct image m;

    (void)state;
    make(&m, false, 3, 40);
    add_function(&m, 0x80b0b0b0);
    add_function(&m, 1);
    m.data[INDEX_AT] |= 1;
    m.data[INDEX_AT + 8] |= 1;
    assert_rules(&m, 0, "sp+0 lr+0");
    assert_rules(&m, 1, "");
}

/* Objects that are linked together have exception tables, or DWARF, or both.
 * The latter is the better of the two where it is. */
static void test_dwarf(void **state)
{
    size_t i;
    char text[400];
    struct image m;
    struct output cache;
    /* a CIE (sp+0, lr), and from the second function on, 4 bytes into the third
     * one, an FDE with sp+16 */
    static const uint32_t frames[] = {
        12, 0xffffffff, 0x7c010001, 0x000d0c0e,
        16, 0, LOAD + TEXT_AT + FUNCTION, FUNCTION + 4, 0x0000100e};
    static const char saved[] = "sp+8 sp+4^ r4: sp+0^";
    static const struct {
        uint32_t address;
        bool is_corrected;
        const char *rules;
    } cases[] = {
        {TEXT_AT, true, saved},
        {TEXT_AT, false, ""},
        {TEXT_AT + FUNCTION - 1, true, saved},
        {TEXT_AT + FUNCTION, true, "sp+16 lr+0"},
        {TEXT_AT + FUNCTION, false, "sp+16 lr+0"},
        {TEXT_AT + 2 * FUNCTION + 3, true, "sp+16 lr+0"},
        {TEXT_AT + 2 * FUNCTION + 4, true, saved},
        {TEXT_AT + 2 * FUNCTION + 4, false, ""},
    };

    (void)state;
    make(&m, false, 3, 40);
    for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        put(&m, FRAMES_AT + i * 4, frames[i], 4);
    }
    put_section(&m, 5, 36, FRAMES_AT, sizeof(frames));
    for (i = 0; i < 3; i++) {
        add_function(&m, 0x80a8b0b0);
    }
    convert(&elf_format, m.data, sizeof(m.data), false, &cache);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        describe(&cache, cases[i].address, cases[i].is_corrected, text,
                 sizeof(text));
        assert_string_equal(text, cases[i].rules);
    }
}

/* The text has none of it, and other files have none. */
static void test_others(void **state)
{
    char error[200];
    struct elf_identity identity;
    struct image m;
    struct output text;

    (void)state;
    make(&m, false, 3, 40);
    add_function(&m, 0x80b0b0b0);
    convert(&elf_format, m.data, sizeof(m.data), true, &text);
    assert_int_equal(text.size, 0);
    assert_int_equal(elf_identity_read(m.data, sizeof(m.data), &identity,
                                       error, sizeof(error)),
                     0);
    assert_true(identity.has_unwind_info);

    make(&m, false, 1, 40); /* relocatable */
    add_function(&m, 0x80b0b0b0);
    assert_rules(&m, 0, "");
    make(&m, false, 3, 8);
    add_function(&m, 0x80b0b0b0);
    assert_rules(&m, 0, "");
}

/* t/data/cfi/README.md has the file. */
static void test_compiler(void **state)
{
    size_t i, size;
    char text[400];
    uint8_t packed[4096], data[8192];
    struct output cache;
    FILE *f = fopen("t/data/cfi/arm-ehabi.so.zst", "rb");
    static const struct {
        uint32_t address;
        const char *rules;
    } cases[] = {
        {0x4f7, ""},
        {0x4f8, "sp+16 sp+12^ r3: sp+0^ r4: sp+4^ r5: sp+8^"},
        {0x530, ""}, /* cantunwind */
        {0x5f8, "sp+0 lr+0"},
        {0x600, "sp+88 sp+84^ r4: sp+68^ r5: sp+72^ r6: sp+76^ r7: sp+80^"},
        {0x657, "sp+88 sp+84^ r4: sp+68^ r5: sp+72^ r6: sp+76^ r7: sp+80^"},
        {0x658, "r7+24 r7+20^ r4: r7+0^ r5: r7+4^ r6: r7+8^ r7: r7+12^ "
                "r8: r7+16^"},
        {0x6a0, "sp+5016 sp+5012^ r4: sp+5000^ r5: sp+5004^ r6: sp+5008^"},
        {0x6d4, "sp+24 sp+20^ r3: sp+16^"},
        {0x71b, "sp+24 sp+20^ r3: sp+16^"},
        {0x71c, ""},
    };

    (void)state;
    assert_non_null(f);
    size = fread(packed, 1, sizeof(packed), f);
    fclose(f);
    size = ZSTD_decompress(data, sizeof(data), packed, size);
    assert_false(ZSTD_isError(size));
    convert(&elf_format, data, size, false, &cache);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        describe(&cache, cases[i].address, true, text, sizeof(text));
        assert_string_equal(text, cases[i].rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_thumb),
        cmocka_unit_test(test_dwarf),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_compiler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
