/*
 * Copyright (C) the ngx_symcache authors
 *
 * Identities of the fixtures, as llvm-pdbutil dump --summary prints them (GUID
 * and the age of the DBI stream).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/pdb/identity.h"

static uint8_t *load(const char *name, size_t *size)
{
    FILE *f;
    char path[300];
    uint8_t *data;

    snprintf(path, sizeof(path), "t/data/pdb/%s", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    data = malloc(8 << 20);
    assert_non_null(data);
    *size = fread(data, 1, 8 << 20, f);
    fclose(f);
    return data;
}

static void test_fixtures(void **state)
{
    size_t i, k, size;
    char error[200], guid[40];
    uint8_t *data;
    struct pdb_identity id;
    static const struct {
        const char *name;
        const char *guid;
        uint32_t age;
        uint32_t info_age;
    } cases[] = {
        {"crash.pdb", "3249D99D0C4049318610F4E4FB0B6936", 1, 1},
        /* a tool has raised the age of the info stream */
        {"crash_with_srcsrv.pdb", "3249D99D0C4049318610F4E4FB0B6936", 1, 4},
        {"basic32-min.pdb", "878E82E5E282481B88FCBBA2CFF8C7F1", 2, 2},
        {"omap_reorder_funcs.pdb", "11F7284EDE764667AA5234B0E7B07EEF", 1, 1},
        {"omap_stretched.pdb", "ABDA3C53D8074326AA40F41DD5382457", 1, 1},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        data = load(cases[i].name, &size);
        assert_int_equal(
            pdb_identity_read(data, size, &id, error, sizeof(error)), 0);
        for (k = 0; k < 16; k++) {
            snprintf(guid + 2 * k, 3, "%02X", id.guid[k]);
        }
        assert_string_equal(guid, cases[i].guid);
        assert_int_equal(id.age, cases[i].age);
        assert_int_equal(id.info_age, cases[i].info_age);
        free(data);
    }
}

static void test_not_pdb(void **state)
{
    size_t size;
    char error[200];
    uint8_t *data;
    struct pdb_identity id;

    (void)state;
    memset(&id, 7, sizeof(id));
    data = load("basic32.dll", &size);
    assert_int_equal(pdb_identity_read(data, size, &id, error, sizeof(error)),
                     -1);
    assert_non_null(strstr(error, "PE image"));
    assert_int_equal(id.age, 0x07070707);
    free(data);
    data = load("crash.pdb", &size);
    assert_int_equal(
        pdb_identity_read(data, size / 2, &id, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "truncated"));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_not_pdb),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
