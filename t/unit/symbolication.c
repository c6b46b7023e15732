/*
 * Copyright (C) the ngx_symcache authors
 *
 * Chains of functions and their sizes, in a SymCache whose content is told in
 * symfile_example.h.  Names and lines of real files: t/convert/lookup.t.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbolication/symbolication.h"
#include "symfile_example.h"

static struct chain chain;

static void open_example(struct symfile_reader *reader)
{
    char error[128];

    assert_int_equal(symfile_reader_open(reader, example_v9,
                                         sizeof(example_v9), error,
                                         sizeof(error)),
                     SYMFILE_OPENED);
}

static void chains(void **state)
{
    size_t i, k;
    struct symfile_reader r;
    static const struct {
        uint64_t address;
        const char *names[3]; /* innermost first */
        uint32_t entry;
        uint32_t size;
    } rows[] = {
        {0, {NULL}, SYMFILE_NONE, 0},
        {0xFFF, {NULL}, SYMFILE_NONE, 0},
        {0x1000, {"main()"}, 0x1000, 0x20},
        {0x1010, {"inl()", "main()"}, 0x1000, 0x20},
        {0x1017, {"inl()", "main()"}, 0x1000, 0x20},
        {0x1018, {"main()"}, 0x1000, 0x20},
        {0x1020, {NULL}, SYMFILE_NONE, 0},
        {0x103F, {NULL}, SYMFILE_NONE, 0},
        {0x1040, {"tail"}, 0x1040, 0}, /* nothing follows it */
        {0xFFFFFFFF, {"tail"}, 0x1040, 0},
        {0x100000000, {NULL}, SYMFILE_NONE, 0},
        {UINT64_MAX, {NULL}, SYMFILE_NONE, 0},
    };

    (void)state;
    open_example(&r);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        chain_find(&r, rows[i].address, &chain);
        for (k = 0; k < chain.count; k++) {
            assert_non_null(rows[i].names[k]);
            assert_int_equal(chain.frames[k].function.name.size,
                             strlen(rows[i].names[k]));
            assert_memory_equal(chain.frames[k].function.name.data,
                                rows[i].names[k], strlen(rows[i].names[k]));
        }
        assert_null(rows[i].names[k]);
        assert_int_equal(chain_entry(&chain), rows[i].entry);
        assert_int_equal(chain_function_size(&chain), rows[i].size);
    }
}

static void paths(void **state)
{
    struct symfile_reader r;
    struct source_path path = {0};
    struct symfile_string name;

    (void)state;
    open_example(&r);
    chain_find(&r, 0x1010, &chain);
    assert_int_equal(chain.count, 2);
    assert_non_null(source_path(&path, &r, chain.frames[0].location.file));
    assert_int_equal(path.path.size, 8);
    assert_memory_equal(path.path.data, "C:\\a\\m.h", 8);
    name = source_path_name(&path.path);
    assert_int_equal(name.size, 3);
    assert_memory_equal(name.data, "m.h", 3);
    assert_non_null(source_path(&path, &r, chain.frames[1].location.file));
    assert_memory_equal(path.path.data, "C:\\a\\m.c", 8);
    assert_non_null(source_path(&path, &r, SYMFILE_NONE));
    assert_int_equal(path.path.size, 0);
    assert_int_equal(source_path_name(&path.path).size, 0);
    source_path_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),
        cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
