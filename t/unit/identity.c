/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which identities fit a key: rules of debuginfod, symbol servers and of kinds
 * (proto/kind.h), over made-up files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/identity/identity.h"

#define DEBUG    SYMCACHE_HAS_DEBUG
#define SYMBOLS  SYMCACHE_HAS_SYMBOLS
#define UNWIND   SYMCACHE_HAS_UNWIND
#define CODE     SYMCACHE_HAS_CODE

/* All files have the debug id 0101...-1 and the build id 0101.... */
struct row {
    enum original_format format;
    unsigned features;
    symcache_kind_e kind;
    uint32_t age;
    enum identity_fit fit;
};

static const struct row rows[] = {
    {FORMAT_PDB, DEBUG | SYMBOLS, SYMCACHE_KIND_SYMCACHE, 1, IDENTITY_FITS},
    {FORMAT_PDB, DEBUG | SYMBOLS, SYMCACHE_KIND_SYMCACHE, 2,
     IDENTITY_ANOTHER},
    {FORMAT_PDB, SYMBOLS, SYMCACHE_KIND_SYMCACHE, 1, IDENTITY_SYMBOLS_ONLY},
    {FORMAT_PDB, SYMBOLS, SYMCACHE_KIND_DEBUGINFO, 1, IDENTITY_SYMBOLS_ONLY},
    {FORMAT_PDB, DEBUG | SYMBOLS, SYMCACHE_KIND_CFICACHE, 1,
     IDENTITY_USELESS},
    {FORMAT_PDB, DEBUG | UNWIND, SYMCACHE_KIND_CFICACHE, 1, IDENTITY_FITS},
    {FORMAT_ELF, CODE | SYMBOLS, SYMCACHE_KIND_SYMCACHE, 1,
     IDENTITY_SYMBOLS_ONLY},
    {FORMAT_ELF, CODE, SYMCACHE_KIND_SYMCACHE, 1, IDENTITY_USELESS},
    {FORMAT_ELF, CODE | SYMBOLS, SYMCACHE_KIND_EXECUTABLE, 0, IDENTITY_FITS},
    {FORMAT_ELF, CODE | SYMBOLS, SYMCACHE_KIND_DEBUGINFO, 0,
     IDENTITY_ANOTHER},
    {FORMAT_ELF, SYMBOLS, SYMCACHE_KIND_DEBUGINFO, 0, IDENTITY_FITS},
    {FORMAT_ELF, DEBUG, SYMCACHE_KIND_EXECUTABLE, 0, IDENTITY_ANOTHER},
    {FORMAT_ELF, 0, SYMCACHE_KIND_SECTION, 0, IDENTITY_FITS},
    {FORMAT_MACHO, DEBUG, SYMCACHE_KIND_DEBUGINFO, 0, IDENTITY_FITS},
    {FORMAT_MACHO, DEBUG | CODE, SYMCACHE_KIND_DEBUGINFO, 0,
     IDENTITY_ANOTHER},
    {FORMAT_WASM, DEBUG, SYMCACHE_KIND_DEBUGINFO, 0, IDENTITY_DAMAGED},
    {FORMAT_ANY, 0, SYMCACHE_KIND_SOURCE, 0, IDENTITY_FITS},
};

static void test_fit(void **state)
{
    const struct file_identity *which;
    struct file_identity id;
    symcache_key_t key;
    char detail[200];
    size_t i;
    bool by_build_id;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        by_build_id = rows[i].age == 0;
        id = (struct file_identity){.format = rows[i].format,
                                    .age = 1,
                                    .build_len = 20,
                                    .features = rows[i].features};
        memset(id.guid, 1, sizeof(id.guid));
        memset(id.build, 1, 20);
        memset(&key, 0, sizeof(key));
        key.kind = (uint8_t)rows[i].kind;
        key.id_type = by_build_id ? SYMCACHE_ID_BUILD : SYMCACHE_ID_DEBUG;
        key.age = rows[i].age;
        key.build_len = 20;
        memset(by_build_id ? key.build : key.guid, 1, by_build_id ? 20 : 16);
        if (identity_fits(&id, 1, &key, &which, detail, sizeof(detail)) !=
            rows[i].fit) {
            fail_msg("row %zu: %s", i, detail);
        }
        id.is_cut = true;
        if (rows[i].fit == IDENTITY_FITS && rows[i].format != FORMAT_ANY) {
            assert_int_equal(identity_fits(&id, 1, &key, &which, detail,
                                           sizeof(detail)),
                             IDENTITY_DAMAGED);
        }
    }
}

/* Text has a name in it, which counts unless the asker has none. */
static void test_name(void **state)
{
    static const struct {
        const char *asked;
        enum identity_fit fit;
    } cases[] = {{"app.pdb", IDENTITY_FITS},
                 {"other.pdb", IDENTITY_ANOTHER},
                 {SYMCACHE_NAME_NONE, IDENTITY_FITS}};
    struct file_identity id = {.format = FORMAT_BREAKPAD,
                               .guid = {1},
                               .age = 1,
                               .name = "APP.pdb",
                               .name_size = 7,
                               .features = DEBUG | SYMBOLS};
    const struct file_identity *which;
    symcache_key_t key = {.kind = SYMCACHE_KIND_SYMCACHE, .guid = {1},
                          .age = 1};
    char detail[200];
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        key.name_len = (uint32_t)snprintf(key.name, sizeof(key.name), "%s",
                                          cases[i].asked);
        assert_int_equal(identity_fits(&id, 1, &key, &which, detail,
                                       sizeof(detail)),
                         cases[i].fit);
    }
}

static void test_place(void **state)
{
    static const struct {
        unsigned features;
        const char *name, *id, *file, *stored; /* NULL: refused */
    } cases[] = {
        {CODE, "app", "elf-buildid-0101010101010101010101010101010101010101",
         "app", "app"},
        {DEBUG, "app", "elf-buildid-0101010101010101010101010101010101010101",
         "app", NULL},
        {DEBUG, "app", "010101010101010101010101010101010", "app.dbg",
         "_.debug"},
        {CODE, "app", "010101010101010101010101010101010", "app.dbg", NULL},
        {DEBUG, "_.debug",
         "elf-buildid-sym-0101010101010101010101010101010101010101", "_.debug",
         "_.debug"},
        {CODE, "app", "elf-buildid-0201010101010101010101010101010101010101",
         "app", NULL},
    };
    struct file_identity id = {.format = FORMAT_ELF, .build_len = 20};
    struct symstore_path place;
    char error[300];
    size_t i;

    memset(id.guid, 1, sizeof(id.guid));
    memset(id.build, 1, 20);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const parts[3] = {cases[i].name, cases[i].id,
                                      cases[i].file};

        id.features = cases[i].features;
        assert_int_equal(symstore_path_find(&id, 1, parts, false, &place, error,
                                            sizeof(error)),
                         cases[i].stored != NULL);
        if (cases[i].stored != NULL) {
            assert_string_equal(place.file, cases[i].stored);
            assert_string_equal(place.module,
                                strcmp(cases[i].name, "app") == 0 ? "app"
                                                                  : "");
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
