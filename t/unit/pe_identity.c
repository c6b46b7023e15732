/*
 * Copyright (C) the ngx_symcache authors
 *
 * The identity in an image, as llvm-readobj --coff-debug-directory prints it,
 * and what is said of images that have none, or are damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/pe/pe.h"

/* of basic32.dll */
#define FILE_MAX (1 << 20)
#define GUID "\x34\x06\x0D\x22\x2D\xBB\x44\xE5\xAA\x72\x24\x3C\xE8\x32\x6C\x2F"
#define RECORD 0x618F4 /* in the file */
#define RECORD_SIZE 0x49
#define NAME_AT (RECORD + 24)

struct image {
    uint8_t data[FILE_MAX];
    size_t size;
    size_t entry; /* of the debug directory: the first */
};

static struct image original, image;

static int load(void **state)
{
    static const uint8_t tail[] = {0x49, 0, 0,    0,    0xF4, 0x2A,
                                   6,    0, 0xF4, 0x18, 6,    0};
    const uint8_t *found;
    FILE *f = fopen("t/data/pdb/basic32.dll", "rb");

    (void)state;
    assert_non_null(f);
    original.size = fread(original.data, 1, FILE_MAX, f);
    fclose(f);
    found = memmem(original.data, original.size, tail, sizeof(tail));
    assert_non_null(found);
    original.entry = (size_t)(found - original.data) - 16;
    return 0;
}

static int reset(void **state)
{
    (void)state;
    image = original;
    return 0;
}

static void put32(size_t at, uint32_t value)
{
    memcpy(image.data + at, &value, sizeof(value)); /* hosts are such */
}

static uint32_t get32(size_t at)
{
    uint32_t value;

    memcpy(&value, image.data + at, sizeof(value));
    return value;
}

/* In a buffer of its own, for the sanitizers. */
static int read_copy(size_t size, struct pe_identity *id, char name[256],
                     char error[200])
{
    uint8_t *copy = malloc(size + 1);
    int rc;

    assert_non_null(copy);
    memcpy(copy + 1, image.data, size);
    rc = pe_identity_read(copy + 1, size, id, error, 200);
    if (rc == 0) {
        snprintf(name, 256, "%.*s", (int)id->name_size, id->name);
    }
    free(copy);
    return rc;
}

static void is_found(const char *expected)
{
    struct pe_identity id;
    char error[200], name[256];

    assert_int_equal(read_copy(image.size, &id, name, error), 0);
    assert_memory_equal(id.guid, GUID, 16);
    assert_int_equal(id.age, 2);
    assert_string_equal(name, expected);
}

static void is_refused(const char *reason)
{
    struct pe_identity id;
    char error[200], name[256];

    assert_int_equal(read_copy(image.size, &id, name, error), -1);
    if (strstr(error, reason) == NULL) {
        fail_msg("%s: not %s", error, reason);
    }
}

static void test_fixture(void **state)
{
    (void)state;
    is_found("basic32.pdb");
    put32(original.entry + 24, 0); /* only the address is told */
    is_found("basic32.pdb");
}

static void test_names(void **state)
{
    (void)state;
    memcpy(image.data + NAME_AT, "a/b c.pdb", 10);
    is_found("b c.pdb");
    memcpy(image.data + NAME_AT, "/x\\y.pdb", 9);
    is_found("y.pdb");
    memcpy(image.data + NAME_AT, "plain", 6);
    is_found("plain");
    memcpy(image.data + NAME_AT, "folder\\", 8);
    is_refused("no PDB name");
    image.data[NAME_AT] = '\0';
    is_refused("no PDB name");
    memset(image.data + NAME_AT, 'x', RECORD_SIZE - 24);
    is_refused("no PDB name");
}

static void test_none(void **state)
{
    size_t header = get32(0x3C);

    (void)state;
    memcpy(image.data + RECORD, "NB10", 4);
    is_refused("PDB 2.0");
    memcpy(image.data + RECORD, "RSDX", 4);
    is_refused("no CodeView record where");
    put32(image.entry + 8, 0x504D0000);
    is_refused("portable");
    reset(NULL);
    put32(image.entry + 12, 4);
    is_refused("built without");
    reset(NULL);
    put32(header + 24 + 92, 6); /* so few directories */
    is_refused("no debug directory");
    reset(NULL);
    put32(header + 24 + 96 + 48, 0);
    is_refused("no debug directory");
    put32(header, 0x454E); /* NE */
    is_refused("DOS");
    image.data[0] = 'Z';
    is_refused("not a PE image");
}

static void test_damaged(void **state)
{
    size_t header = get32(0x3C);

    (void)state;
    put32(image.entry + 24, 0xFFFFFFFF);
    is_refused("no CodeView record where");
    put32(image.entry + 24, (uint32_t)image.size - 10);
    is_refused("no CodeView record where");
    reset(NULL);
    put32(image.entry + 16, 0xFFFFFFFF);
    is_refused("no CodeView record where");
    reset(NULL);
    put32(header + 24 + 96 + 48, 0xFFFFFFF0);
    is_refused("debug directory is not in the file");
    reset(NULL);
    put32(header + 24 + 96 + 52, 0xFFFFFFFF); /* not looked at to the end */
    is_found("basic32.pdb");
    reset(NULL);
    put32(header + 6, 0xFFFF); /* sections */
    is_refused("headers are cut off");
    reset(NULL);
    put32(0x3C, 0xFFFFFFFF);
    is_refused("DOS");
    reset(NULL);
    image.data[header + 25] = 3; /* magic 0x030B */
    is_refused("no optional header of PE32");
}

/* As llvm-readobj --file-headers prints them. */
static void test_code(void **state)
{
    struct pe_code code;
    char error[200];
    size_t header = get32(0x3C), optional = header + 24, i;

    (void)state;
    assert_int_equal(
        pe_code_read(image.data, image.size, &code, error, sizeof(error)), 0);
    assert_int_equal(code.time_stamp, 0x5DDC1E9A);
    assert_int_equal(code.image_size, 442368);
    assert_int_equal(code.arch, 101);
    assert_false(code.is_companion);
    assert_true(code.debug_id.is_known);
    assert_memory_equal(code.debug_id.guid, GUID, 16);
    assert_int_equal(code.debug_id.age, 2);

    /* one of .NET, whose id has the stamp of the entry for an age */
    put32(image.entry + 4, 0x89ABCDEF);
    put32(image.entry + 8, 0x504D0100);
    assert_int_equal(
        pe_code_read(image.data, image.size, &code, error, sizeof(error)), 0);
    assert_true(code.debug_id.is_known);
    assert_int_equal(code.debug_id.age, 0x89ABCDEF);

    put32(optional + 96 + 48, 0); /* no debug directory */
    for (i = 0; i < image.data[header + 6]; i++) {
        put32(optional + image.data[header + 20] + 40 * i + 20, 0);
    }
    assert_int_equal(
        pe_code_read(image.data, image.size, &code, error, sizeof(error)), 0);
    assert_true(code.is_companion);
    assert_false(code.debug_id.is_known);
    assert_int_equal(code.debug_id.age, 0);
    assert_int_equal(pe_code_read(image.data, 100, &code, error, 200), -1);
    assert_non_null(strstr(error, "not a PE image"));
}

/* Go's linker names sections that it has compressed so. */
static void test_compressed(void **state)
{
    static const char strings[] = "\x11\0\0\0.zdebug_info";
    char error[200];
    struct pe_code code;
    size_t header = image.data[0x3C] | (size_t)image.data[0x3D] << 8;

    (void)state;
    assert_int_equal(pe_code_read(image.data, image.size, &code, error, 200),
                     0);
    assert_false(code.has_debug_info);
    put32(header + 12, (uint32_t)image.size);
    put32(header + 16, 0);
    memcpy(image.data + image.size, strings, sizeof(strings));
    image.size += sizeof(strings);
    memcpy(image.data + header + 24 + image.data[header + 20], "/4\0\0\0\0\0",
           8);
    assert_int_equal(pe_code_read(image.data, image.size, &code, error, 200),
                     0);
    assert_true(code.has_debug_info);
}

/* Wherever the file ends, there is no identity, or the right one. */
static void test_cut(void **state)
{
    size_t n;
    char error[200], name[256];
    struct pe_identity id;

    (void)state;
    for (n = 0; n < image.size; n += n < 2048 ? 1 : 997) {
        if (read_copy(n, &id, name, error) == 0) {
            assert_true(n >= RECORD + RECORD_SIZE);
            assert_memory_equal(id.guid, GUID, 16);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fixture, reset),
        cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_none, reset),
        cmocka_unit_test_setup(test_damaged, reset),
        cmocka_unit_test_setup(test_code, reset),
        cmocka_unit_test_setup(test_compressed, reset),
        cmocka_unit_test_setup(test_cut, reset),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, load, NULL);
}
