/*
 * Copyright (C) the ngx_symcache authors
 *
 * Identities in Mach-O files, as llvm-dwarfdump --uuid and llvm-objdump --macho
 * --universal-headers print them, and what is said of files that are damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/macho/macho.h"

#define FILE_MAX 65536
#define FIRST 4096 /* the slices */
#define FIRST_SIZE 9088
#define SECOND 16384
#define X86_64 \
    "\x4C\x4C\x44\x29\x55\x55\x31\x44\xA1\xEB\x1F\x03\xCB\x7B\x55\x73"
#define ARM64 \
    "\x4C\x4C\x44\x89\x55\x55\x31\x44\xA1\x80\x69\xA3\x4E\x2A\xD5\xE1"

static uint8_t original[FILE_MAX], file[FILE_MAX];
static size_t file_size;

static int load(void **state)
{
    FILE *f = fopen("t/data/convert/macho/fat.dwarf", "rb");

    (void)state;
    assert_non_null(f);
    file_size = fread(original, 1, FILE_MAX, f);
    fclose(f);
    return 0;
}

static int reset(void **state)
{
    (void)state;
    memcpy(file, original, FILE_MAX);
    return 0;
}

/* In a buffer of its own, for the sanitizers. */
static int read_copy(const uint8_t *data, size_t size,
                     struct macho_identity *identity, char error[200])
{
    int rc;
    uint8_t *copy = malloc(size + 1);

    assert_non_null(copy);
    memcpy(copy + 1, data, size);
    rc = macho_identity_read(copy + 1, size, identity, error, 200);
    assert_true(rc != 0 || macho_sniff(copy + 1, size));
    free(copy);
    return rc;
}

static void is_refused(const uint8_t *data, size_t size, const char *reason)
{
    char error[200];
    struct macho_identity identity;

    assert_int_equal(read_copy(data, size, &identity, error), -1);
    if (strstr(error, reason) == NULL) {
        fail_msg("%s: not %s", error, reason);
    }
}

static void is_slice(const struct macho_slice *slice, const char *uuid,
                     uint32_t arch)
{
    assert_true(slice->is_sound);
    assert_true(slice->has_uuid);
    assert_memory_equal(slice->uuid, uuid, 16);
    assert_int_equal(slice->arch, arch);
    assert_int_equal(slice->file_type, 10);
    assert_true(slice->is_dsym);
}

static void test_fat(void **state)
{
    char error[200];
    struct macho_identity identity;

    (void)state;
    assert_int_equal(read_copy(file, file_size, &identity, error), 0);
    assert_true(identity.is_fat);
    assert_int_equal(identity.num_slices, 2);
    is_slice(&identity.slices[0], X86_64, 201);
    is_slice(&identity.slices[1], ARM64, 401);
    assert_int_equal(identity.slices[0].offset, FIRST);
    assert_int_equal(identity.slices[0].size, FIRST_SIZE);
    assert_int_equal(identity.slices[1].offset, SECOND);
    assert_int_equal(identity.slices[1].size, file_size - SECOND);
}

/* Go's linker names sections that it has compressed so. */
static void test_compressed(void **state)
{
    char error[200];
    struct macho_identity identity;
    uint8_t *at = memmem(file, SECOND, "__debug_info\0", 13);

    (void)state;
    assert_non_null(at);
    memcpy(at, "__zdebug_info", 13);
    assert_int_equal(read_copy(file, file_size, &identity, error), 0);
    assert_true(identity.slices[0].has_debug_info);
}

static void test_thin(void **state)
{
    char error[200];
    struct macho_identity identity;

    (void)state;
    assert_int_equal(
        read_copy(file + SECOND, file_size - SECOND, &identity, error), 0);
    assert_false(identity.is_fat);
    assert_int_equal(identity.num_slices, 1);
    is_slice(&identity.slices[0], ARM64, 401);
    file[SECOND + 12] = 6; /* MH_DYLIB */
    assert_int_equal(
        read_copy(file + SECOND, file_size - SECOND, &identity, error), 0);
    assert_false(identity.slices[0].is_dsym);
    assert_int_equal(identity.slices[0].file_type, 6);
    file[SECOND + 32] = 0x26; /* the first command, LC_UUID */
    assert_int_equal(
        read_copy(file + SECOND, file_size - SECOND, &identity, error), 0);
    assert_false(identity.slices[0].has_uuid);
}

/* A 32-bit image of each byte order, by hand. */
static void test_orders(void **state)
{
    char error[200];
    struct macho_identity identity;
    uint8_t big[] = "\xFE\xED\xFA\xCE" "\0\0\0\x12" "\0\0\0\0" "\0\0\0\1"
                    "\0\0\0\1" "\0\0\0\x18" "\0\0\0\0" "\0\0\0\x1B"
                    "\0\0\0\x18" "0123456789abcdef";
    uint8_t little[] = "\xCE\xFA\xED\xFE" "\x0C\0\0\0" "\x0B\0\0\x80"
                       "\2\0\0\0" "\1\0\0\0" "\x18\0\0\0" "\0\0\0\0"
                       "\x1B\0\0\0" "\x18\0\0\0" "0123456789abcdef";

    (void)state;
    assert_int_equal(read_copy(big, sizeof(big) - 1, &identity, error), 0);
    assert_memory_equal(identity.slices[0].uuid, "0123456789abcdef", 16);
    assert_int_equal(identity.slices[0].arch, 501);
    assert_int_equal(read_copy(little, sizeof(little) - 1, &identity, error),
                     0);
    assert_memory_equal(identity.slices[0].uuid, "0123456789abcdef", 16);
    assert_int_equal(identity.slices[0].arch, 307); /* armv7s */
    is_refused(little, sizeof(little) - 2, "load commands are cut off");
    little[16] = 4; /* commands, more than their bytes hold */
    is_refused(little, sizeof(little) - 1, "load commands are cut off");
}

static void test_damaged(void **state)
{
    char error[200];
    struct macho_identity identity;

    (void)state;
    is_refused((const uint8_t *)"#!/bin/sh and so on, for 28 bytes", 33,
               "not a Mach-O");
    is_refused(file, 27, "fat header is cut off");
    file[FIRST + 16] = 0xFF; /* commands of the first slice */
    assert_int_equal(read_copy(file, file_size, &identity, error), 0);
    assert_false(identity.slices[0].is_sound);
    assert_int_equal(identity.slices[0].arch, 201);
    is_slice(&identity.slices[1], ARM64, 401);
    file[8 + 8] = 0xFF; /* and it lies outside of the file */
    assert_int_equal(read_copy(file, file_size, &identity, error), 0);
    assert_int_equal(identity.slices[0].offset, file_size);
    assert_int_equal(identity.slices[0].size, 0);
    file[7] = 0;
    is_refused(file, file_size, "without a slice");
    file[7] = 45; /* a Java class */
    assert_false(macho_sniff(file, file_size));
    is_refused(file, file_size, "not a Mach-O");
}

/* Wherever the file ends, what is told of a slice is right. */
static void test_cut(void **state)
{
    size_t n;
    char error[200];
    struct macho_identity identity;

    (void)state;
    for (n = 0; n < file_size; n += n < 64 ? 1 : 97) {
        if (read_copy(file, n, &identity, error) == 0 &&
            identity.slices[0].has_uuid) {
            assert_memory_equal(identity.slices[0].uuid, X86_64, 16);
        }
    }
}

/* The sizes of load commands are their own, so they may overlap, and each may
 * claim all that follows.  Nothing of this is read again and again. */
#define MANY (8 * 1024 * 1024)
#define LC_SEGMENT_64 0x19
#define LC_LOAD_DYLIB 0xC

static void put(uint8_t *p, uint32_t value)
{
    memcpy(p, &value, sizeof(value)); /* both of the file's byte order */
}

/* The half behind the commands is a name without an end. */
static uint8_t *many_commands(uint32_t type, uint32_t size)
{
    uint32_t n = (MANY / 2 - 32) / size, i;
    uint8_t *data = calloc(1, MANY), *p;

    assert_non_null(data);
    put(data, 0xFEEDFACF);
    put(data + 4, 0x0100000C);
    put(data + 12, 6);
    put(data + 16, n);
    put(data + 20, n * size);
    memset(data + MANY / 2, 'x', MANY / 2);
    for (i = 0; i < n; i++) {
        p = data + 32 + (size_t)i * size;
        put(p, type);
        put(p + 4, size);
        if (type == LC_SEGMENT_64) {
            put(p + 64, MANY / 2 / 80); /* sections */
        } else {
            put(p + 8, (uint32_t)(data + MANY / 2 - p));
        }
    }
    return data;
}

static void test_work(void **state)
{
    static const uint32_t commands[][2] = {{LC_SEGMENT_64, 72},
                                           {LC_LOAD_DYLIB, 24}};
    char error[200];
    struct macho_identity identity;
    struct debuginfo_result result = {0};
    struct failure failure = {0};
    uint8_t *data;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        data = many_commands(commands[i][0], commands[i][1]);
        assert_int_equal(read_copy(data, MANY, &identity, error), 0);
        assert_true(identity.slices[0].is_sound);
        assert_false(identity.slices[0].has_debug_info);
        assert_int_equal(
            macho_format.makes->convert(data, MANY, NULL, &result, &failure),
            -1);
        assert_int_equal(failure.code, FAILURE_LIMIT);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fat, reset),
        cmocka_unit_test_setup(test_compressed, reset),
        cmocka_unit_test_setup(test_thin, reset),
        cmocka_unit_test_setup(test_orders, reset),
        cmocka_unit_test_setup(test_damaged, reset),
        cmocka_unit_test_setup(test_cut, reset),
        cmocka_unit_test(test_work),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, load, NULL);
}
