/*
 * Copyright (C) the ngx_symcache authors
 *
 * Identities of ELF files, made here in each class and byte order.  Expected
 * debug ids and kinds are those that the symbolic library gave the same bytes;
 * a debug id is a build id in the byte order of a GUID.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/elf/elf.h"

#define NOTE_AT 0x200
#define TEXT_AT 0x300
#define NAMES_AT 0x400
#define FILE_SIZE 0x500

struct image {
    uint8_t data[FILE_SIZE];
    int is_64;
    int is_big;
    size_t at;
};

static void put(struct image *m, uint64_t value, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        m->data[m->at + (m->is_big ? size - 1 - i : i)] =
            (uint8_t)(value >> (8 * i));
    }
    m->at += size;
}

static void word(struct image *m, uint64_t value)
{
    put(m, value, m->is_64 ? 8 : 4);
}

static void put_section(struct image *m, uint32_t name, uint32_t type,
                        uint64_t flags, uint64_t offset, uint64_t size)
{
    put(m, name, 4);
    put(m, type, 4);
    word(m, flags);
    word(m, 0);
    word(m, offset);
    word(m, size);
    put(m, 0, 4);
    put(m, 0, 4);
    word(m, 4);
    word(m, 0);
}

/* A library with a note segment, .text, .debug_info and .eh_frame. */
static void make(struct image *m, int is_64, int is_big, unsigned type,
                 unsigned machine, const char *build_id, size_t id_size)
{
    static const char names[] = "\0.text\0.debug_info\0.eh_frame\0.names";
    size_t segments = is_64 ? 64 : 52, sections = is_64 ? 0x80 : 0x60;

    memset(m, 0, sizeof(*m));
    m->is_64 = is_64;
    m->is_big = is_big;
    memcpy(m->data, "\177ELF", 4);
    m->data[4] = (uint8_t)(is_64 ? 2 : 1);
    m->data[5] = (uint8_t)(is_big ? 2 : 1);
    m->data[6] = 1;
    m->at = 16;
    put(m, type, 2);
    put(m, machine, 2);
    put(m, 1, 4);
    word(m, 0);
    word(m, segments);
    word(m, sections);
    put(m, 0, 4);
    put(m, segments, 2);
    put(m, is_64 ? 56 : 32, 2);
    put(m, 1, 2);
    put(m, is_64 ? 64 : 40, 2);
    put(m, 5, 2);
    put(m, 4, 2);

    put(m, 4, 4); /* PT_NOTE */
    if (is_64) {
        put(m, 4, 4);
    }
    word(m, NOTE_AT);
    word(m, 0);
    word(m, 0);
    word(m, id_size > 0 ? 16 + id_size : 0);
    word(m, id_size > 0 ? 16 + id_size : 0);
    if (!is_64) {
        put(m, 4, 4);
    }
    word(m, 4);

    m->at = sections;
    put_section(m, 0, 0, 0, 0, 0);
    put_section(m, 1, 1, 6, TEXT_AT, 0x21);
    put_section(m, 7, 1, 0, TEXT_AT, 16);
    put_section(m, 19, 8, 2, TEXT_AT, 16);
    put_section(m, 29, 3, 0, NAMES_AT, sizeof(names));
    memcpy(m->data + NAMES_AT, names, sizeof(names));
    m->at = TEXT_AT;
    put(m, 0x0102030405060708, 8);
    m->data[TEXT_AT + 0x20] = 0xF0;
    m->at = NOTE_AT;
    put(m, 4, 4);
    put(m, id_size, 4);
    put(m, 3, 4);
    memcpy(m->data + NOTE_AT + 12, "GNU", 4);
    memcpy(m->data + NOTE_AT + 16, build_id, id_size);
}

static struct elf_identity read(const struct image *m)
{
    char error[200] = "";
    struct elf_identity id;

    assert_true(elf_sniff(m->data, sizeof(m->data)));
    assert_int_equal(elf_identity_read(m->data, sizeof(m->data), &id, error,
                                       sizeof(error)),
                     0);
    return id;
}

#define ID "\x93\xac\x61\xec\x5a\x8e\xb1\x39\x6f\x9f\xbd\x35\x0e\x31\x69\xa5" \
           "\x58\x52\x8a\x40"

static void test_build_ids(void **state)
{
    int is_64;
    struct image m;
    struct elf_identity id;

    (void)state;
    for (is_64 = 0; is_64 < 2; is_64++) {
        make(&m, is_64, 0, 3, 62, ID, 20);
        id = read(&m);
        assert_memory_equal(id.guid,
                            "\xec\x61\xac\x93\x8e\x5a\x39\xb1"
                            "\x6f\x9f\xbd\x35\x0e\x31\x69\xa5",
                            16);
        assert_int_equal(id.build_id_size, 20);
        assert_memory_equal(id.build_id, ID, 20);
        assert_int_equal(id.arch, 201);
        assert_int_equal(id.kind, ELF_KIND_LIBRARY);

        make(&m, is_64, 1, 3, 22, ID, 20);
        id = read(&m);
        assert_memory_equal(id.guid, ID, 16);
        assert_int_equal(id.arch, 0);

        /* a short one is filled up with zeros */
        make(&m, is_64, 0, 3, 183, "\1\2\3\4\5", 5);
        id = read(&m);
        assert_memory_equal(id.guid, "\4\3\2\1\0\5\0\0\0\0\0\0\0\0\0", 16);
        assert_int_equal(id.build_id_size, 5);
        assert_int_equal(id.arch, 401);
    }
}

static void test_code_stands_for_a_build_id(void **state)
{
    struct image m;
    struct elf_identity id;

    (void)state;
    make(&m, 1, 1, 3, 62, "", 0);
    id = read(&m);
    assert_int_equal(id.build_id_size, 0);
    assert_memory_equal(id.guid, "\xf1\2\3\4\5\6\7\10\0\0\0\0\0\0\0", 16);
}

static void test_kinds(void **state)
{
    size_t i;
    struct image m;
    struct elf_identity id;
    static const struct {
        unsigned type;
        enum elf_kind kind;
    } cases[] = {
        {0, ELF_KIND_OTHER},
        {1, ELF_KIND_RELOCATABLE},
        {2, ELF_KIND_DEBUG}, /* there is no interpreter */
        {3, ELF_KIND_LIBRARY},
        {4, ELF_KIND_DUMP},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(&m, 1, 0, cases[i].type, 62, ID, 20);
        id = read(&m);
        assert_int_equal(id.kind, cases[i].kind);
        assert_true(id.has_code);
        assert_true(id.has_debug_info);
        assert_false(id.has_symbols);
        assert_false(id.has_unwind_info); /* it has no data in the file */
    }
    /* stripping into a companion leaves .text without data */
    make(&m, 1, 0, 3, 62, ID, 20);
    m.data[0x80 + 64 + 4] = 8;
    id = read(&m);
    assert_int_equal(id.kind, ELF_KIND_DEBUG);
    assert_false(id.has_code);
}

static void test_cut_files_are_refused(void **state)
{
    size_t size;
    char error[200];
    uint8_t *copy;
    struct image m;
    struct elf_identity id;

    (void)state;
    make(&m, 1, 0, 3, 62, ID, 20);
    for (size = 0; size < 0x80 + 5 * 64; size++) {
        copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, m.data, size);
        error[0] = '\0';
        assert_int_equal(
            elf_identity_read(copy, size, &id, error, sizeof(error)), -1);
        assert_true(error[0] != '\0');
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_code_stands_for_a_build_id),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_cut_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
