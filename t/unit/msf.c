/*
 * Copyright (C) the ngx_symcache authors
 *
 * The MSF container: a hand-made file, and every way in which it can be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/pdb/msf.h"

#define BS 512
#define BLOCKS 12

static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
                            "DS\0\0";

static uint8_t image[BS * BLOCKS];

static void put(size_t at, uint32_t value)
{
    image[at] = (uint8_t)value;
    image[at + 1] = (uint8_t)(value >> 8);
    image[at + 2] = (uint8_t)(value >> 16);
    image[at + 3] = (uint8_t)(value >> 24);
}

/*
 * Stream 1: 10 bytes in block 5.  Stream 2: nil.  Stream 3: 1200 bytes in
 * blocks 7, 8 and 6, so that 1024 bytes lie in one piece.  Directory in block
 * 4, its map in block 3.
 */
static void make(void)
{
    size_t i;

    memset(image, 0, sizeof(image));
    memcpy(image, magic, 32);
    put(32, BS);
    put(36, 1);
    put(40, BLOCKS);
    put(44, 4 + 4 * 4 + 4 * 4);
    put(52, 3);
    put(3 * BS, 4);
    put(4 * BS, 4);
    put(4 * BS + 4, 0);
    put(4 * BS + 8, 10);
    put(4 * BS + 12, 0xFFFFFFFF);
    put(4 * BS + 16, 1200);
    put(4 * BS + 20, 5);
    put(4 * BS + 24, 7);
    put(4 * BS + 28, 8);
    put(4 * BS + 32, 6);
    memcpy(image + 5 * BS, "0123456789", 10);
    for (i = 0; i < 1200; i++) {
        image[(i < 1024 ? 7 * BS + i : 6 * BS + i - 1024)] =
            (uint8_t)(i % 251);
    }
}

static enum msf_status open_image(struct msf *msf, size_t size)
{
    char error[200];

    return msf_open(msf, image, size, error, sizeof(error));
}

static void test_streams(void **state)
{
    uint32_t i, len;
    const uint8_t *p;
    struct msf msf;
    struct msf_buffer buffer = {NULL, 0};

    (void)state;
    make();
    assert_int_equal(open_image(&msf, sizeof(image)), MSF_OK);
    assert_int_equal(msf_stream_size(&msf, 1), 10);
    assert_int_equal(msf_stream_size(&msf, 2), 0);
    assert_int_equal(msf_stream_size(&msf, 4), 0);
    assert_true(msf_stream_exists(&msf, 0));
    assert_false(msf_stream_exists(&msf, 2));
    assert_false(msf_stream_exists(&msf, 4));
    p = msf_view(&msf, 1, 3, 4, &buffer);
    assert_ptr_equal(p, image + 5 * BS + 3);
    assert_null(msf_view(&msf, 1, 3, 8, &buffer));
    p = msf_run(&msf, 3, 100, 2000, &len);
    assert_ptr_equal(p, image + 7 * BS + 100);
    assert_int_equal(len, 924);
    assert_ptr_equal(msf_run(&msf, 3, 100, 1, &len), p);
    assert_int_equal(len, 412);
    assert_null(msf_run(&msf, 3, 1200, 1, &len));
    p = msf_view(&msf, 3, 0, 1200, &buffer);
    assert_ptr_equal(p, buffer.data);
    for (i = 0; i < 1200; i++) {
        assert_int_equal(p[i], i % 251);
    }
    msf_buffer_free(&buffer);
    msf_close(&msf);
}

static void test_block_outside(void **state)
{
    struct msf msf;
    struct msf_buffer buffer = {NULL, 0};

    (void)state;
    make();
    put(4 * BS + 20, BLOCKS);
    assert_int_equal(open_image(&msf, sizeof(image)), MSF_OK);
    assert_null(msf_view(&msf, 1, 0, 10, &buffer));
    assert_non_null(msf_view(&msf, 3, 0, 1200, &buffer));
    msf_buffer_free(&buffer);
    msf_close(&msf);
}

/* offset, value, and what the file then is */
static void test_damage(void **state)
{
    size_t i;
    struct msf msf;
    static const struct {
        size_t at;
        uint32_t value;
    } cases[] = {
        {32, 0},
        {32, 3000},
        {32, 256},
        {32, 131072},
        {40, 0},
        {44, 0},
        {44, 0xFFFFFFFF},
        {44, 20},
        {52, 0},
        {52, BLOCKS},
        {3 * BS, 0},
        {3 * BS, BLOCKS},
        {4 * BS, 0xFFFFFFFF},
        {4 * BS, 9},
        {4 * BS + 8, 600},
        {4 * BS + 8, 0xFFFFFFFE},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make();
        put(cases[i].at, cases[i].value);
        assert_int_equal(open_image(&msf, sizeof(image)), MSF_DAMAGED);
    }
}

/* One block, listed again and again, must not become a huge stream. */
static void test_amplification(void **state)
{
    size_t i;
    struct msf msf;

    (void)state;
    make();
    put(44, 4 + 4 * 2 + 4 * 20);
    put(4 * BS, 2);
    put(4 * BS + 4, 0);
    put(4 * BS + 8, 20 * BS);
    for (i = 0; i < 20; i++) {
        put(4 * BS + 12 + 4 * i, 5);
    }
    assert_int_equal(open_image(&msf, sizeof(image)), MSF_DAMAGED);
}

static void test_truncation(void **state)
{
    size_t size;
    struct msf msf;

    (void)state;
    make();
    for (size = 1; size < sizeof(image); size += 37) {
        assert_int_equal(open_image(&msf, size), MSF_TRUNCATED);
    }
    /* also in the last block, of which nothing is used */
    assert_int_equal(open_image(&msf, sizeof(image) - 1), MSF_TRUNCATED);
    assert_int_equal(open_image(&msf, sizeof(image)), MSF_OK);
    msf_close(&msf);
    assert_int_equal(open_image(&msf, 0), MSF_NOT_PDB);
    make();
    put(40, BLOCKS + 1);
    assert_int_equal(open_image(&msf, sizeof(image)), MSF_TRUNCATED);
}

static void test_other_files(void **state)
{
    size_t i;
    char error[200], text[128];
    struct msf msf;
    static const struct {
        const char *begin;
        size_t size;
        enum msf_status status;
        const char *says;
    } cases[] = {
        {"BSJB\1\0\1\0", 8, MSF_PORTABLE, "portable PDB"},
        {"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0", 44, MSF_PDB2,
         "PDB 2.0"},
        {"Microsoft MSFZ Container\r\n\x1a"
         "ALD\0\0",
         32, MSF_MSFZ, "MSFZ"},
        {"MZ\x90", 3, MSF_NOT_PDB, "PE image"},
        {"\x7f"
         "ELF",
         4, MSF_NOT_PDB, "ELF"},
        {"<!DOCTYPE html>", 15, MSF_NOT_PDB, "HTML"},
        {"404 page not found\n", 19, MSF_NOT_PDB, "text"},
        {"MSCF\0\0\0\0", 8, MSF_NOT_PDB, "cabinet"},
        {"\x1f\x8b\x08", 3, MSF_NOT_PDB, "gzip"},
        {"\x28\xb5\x2f\xfd", 4, MSF_NOT_PDB, "zstd"},
        {"\1\2\3\4", 4, MSF_NOT_PDB, "unknown"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(text, 0, sizeof(text));
        memcpy(text, cases[i].begin, cases[i].size);
        assert_int_equal(msf_open(&msf, (uint8_t *)text, cases[i].size, error,
                                  sizeof(error)),
                         cases[i].status);
        assert_non_null(strstr(error, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_block_outside),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_amplification),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_other_files),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
