/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of ARM64 that is packed into .pdata, and codes that
 * upstream does not take apart.  The rules are what the canonical prologs do,
 * instruction by instruction.  llvm-readobj 14 prints these of the same words
 * but for those with a signed return address, or with x19 and lr alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cficache_rules.h"
#include "debuginfo/pe/pe.h"

#define FUNCTION 0x1000
#define PDATA 0x2000
#define PDATA_AT 0x200
#define XDATA (PDATA + 0x80)
#define FILE_SIZE 0x400

static void put(uint8_t *data, size_t at, uint32_t value, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        data[at + i] = (uint8_t)(value >> (8 * i));
    }
}

/* An image with one function, whose entry has this second word. */
static void make(uint8_t data[FILE_SIZE], uint32_t word)
{
    memset(data, 0, FILE_SIZE);
    memcpy(data, "MZ", 2);
    put(data, 0x3C, 0x40, 4);
    memcpy(data + 0x40, "PE\0\0", 4);
    put(data, 0x44, 0xAA64, 2); /* the machine */
    put(data, 0x46, 1, 2);      /* sections */
    put(data, 0x54, 240, 2);    /* bytes of the optional header */
    put(data, 0x56, 0x22, 2);
    put(data, 0x58, 0x20B, 2);
    put(data, 0x78, 0x1000, 4); /* alignments */
    put(data, 0x7C, 0x200, 4);
    put(data, 0x90, 0x3000, 4); /* in memory */
    put(data, 0x94, 0x200, 4);  /* headers */
    put(data, 0xC4, 16, 4);     /* directories */
    put(data, 0xE0, PDATA, 4);
    put(data, 0xE4, 8, 4);
    memcpy(data + 0x148, ".pdata", 6);
    put(data, 0x150, 0x200, 4);
    put(data, 0x154, PDATA, 4);
    put(data, 0x158, FILE_SIZE - PDATA_AT, 4);
    put(data, 0x15C, PDATA_AT, 4);
    put(data, 0x16C, 0x40000040, 4);
    put(data, PDATA_AT, FUNCTION, 4);
    put(data, PDATA_AT + 4, word, 4);
}

/* Asserts what is known at the n-th instruction of the function. */
static void assert_rules(const uint8_t *data, unsigned n, const char *rules)
{
    char text[1000];
    struct output cache;

    convert(&pe_format, data, FILE_SIZE, false, &cache);
    describe(&cache, FUNCTION + 4 * n, true, text, sizeof(text));
    assert_string_equal(text, rules);
}

static uint32_t packed(unsigned flag, unsigned floats, unsigned general,
                       unsigned homes, unsigned chain, uint32_t size)
{
    return flag | 16 << 2 | floats << 13 | general << 16 | homes << 20 |
           chain << 21 | size / 16 << 23;
}

static void test_packed(void **state)
{
    size_t i;
    char text[100];
    uint8_t data[FILE_SIZE];
    struct output out;
    const struct {
        uint32_t word;
        unsigned at;
        const char *rules;
    } cases[] = {
        /* stp x19, x20, [sp, -16]!; sub sp, sp, 16 */
        {packed(1, 0, 2, 0, 0, 32), 0, "sp+0 x30+0"},
        {packed(1, 0, 2, 0, 0, 32), 1,
         "sp+16 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        {packed(1, 0, 2, 0, 0, 32), 2,
         "sp+32 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        {packed(1, 0, 2, 0, 0, 32), 13,
         "sp+32 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        {packed(1, 0, 2, 0, 0, 32), 16, ""},
        /* str x19, [sp, -16]!; sub sp, sp, 32 */
        {packed(1, 0, 1, 0, 0, 48), 2, "sp+48 x30+0 x19: .cfa-16^"},
        /* str lr, [sp, -16]! */
        {packed(1, 0, 0, 0, 1, 16), 0, "sp+0 x30+0"},
        {packed(1, 0, 0, 0, 1, 16), 1, "sp+16 .cfa-16^ x30: .cfa-16^"},
        /* sub sp, sp, 16; stp x19, lr, [sp]; sub sp, sp, 16 */
        {packed(1, 0, 1, 0, 1, 32), 1, "sp+16 x30+0"},
        {packed(1, 0, 1, 0, 1, 32), 3,
         "sp+32 .cfa-8^ x19: .cfa-16^ x30: .cfa-8^"},
        /* stp x19, x20, [sp, -32]!; stp x21, lr, [sp, 16]; sub sp, sp, 32 */
        {packed(1, 0, 3, 0, 1, 64), 1,
         "sp+32 x30+0 x19: .cfa-32^ x20: .cfa-24^"},
        {packed(1, 0, 3, 0, 1, 64), 3,
         "sp+64 .cfa-8^ x19: .cfa-32^ x20: .cfa-24^ x21: .cfa-16^ "
         "x30: .cfa-8^"},
        /* stp x19, x20, [sp, -48]!; stp x21, x22, [sp, 16]; str lr, [sp, 32];
         * sub sp, sp, 16 */
        {packed(1, 0, 4, 0, 1, 64), 4,
         "sp+64 .cfa-16^ x19: .cfa-48^ x20: .cfa-40^ x21: .cfa-32^ "
         "x22: .cfa-24^ x30: .cfa-16^"},
        /* stp d8, d9, [sp, -32]!; str d10, [sp, 16]; sub sp, sp, 16 */
        {packed(1, 2, 0, 0, 0, 48), 3,
         "sp+48 x30+0 d8: .cfa-32^ d9: .cfa-24^ d10: .cfa-16^"},
        /* stp x19, x20, [sp, -32]!; stp d8, d9, [sp, 16];
         * stp x29, lr, [sp, -96]!; mov x29, sp */
        {packed(1, 1, 2, 0, 3, 128), 3,
         "sp+128 .cfa-120^ x19: .cfa-32^ x20: .cfa-24^ x29: .cfa-128^ "
         "x30: .cfa-120^ d8: .cfa-16^ d9: .cfa-8^"},
        {packed(1, 1, 2, 0, 3, 128), 4,
         "x29+128 .cfa-120^ x19: .cfa-32^ x20: .cfa-24^ x29: .cfa-128^ "
         "x30: .cfa-120^ d8: .cfa-16^ d9: .cfa-8^"},
        /* stp x19, x20, [sp, -16]!; sub sp, sp, 1264; stp x29, lr, [sp];
         * mov x29, sp */
        {packed(1, 0, 2, 0, 3, 1280), 2,
         "sp+1280 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        {packed(1, 0, 2, 0, 3, 1280), 4,
         "x29+1280 .cfa-1272^ x19: .cfa-16^ x20: .cfa-8^ x29: .cfa-1280^ "
         "x30: .cfa-1272^"},
        /* stp x0, x1, [sp, -64]!, three more; sub sp, sp, 4080;
         * sub sp, sp, 464; stp x29, lr, [sp]; mov x29, sp */
        {packed(1, 0, 0, 1, 3, 4608), 1, "sp+64 x30+0"},
        {packed(1, 0, 0, 1, 3, 4608), 4, "sp+64 x30+0"},
        {packed(1, 0, 0, 1, 3, 4608), 5, "sp+4144 x30+0"},
        {packed(1, 0, 0, 1, 3, 4608), 6, "sp+4608 x30+0"},
        {packed(1, 0, 0, 1, 3, 4608), 8,
         "x29+4608 .cfa-4600^ x29: .cfa-4608^ x30: .cfa-4600^"},
        /* pacibsp; stp x29, lr, [sp, -16]!; mov x29, sp */
        {packed(1, 0, 0, 0, 2, 16), 1, "sp+0 x30+0"},
        {packed(1, 0, 0, 0, 2, 16), 2,
         "sp+16 .cfa-8^ x29: .cfa-16^ x30: .cfa-8^"},
        {packed(1, 0, 0, 0, 2, 16), 3,
         "x29+16 .cfa-8^ x29: .cfa-16^ x30: .cfa-8^"},
        /* sub sp, sp, 4080; sub sp, sp, 4096 */
        {packed(1, 0, 0, 0, 0, 8176), 2, "sp+8176 x30+0"},
        /* a part of a function, whose prolog has run */
        {packed(2, 0, 2, 0, 3, 64), 0,
         "x29+64 .cfa-56^ x19: .cfa-16^ x20: .cfa-8^ x29: .cfa-64^ "
         "x30: .cfa-56^"},
        {packed(2, 0, 2, 0, 0, 32), 0,
         "sp+32 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        /* a leaf without a frame */
        {packed(1, 0, 0, 0, 0, 0), 0, "sp+0 x30+0"},
        {packed(3, 0, 2, 0, 0, 32), 0, ""},  /* reserved */
        {packed(1, 0, 11, 0, 0, 96), 0, ""}, /* there are ten */
        {packed(1, 0, 4, 0, 0, 16), 0, ""},  /* too small for them */
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(data, cases[i].word);
        assert_rules(data, cases[i].at, cases[i].rules);
        convert(&pe_format, data, FILE_SIZE, false, &out);
        describe(&out, FUNCTION, false, text, sizeof(text));
        assert_string_equal(text, "");
        convert(&pe_format, data, FILE_SIZE, true, &out);
        assert_int_equal(out.size, 0);
    }
}

/*
 * Epilogs are the last instructions of the 16.  In the node-pty packages of
 * npm (1.1.0, arm64, made by MSVC) the epilogs of all 2,922 packed entries are
 * of these forms; llvm-objdump 14 shows their instructions.  None of them has
 * parameters.
 */
static void test_packed_epilogs(void **state)
{
    const struct {
        uint32_t word;
        unsigned at;
        const char *rules;
    } cases[] = {
        /* add sp, sp, 16; ldp x19, x20, [sp], 16; ret */
        {packed(1, 0, 2, 0, 0, 32), 14,
         "sp+16 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        {packed(1, 0, 2, 0, 0, 32), 15, "sp+0 x30+0 x19: x19+0 x20: x20+0"},
        /* ldp x29, lr, [sp], 96; ldp d8, d9, [sp, 16];
         * ldp x19, x20, [sp], 32; ret */
        {packed(1, 1, 2, 0, 3, 128), 12,
         "x29+128 .cfa-120^ x19: .cfa-32^ x20: .cfa-24^ x29: .cfa-128^ "
         "x30: .cfa-120^ d8: .cfa-16^ d9: .cfa-8^"},
        {packed(1, 1, 2, 0, 3, 128), 13,
         "sp+32 x30+0 x19: .cfa-32^ x20: .cfa-24^ x29: x29+0 x30: x30+0 "
         "d8: .cfa-16^ d9: .cfa-8^"},
        {packed(1, 1, 2, 0, 3, 128), 14,
         "sp+32 x30+0 x19: .cfa-32^ x20: .cfa-24^ x29: x29+0 x30: x30+0 "
         "d8: d8+0 d9: d9+0"},
        {packed(1, 1, 2, 0, 3, 128), 15,
         "sp+0 x30+0 x19: x19+0 x20: x20+0 x29: x29+0 x30: x30+0 d8: d8+0 "
         "d9: d9+0"},
        /* ldp x29, lr, [sp]; add sp, sp, 1264; ldp x19, x20, [sp], 16; ret */
        {packed(1, 0, 2, 0, 3, 1280), 13,
         "sp+1280 x30+0 x19: .cfa-16^ x20: .cfa-8^ x29: x29+0 x30: x30+0"},
        {packed(1, 0, 2, 0, 3, 1280), 14,
         "sp+16 x30+0 x19: .cfa-16^ x20: .cfa-8^ x29: x29+0 x30: x30+0"},
        /* ldp x29, lr, [sp], 16; autibsp; ret */
        {packed(1, 0, 0, 0, 2, 16), 13,
         "x29+16 .cfa-8^ x29: .cfa-16^ x30: .cfa-8^"},
        {packed(1, 0, 0, 0, 2, 16), 14, "sp+0 x30+0 x29: x29+0 x30: x30+0"},
        {packed(1, 0, 0, 0, 2, 16), 15, "sp+0 x30+0 x29: x29+0 x30: x30+0"},
        /* add sp, sp, 16; ldp x19, lr, [sp]; add sp, sp, 16; ret */
        {packed(1, 0, 1, 0, 1, 32), 13,
         "sp+16 .cfa-8^ x19: .cfa-16^ x30: .cfa-8^"},
        {packed(1, 0, 1, 0, 1, 32), 14, "sp+16 x30+0 x19: x19+0 x30: x30+0"},
        {packed(1, 0, 1, 0, 1, 32), 15, "sp+0 x30+0 x19: x19+0 x30: x30+0"},
        /* parameters are not read back: add sp, sp, 16;
         * ldp x19, x20, [sp], 80; ret */
        {packed(1, 0, 2, 1, 0, 96), 13,
         "sp+96 x30+0 x19: .cfa-80^ x20: .cfa-72^"},
        {packed(1, 0, 2, 1, 0, 96), 14,
         "sp+80 x30+0 x19: .cfa-80^ x20: .cfa-72^"},
        {packed(1, 0, 2, 1, 0, 96), 15, "sp+0 x30+0 x19: x19+0 x20: x20+0"},
        /* where they are all, it is not known which instructions there are */
        {packed(1, 0, 0, 1, 0, 96), 15, "sp+96 x30+0"},
        /* part of a function, which has no epilog */
        {packed(2, 0, 2, 0, 0, 32), 15,
         "sp+32 x30+0 x19: .cfa-16^ x20: .cfa-8^"},
        /* the prolog and an epilog would need 22 instructions */
        {packed(1, 7, 10, 0, 3, 176), 15,
         "x29+176 .cfa-168^ x19: .cfa-144^ x20: .cfa-136^ x21: .cfa-128^ "
         "x22: .cfa-120^ x23: .cfa-112^ x24: .cfa-104^ x25: .cfa-96^ "
         "x26: .cfa-88^ x27: .cfa-80^ x28: .cfa-72^ x29: .cfa-176^ "
         "x30: .cfa-168^ d8: .cfa-64^ d9: .cfa-56^ d10: .cfa-48^ "
         "d11: .cfa-40^ d12: .cfa-32^ d13: .cfa-24^ d14: .cfa-16^ "
         "d15: .cfa-8^"},
    };
    uint8_t data[FILE_SIZE];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(data, cases[i].word);
        assert_rules(data, cases[i].at, cases[i].rules);
    }
}

/* Codes of a function in .xdata, in the order of their bytes. */
static void test_codes(void **state)
{
    size_t i;
    uint8_t data[FILE_SIZE];
    static const struct {
        uint8_t codes[8];
        unsigned at;
        const char *rules;
    } cases[] = {
        /* str lr, [sp, -16]!: save_reg_x, end */
        {{0xD5, 0x61, 0xE4}, 1, "sp+16 .cfa-16^ x30: .cfa-16^"},
        /* stp x19, x20, [sp, -48]!; save_next, twice */
        {{0xE6, 0xE6, 0x26, 0xE4}, 3,
         "sp+48 x30+0 x19: .cfa-48^ x20: .cfa-40^ x21: .cfa-32^ "
         "x22: .cfa-24^ x23: .cfa-16^ x24: .cfa-8^"},
        /* stp x27, x28, [sp, -32]!; save_next: d8, d9 */
        {{0xE6, 0xCE, 0x03, 0xE4}, 2,
         "sp+32 x30+0 x27: .cfa-32^ x28: .cfa-24^ d8: .cfa-16^ d9: .cfa-8^"},
        /* save_next behind nothing */
        {{0xE6, 0xE4}, 1, "sp+0 x30+0"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(data, XDATA);
        put(data, PDATA_AT + XDATA - PDATA, 16 | 1u << 21 | 2u << 27, 4);
        memcpy(data + PDATA_AT + XDATA - PDATA + 4, cases[i].codes, 8);
        assert_rules(data, cases[i].at, cases[i].rules);
    }
}

/* The function's 16 instructions, and codes:
 *
 *    0  stp x19, x20, [sp, -32]!
 *    1  stp x29, lr, [sp, 16]
 *    2  add x29, sp, 16
 *   ..
 *    6  mov sp, x29 (less 16)        an epilog
 *    7  ldp x29, lr, [sp, 16]
 *    8  ldp x19, x20, [sp], 32
 *    9  ret
 *   10  the function goes on
 *   ..
 *   13  ldp x29, lr, [sp, 16]        another one, with codes of its own
 *   14  ldp x19, x20, [sp], 32
 *   15  ret
 */
static void test_epilogs(void **state)
{
    static const char body[] = "x29+16 .cfa-8^ x19: .cfa-32^ x20: .cfa-24^ "
                               "x29: .cfa-16^ x30: .cfa-8^";
    static const char no_frame[] = "sp+32 .cfa-8^ x19: .cfa-32^ "
                                   "x20: .cfa-24^ x29: .cfa-16^ x30: .cfa-8^";
    static const char no_lr[] = "sp+32 x30+0 x19: .cfa-32^ x20: .cfa-24^ "
                                "x29: x29+0 x30: x30+0";
    static const char nothing[] = "sp+0 x30+0 x19: x19+0 x20: x20+0 "
                                  "x29: x29+0 x30: x30+0";
    /* set_fp with an offset, save_fplr, save_r19r20_x, end */
    static const uint8_t codes[8] = {0xE2, 0x02, 0x42, 0x24, 0xE4};
    static const struct {
        unsigned at;
        const char *rules;
    } cases[] = {{0, "sp+0 x30+0"},
                 {1, "sp+32 x30+0 x19: .cfa-32^ x20: .cfa-24^"},
                 {2, no_frame},
                 {3, body},
                 {6, body},
                 {7, no_frame},
                 {8, no_lr},
                 {9, nothing},
                 {10, body},
                 {13, body},
                 {14, no_lr},
                 {15, nothing}};
    uint8_t data[FILE_SIZE];
    size_t i, at = PDATA_AT + XDATA - PDATA;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(data, XDATA);
        put(data, at, 16 | 2u << 22 | 2u << 27, 4);
        put(data, at + 4, 6, 4);
        put(data, at + 8, 13 | 2u << 22, 4);
        memcpy(data + at + 12, codes, 8);
        assert_rules(data, cases[i].at, cases[i].rules);
    }
    /* the second alone, at the end of the function */
    make(data, XDATA);
    put(data, at, 16 | 1u << 21 | 2u << 22 | 2u << 27, 4);
    memcpy(data + at + 4, codes, 8);
    assert_rules(data, 7, body);
    assert_rules(data, 14, no_lr);
    assert_rules(data, 15, nothing);
    /* epilogs that are not sorted, lie behind the function or have no codes */
    make(data, XDATA);
    put(data, at, 16 | 3u << 22 | 2u << 27, 4);
    put(data, at + 4, 13 | 2u << 22, 4);
    put(data, at + 8, 6, 4);
    put(data, at + 12, 100 | 900u << 22, 4);
    memcpy(data + at + 16, codes, 8);
    assert_rules(data, 7, body);
    assert_rules(data, 14, no_lr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_packed_epilogs),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_epilogs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
