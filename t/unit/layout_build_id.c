/*
 * Copyright (C) the ngx_symcache authors
 *
 * Paths of files that have a build id, as the documented layouts have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "symcached/source/layout.h"

#define BUILD "93ac61ec5a8eb1396f9fbd350e3169a558528a40"

static const struct source_config symstore = {.layout = LAYOUT_SYMSTORE};
static const struct source_type folder = {.any_case = true};

static void build_id(symcache_key_t *key, symcache_kind_e kind,
                     const char *name, const char *id)
{
    assert_int_equal(symcache_name_parse(name, strlen(name), key),
                     SYMCACHE_OK);
    assert_int_equal(symcache_id_parse(id, strlen(id), key), SYMCACHE_OK);
    key->kind = (uint8_t)kind;
}

/* SSQP has a name for files of Mach-O, whose ids look like short ones of ELF;
 * it wants that of a program, too. */
static void test_places_of_build_ids(void **state)
{
#define UUID "67e9247c814e392ba027dbde6748fcbf"
    static const char *const expected[] = {
        "_.debug/elf-buildid-sym-" UUID "00000000/_.debug",
        "_.debug/elf-buildid-sym-" UUID "00000000/_.debu_",
        "_.debug/elf-buildid-sym-" UUID "00000000/file.ptr",
        "_.dwarf/mach-uuid-sym-" UUID "/_.dwarf",
    };
    static const char *const unnamed[] = {
        "*/elf-buildid-" UUID "00000000/*",
        "*/elf-buildid-" UUID "00000000/*_",
        "*/elf-buildid-" UUID "00000000/file.ptr",
        "*/mach-uuid-" UUID "/*",
    };
    struct source_config source = {.layout = LAYOUT_SYMSTORE, .type = &folder};
    struct layout_place places[LAYOUT_PLACES];
    symcache_key_t key;
    size_t i, index;

    (void)state;
    build_id(&key, SYMCACHE_KIND_DEBUGINFO, "_", "buildid-" UUID);
    assert_int_equal(layout_places(places, &source, &key, "_", &index), 9);
    assert_int_equal(index, 4);
    for (i = 0; i < 4; i++) {
        assert_string_equal(places[i].path, expected[i]);
    }
    assert_string_equal(places[8].path,
                        "_/_.dwarf/mach-uuid-sym-" UUID "/_.dwarf");

    build_id(&key, SYMCACHE_KIND_EXECUTABLE, "_", "buildid-" UUID);
    assert_int_equal(layout_places(places, &source, &key, "_", &index), 4);
    assert_int_equal(index, 0);
    for (i = 0; i < 4; i++) {
        assert_string_equal(places[i].path, unnamed[i]);
    }
    source.layout = LAYOUT_TWO_TIER;
    assert_int_equal(layout_places(places, &source, &key, "_", &index), 0);
    assert_int_equal(
        layout_places(places, &symstore, &key, "_", &index), 0);
}

/* As gdb and LLDB have them; only ids of 16 bytes may be of Mach-O. */
static void test_native_places_of_build_ids(void **state)
{
#define LLDB "67E9/247C/814E/392B/A027/DBDE6748FCBF"
    static const struct {
        symcache_kind_e kind;
        const char *id;
        const char *paths[3];
    } rows[] = {
        {SYMCACHE_KIND_DEBUGINFO, BUILD,
         {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug"}},
        {SYMCACHE_KIND_EXECUTABLE, BUILD,
         {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40"}},
        {SYMCACHE_KIND_DEBUGINFO, UUID,
         {"67/e9247c814e392ba027dbde6748fcbf.debug", LLDB}},
        {SYMCACHE_KIND_EXECUTABLE, UUID,
         {"67/e9247c814e392ba027dbde6748fcbf", LLDB ".app"}},
    };
    const struct source_config server = {.layout = LAYOUT_NATIVE};
    const struct source_config listed = {.layout = LAYOUT_NATIVE,
                                         .type = &folder};
    static const struct layout_memory memory;
    struct layout_place places[LAYOUT_PLACES], place;
    struct layout_walk walk;
    symcache_key_t key;
    char id[80];
    size_t i, n, index;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(id, sizeof(id), "buildid-%s", rows[i].id);
        build_id(&key, rows[i].kind, "_", id);
        layout_begin(&walk, &server, &key, "_", &memory);
        for (n = 0; layout_next(&walk, &place); n++) {
            assert_non_null(rows[i].paths[n]);
            assert_string_equal(place.path, rows[i].paths[n]);
        }
        assert_null(rows[i].paths[n]);
        assert_int_equal(layout_places(places, &listed, &key, "_", &index),
                         n);
        while (n-- > 0) {
            assert_string_equal(places[n].path, rows[i].paths[n]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_build_ids),
        cmocka_unit_test(test_native_places_of_build_ids),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("build ids", tests, NULL, NULL);
}
