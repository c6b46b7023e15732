/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expressions of DWARF's frames as programs of CfiCaches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/le.h"
#include "debuginfo/dwarf/frame_expression.h"
#include "derived/cficache/compile.h"

#define AMD64 200 /* as in a SymCache */

/* Writes the operations of a program: numbers, R for a register, C for the CFA,
 * ^ for what is read, and what takes two values. */
static void describe(const struct cficache_code *code, char *text, size_t size)
{
    static const char words[] = "nRC?=^+-*/%@&|x<>";
    size_t at, used = 0;

    text[0] = '\0';
    for (at = 0; at < code->size && !code->fails; at++) {
        if (code->data[at] == CFICACHE_NUMBER) {
            used += (size_t)snprintf(text + used, size - used, "%lld ",
                                     (long long)le64(code->data + at + 1));
            at += 8;
        } else {
            used += (size_t)snprintf(text + used, size - used, "%c ",
                                     words[code->data[at]]);
            at += code->data[at] == CFICACHE_NAME;
        }
    }
    if (code->fails ||
        cficache_program_check(CFICACHE_PROGRAM_VALUE, code->data, code->size,
                               1) != NULL) {
        snprintf(text, size, "fails ");
    }
}

static void compiles_test(void **state)
{
    static const struct {
        const char *expression;
        size_t size;
        bool has_cfa;
        const char *program;
    } cases[] = {
        {"\x77\x08\x06", 3, false, "R 8 + ^ "},
        {"\x23\x08", 2, true, "C 8 + "},
        {"\x23\x08", 2, false, "fails "},
        /* dup, over, pick */
        {"\x77\x08\x12\x06\x22", 5, false, "R 8 + R 8 + ^ + "},
        {"\x77\x00\x33\x14\x1e\x22", 6, false, "R 3 R * + "},
        {"\x77\x00\x33\x34\x15\x02\x22\x22\x22", 9, false, "R 3 4 R + + + "},
        {"\x12\x06\x22", 3, true, "C C ^ + "},
        /* swap, rot */
        {"\x77\x08\x33\x16\x1c", 5, false, "3 R 8 + - "},
        {"\x31\x32\x33\x17\x1c\x22", 6, false, "3 1 2 - + "},
        {"\x33\x16\x1c", 3, true, "3 C - "},
        {"\x33\x16\x1c", 3, false, "fails "},
        /* drop, as glibc's vector functions have it */
        {"\x13\x77\x08", 3, true, "R 8 + "},
        {"\x77\x08\x33\x13", 4, false, "R 8 + "},
        {"\x13", 1, true, "fails "},
        /* mod, neg, not */
        {"\x77\x00\x40\x1d", 4, false, "R 16 % "},
        {"\x77\x00\x1f", 3, false, "0 R - "},
        {"\x77\x00\x20", 3, false, "R -1 x "},
        /* jumps are not known */
        {"\x77\x00\x12\x28\x00\x00", 6, false, "fails "},
        {"\x77\x00\x15\x05", 4, false, "fails "},
    };
    struct failure failure = {0};
    struct cfi *cfi = calloc(1, sizeof(*cfi));
    struct frame_registers registers;
    struct cficache_code code = {0};
    char text[200];
    size_t i;

    assert_non_null(cfi);
    cfi->failure = &failure;
    frame_registers_init(&registers, AMD64, cfi);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t *p = (const uint8_t *)cases[i].expression;
        const struct cursor c = {p, p + cases[i].size, false, false};

        assert_int_equal(frame_expression_compile(&registers, &c,
                                                  cases[i].has_cfa, &code),
                         0);
        describe(&code, text, sizeof(text));
        assert_string_equal(text, cases[i].program);
    }
    free(code.data);
    free(cfi);
}

/* Copies of copies end, and fail. */
static void copies_test(void **state)
{
    uint8_t expression[402] = {0x77, 8};
    const struct cursor c = {expression, expression + sizeof(expression), false,
                             false};
    struct failure failure = {0};
    struct cfi *cfi = calloc(1, sizeof(*cfi));
    struct frame_registers registers;
    struct cficache_code code = {0};
    size_t i;

    assert_non_null(cfi);
    cfi->failure = &failure;
    frame_registers_init(&registers, AMD64, cfi);
    for (i = 2; i < sizeof(expression); i += 2) {
        expression[i] = 0x12;     /* dup */
        expression[i + 1] = 0x22; /* plus */
    }
    assert_int_equal(frame_expression_compile(&registers, &c, false, &code), 0);
    assert_true(code.fails);
    assert_true(code.size < 4096);
    free(code.data);
    free(cfi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(compiles_test),
                                       cmocka_unit_test(copies_test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
