/*
 * Copyright (C) the ngx_symcache authors
 *
 * CodeCaches, and the disassembly of 32-bit ARM, whose code is of two kinds.
 * Encodings are those of the Arm Architecture Reference Manual.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "derived/derived.h"
#include "disassembly/disassembly.h"

struct file {
    uint8_t data[512];
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    assert_true(size <= sizeof(file->data) - file->size);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

static const uint8_t first[] = {
    0x00, 0x00, 0xa0, 0xe3, /* mov r0, #0 */
    0x1e, 0xff, 0x2f, 0xe1, /* bx lr */
    0x80, 0xb5,             /* push {r7, lr} */
    0x80, 0xbd,             /* pop {r7, pc} */
    0x01, 0x02, 0x03, 0x04  /* data */
};
static const uint8_t second[] = {0x00, 0x20}; /* movs r0, #0 */

static void make(struct file *file, bool has_marks)
{
    static const struct codecache_part parts[] = {
        {0x1000, sizeof(first), first}, {0x2000, sizeof(second), second}};
    static const struct codecache_mark marks[] = {{0x1000, CODECACHE_ARM},
                                                  {0x1008, CODECACHE_THUMB},
                                                  {0x100c, CODECACHE_DATA},
                                                  {0x2000, CODECACHE_THUMB}};
    const struct codecache_content content = {.guid = "guidguidguidgui",
                                              .age = 1,
                                              .arch = SYMC_ARCH_ARM,
                                              .parts = parts,
                                              .num_parts = 2,
                                              .marks = marks,
                                              .num_marks = has_marks ? 4 : 0};
    const struct symc_sink sink = {append, file};

    file->size = 0;
    assert_int_equal(codecache_write(&content, &sink), SYMC_OK);
}

static void open_file(const struct file *file, struct codecache_reader *reader)
{
    char error[200] = "";

    assert_int_equal(codecache_reader_open(reader, file->data, file->size,
                                           error, sizeof(error)),
                     SYMC_OPENED);
    assert_string_equal(error, "");
}

static void lookups(void **state)
{
    struct file file;
    struct codecache_reader r;
    uint32_t size, end;

    make(&file, true);
    open_file(&file, &r);
    assert_null(codecache_reader_at(&r, 0xfff, &size));
    assert_int_equal(*codecache_reader_at(&r, 0x1008, &size), 0x80);
    assert_int_equal(size, 8);
    assert_null(codecache_reader_at(&r, 0x1010, &size));
    assert_int_equal(*codecache_reader_at(&r, 0x2001, &size), 0x20);
    assert_int_equal(size, 1);
    assert_null(codecache_reader_at(&r, UINT32_MAX, &size));
    assert_int_equal(codecache_reader_mode(&r, 0, &end), CODECACHE_MODES);
    assert_int_equal(end, 0x1000);
    assert_int_equal(codecache_reader_mode(&r, 0x1007, &end), CODECACHE_ARM);
    assert_int_equal(end, 0x1008);
    assert_int_equal(codecache_reader_mode(&r, 0x3000, &end), CODECACHE_THUMB);
    assert_int_equal(end, UINT32_MAX);
}

/* Checks a file for a debug id with this GUID, or for a key without one. */
static enum symc_verify_status check(const void *data, size_t size,
                                     const char *guid, char *error,
                                     size_t error_size)
{
    symcache_key_t key = {.kind = SYMCACHE_KIND_CODECACHE,
                          .id_type = guid != NULL ? SYMCACHE_ID_DEBUG
                                                  : SYMCACHE_ID_PE};

    if (guid != NULL) {
        memcpy(key.guid, guid, sizeof(key.guid));
    }
    return derived_check(data, size, &key, false, error, error_size);
}

/* Every byte of header and lists, changed, is found or changes nothing that a
 * reader could trip over. */
static void damage(void **state)
{
    struct file file, other;
    struct codecache_reader r;
    char error[200];
    size_t i, found = 0;
    uint32_t size;

    make(&file, true);
    assert_int_equal(
        check(file.data, file.size, "guidguidguidgui", error, sizeof(error)),
        SYMC_SOUND);
    assert_int_equal(check(file.data, file.size, NULL, error, sizeof(error)),
                     SYMC_SOUND);
    assert_int_equal(
        check(file.data, file.size, "another of these", error, sizeof(error)),
        SYMC_VIOLATED);
    for (i = 0; i < file.size; i++) {
        assert_int_equal(check(file.data, i, NULL, error, sizeof(error)),
                         SYMC_VIOLATED);
        other = file;
        other.data[i] ^= 0xff;
        if (check(other.data, other.size, NULL, error, sizeof(error)) !=
            SYMC_SOUND) {
            found++;
        }
        if (codecache_reader_open(&r, other.data, other.size, error,
                                  sizeof(error)) == SYMC_OPENED) {
            (void)codecache_reader_at(&r, 0x1004, &size);
            (void)codecache_reader_mode(&r, 0x1004, &size);
        }
    }
    assert_true(found >= 8 + 4 * 4 + 2 * CODECACHE_PART_SIZE);
}

static void say(const struct codecache_reader *r, uint32_t start,
                uint32_t size, const char *expected)
{
    struct disassembly d = {
        .code = r,
        .order = {.start = start, .size = size, .most = 100, .answer = 4096}};
    struct json_writer w = {0};
    char error[DISASSEMBLY_ERROR] = "";
    char *end;

    assert_true(disassemble(&d, &w, error));
    json_write_raw(&w, "", 1);
    end = strstr(w.data, ",\"startAddress\"");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(w.data + sizeof("{\"instructions\":") - 1, expected);
    free(w.data);
}

static void kinds_of_code(void **state)
{
    struct file file;
    struct codecache_reader r;

    make(&file, true);
    open_file(&file, &r);
    say(&r, 0x1000, 0x10,
        "[[0,\"mov r0, #0\"],[4,\"bx lr\"],[8,\"push {r7, lr}\"],"
        "[10,\"pop {r7, pc}\"],[12,\".byte 0x01, 0x02\"],"
        "[14,\".byte 0x03, 0x04\"]]");
    say(&r, 0x1009, 2, "[[0,\"push {r7, lr}\"]]");
    make(&file, false); /* then it is Thumb */
    open_file(&file, &r);
    say(&r, 0x1008, 4, "[[0,\"push {r7, lr}\"],[2,\"pop {r7, pc}\"]]");
    say(&r, 0x2000, 0x100, "[[0,\"movs r0, #0\"]]");
}

static void refusals(void **state)
{
    struct file file;
    struct codecache_reader r;
    struct disassembly d = {.code = &r, .order = {.size = 4, .most = 100}};
    struct json_writer w = {0};
    char error[DISASSEMBLY_ERROR] = "";

    make(&file, true);
    open_file(&file, &r);
    assert_false(disassemble(&d, &w, error));
    assert_string_equal(error,
                        "the module has no machine code at this address");
    d.order.start = 0x1000;
    r.arch = SYMC_ARCH_PPC;
    assert_false(disassemble(&d, &w, error));
    assert_non_null(strstr(error, "processor"));
    free(w.data);
}

static void orders(void **state)
{
    const struct disassembly_order order = {1, UINT32_MAX, 3, true,
                                            UINT64_MAX};
    struct disassembly_order got;
    char text[DISASSEMBLY_ORDER_MAX];

    disassembly_order_print(text, &order);
    assert_true(disassembly_order_read(&got, text));
    assert_int_equal(got.start, 1);
    assert_int_equal(got.size, UINT32_MAX);
    assert_int_equal(got.most, 3);
    assert_true(got.has_whole_function);
    assert_true(got.answer == UINT64_MAX);
    assert_false(disassembly_order_read(&got, "1 2 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups),       cmocka_unit_test(damage),
        cmocka_unit_test(kinds_of_code), cmocka_unit_test(refusals),
        cmocka_unit_test(orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
