/*
 * Copyright (C) the ngx_symcache authors
 *
 * Chains of functions and their sizes, in a SymCache whose content is told in
 * symc_example.h.  Names and lines of real files: t/convert/lookup.t.  Who
 * owns an address and where it is looked up: as Symbolicator answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolication/symbolication.h"
#include "symc_example.h"

static struct chain chain;

static void open_example(struct symc_reader *reader)
{
    char error[128];

    assert_int_equal(symc_reader_open(reader, example_v9, sizeof(example_v9),
                                      error, sizeof(error)),
                     SYMC_OPENED);
}

static void find(const struct symc_reader *r, uint64_t address)
{
    struct symc_lookup lookup = {.reader = r, .address = address};

    symc_reader_lookup_all(&lookup, 1);
    chain_at(r, lookup.location, &chain);
}

static void chains(void **state)
{
    size_t i, k;
    struct symc_reader r;
    static const struct {
        uint64_t address;
        const char *names[3]; /* innermost first */
        uint32_t entry;
        uint32_t size;
    } rows[] = {
        {0, {NULL}, SYMC_NONE, 0},
        {0xFFF, {NULL}, SYMC_NONE, 0},
        {0x1000, {"main()"}, 0x1000, 0x20},
        {0x1010, {"inl()", "main()"}, 0x1000, 0x20},
        {0x1017, {"inl()", "main()"}, 0x1000, 0x20},
        {0x1018, {"main()"}, 0x1000, 0x20},
        {0x1020, {NULL}, SYMC_NONE, 0},
        {0x103F, {NULL}, SYMC_NONE, 0},
        {0x1040, {"tail"}, 0x1040, 0}, /* nothing follows it */
        {0xFFFFFFFF, {"tail"}, 0x1040, 0},
        {0x100000000, {NULL}, SYMC_NONE, 0},
        {UINT64_MAX, {NULL}, SYMC_NONE, 0},
    };

    (void)state;
    open_example(&r);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        find(&r, rows[i].address);
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

/* A file of nothing but a header, in memory of exactly its size. */
static void empty(void **state)
{
    uint8_t *data;
    char error[128];
    struct symc_reader r;
    struct symc_lookup lookups[2] = {{.reader = &r, .address = 0},
                                     {.reader = &r, .address = 0x1000}};

    (void)state;
    data = calloc(1, SYMC_HEADER);
    assert_non_null(data);
    memcpy(data, example_v9, SYMC_AT_FILES);
    assert_int_equal(
        symc_reader_open(&r, data, SYMC_HEADER, error, sizeof(error)),
        SYMC_OPENED);
    symc_reader_lookup_all(lookups, 2);
    assert_int_equal(lookups[0].location, SYMC_NONE);
    assert_int_equal(lookups[1].location, SYMC_NONE);
    chain_prefetch(lookups, 2);
    find(&r, 0x1000);
    assert_int_equal(chain.count, 0);
    assert_int_equal(chain_function_size(&chain), 0);
    free(data);
}

/* Many at once find what each finds by itself, in whatever order. */
static void lookups(void **state)
{
    size_t i;
    struct symc_reader r;
    struct symc_frames frames;
    struct symc_lookup many[100];

    (void)state;
    open_example(&r);
    for (i = 0; i < 100; i++) {
        many[i].reader = &r;
        many[i].address = 0x1050 - i;
    }
    symc_reader_lookup_all(many, 100);
    chain_prefetch(many, 100);
    for (i = 0; i < 100; i++) {
        symc_reader_lookup(&r, many[i].address, &frames);
        assert_int_equal(many[i].location, frames.next);
    }
    assert_int_equal(many[0x10].location, r.num_locations - 1);
    assert_int_equal(many[0x50].location, r.num_locations - 5);
    assert_int_equal(many[0x51].location, SYMC_NONE);
}

static void paths(void **state)
{
    struct symc_reader r;
    struct source_path path = {0};
    struct symc_string name;

    (void)state;
    open_example(&r);
    find(&r, 0x1010);
    assert_int_equal(chain.count, 2);
    assert_non_null(source_path(&path, &r, chain.frames[0].location.file));
    assert_int_equal(path.path.size, 8);
    assert_memory_equal(path.path.data, "C:\\a\\m.h", 8);
    name = source_path_name(&path.path);
    assert_int_equal(name.size, 3);
    assert_memory_equal(name.data, "m.h", 3);
    assert_non_null(source_path(&path, &r, chain.frames[1].location.file));
    assert_memory_equal(path.path.data, "C:\\a\\m.c", 8);
    assert_non_null(source_path(&path, &r, SYMC_NONE));
    assert_int_equal(path.path.size, 0);
    assert_int_equal(source_path_name(&path.path).size, 0);
    source_path_free(&path);
}

static void owners(void **state)
{
    size_t i;
    const struct image *found;
    struct image images[] = {
        {0x5000, 0, 0},      /* up to the next one */
        {0x1000, 0x800, 1},  /* with a gap behind it */
        {0x2000, 0x9000, 2}, /* into the next ones */
        {0x7000, 0x100, 3},  /* never found: the next begins there, too */
        {0x7000, 0x10, 4},   {0x9000, 0, 5}, /* open-ended */
    };
    static const struct {
        uint64_t address;
        int index; /* -1: nobody's */
    } rows[] = {
        {0, -1},      {0xFFF, -1},  {0x1000, 1},
        {0x17FF, 1},  {0x1800, 1}, /* one past the end */
        {0x1801, -1}, {0x2000, 2},  {0x4FFF, 2},
        {0x5000, 0},  {0x6FFF, 0},  {0x7000, 4},
        {0x7010, 4},  {0x7011, -1}, /* the overlapped one is not looked at
                                       again */
        {0x8FFF, -1}, {0x9000, 5},  {UINT64_MAX, 5},
    };

    (void)state;
    images_sort(images, sizeof(images) / sizeof(images[0]));
    assert_int_equal(images[2].index, 0);
    assert_int_equal(images[2].size, 0x2000);
    assert_int_equal(images[5].size, 0);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        found = images_find(images, sizeof(images) / sizeof(images[0]),
                            rows[i].address);
        assert_int_equal(found == NULL ? -1 : (int)found->index,
                         rows[i].index);
    }
    images_sort(NULL, 0);
    assert_null(images_find(NULL, 0, 0));
}

static void call_sites(void **state)
{
    size_t i;
    static const struct {
        uint32_t arch;
        struct call_site site;
        uint64_t address;
    } rows[] = {
        {201, {.address = 0x100}, 0x100},
        {201, {.address = 0x100, .index = 1}, 0xFF},
        {201, {.address = 0x100, .wish = CALL_SITE_ADJUST}, 0xFF},
        {201, {.address = 0x100, .index = 1, .wish = CALL_SITE_KEEP}, 0x100},
        {201, {.address = 0x100, .has_wishes = true}, 0xFF},
        {201, {.address = 0x100, .signal = 11}, 0x100},
        {201,
         {.address = 0x100, .signal = 11, .has_ip = true, .ip = 0x100},
         0x100},
        {201,
         {.address = 0x100, .signal = 11, .has_ip = true, .ip = 0x101},
         0xFF},
        {201, {.address = 0x100, .signal = 10, .has_ip = true}, 0xFF},
        {201, {.address = 0x100, .signal = 4, .has_ip = true}, 0xFF},
        {201, {.address = 0x100, .signal = 6, .has_ip = true}, 0x100},
        {201, {.address = 0, .index = 1}, 0},
        {401, {.address = 0x103}, 0x100},
        {401, {.address = 0x103, .index = 1}, 0xFC},
        {403, {.address = 0x104, .index = 1}, 0x100},
        {301, {.address = 0x103, .index = 1}, 0x100},
        {501, {.address = 0x107, .index = 1}, 0x100},
        {701, {.address = 0x10B, .index = 1}, 0x100},
        {1001, {.address = 0x10B}, 0x108},
        {1001, {.address = 0x10B, .index = 1}, 0x104},
        {0, {.address = 0x101, .index = 1}, 0x100},
        {77777, {.address = 0x101, .index = 1}, 0x100},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(call_site_address(&rows[i].site, rows[i].arch),
                         rows[i].address);
    }
    assert_string_equal(call_site_ip_register(101), "eip");
    assert_string_equal(call_site_ip_register(201), "rip");
    assert_string_equal(call_site_ip_register(301), "pc");
    assert_string_equal(call_site_ip_register(401), "pc");
    assert_null(call_site_ip_register(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),  cmocka_unit_test(empty),
        cmocka_unit_test(lookups), cmocka_unit_test(paths),
        cmocka_unit_test(owners),  cmocka_unit_test(call_sites),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
