/*
 * Copyright (C) the ngx_symcache authors
 *
 * Identities of portable PDBs, as System.Reflection.Metadata reads them
 * (t/data/ppdb/README.md), and files that have none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/portablepdb/portablepdb.h"

#define ROOM (1 << 20)

static uint8_t *load(const char *name, size_t *size)
{
    FILE *f;
    char path[300];
    uint8_t *data;

    snprintf(path, sizeof(path), "t/data/ppdb/%s", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    data = malloc(ROOM);
    assert_non_null(data);
    *size = fread(data, 1, ROOM, f);
    fclose(f);
    return data;
}

static void test_fixtures(void **state)
{
    size_t i, k, size;
    char error[200], guid[40];
    uint8_t *data;
    struct portablepdb_identity id;
    static const struct {
        const char *name;
        const char *guid;
        uint32_t stamp;
    } cases[] = {
        {"plain.pdb", "198a378eec0a47da8fb2289c2bdad68f", 0xf37ed789},
        {"weave.pdb", "6022e78b4bf44d048f9e21d7790ece60", 0xed5a93bd},
        {"weave-debug.pdb", "875b29c5032e44d083e0b66956375fda", 0xb8567759},
        {"parcel.pdb", "ff5420ffcc744ee69140bb74453c7e71", 0xea937478},
        {"vbnote.pdb", "a297898839994320b9d1645e6d0bf034", 0xb5e2a350},
        /* "#Pdb" is the last stream */
        {"fsnote.pdb", "f7e3ef0bce844612965806e61b424b4b", 0xfaeb4d61},
        {"overline.pdb", "fb60c915962745649e0c39226d52b2a5", 0xa17ddfbb},
        {"bare.pdb", "4c71116d95464a0484bc4ffcad6ec781", 0xbd713c9e},
        {"bulk.pdb", "22b25e27567a432aa1d887a311200f06", 0xa8c0a53f},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        data = load(cases[i].name, &size);
        assert_true(portablepdb_sniff(data, size));
        assert_int_equal(
            portablepdb_identity_read(data, size, &id, error, sizeof(error)),
            0);
        for (k = 0; k < 16; k++) {
            snprintf(guid + 2 * k, 3, "%02x", id.guid[k]);
        }
        assert_string_equal(guid, cases[i].guid);
        assert_int_equal(id.stamp, cases[i].stamp);
        assert_true(memcmp(data + id.id_at + 8, id.guid + 8, 8) == 0);
        free(data);
    }
}

/* What is refused for its root or streams, as craft.tsv says. */
static void test_refused(void **state)
{
    size_t i, size;
    char error[200];
    uint8_t *data;
    struct portablepdb_identity id;
    static const struct {
        const char *name;
        const char *says;
    } cases[] = {
        {"craft/stream-guid-odd.pdb", "#GUID"},
        {"craft/stream-unknown.pdb", "a stream that portable PDBs do not"},
        {"craft/version-odd-length.pdb", "not aligned"},
        {"craft/stream-pdb-missing.pdb", "no \"#Pdb\" stream"},
        {"plain.dll", "is not a portable PDB"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        data = load(cases[i].name, &size);
        assert_int_equal(
            portablepdb_identity_read(data, size, &id, error, sizeof(error)),
            -1);
        assert_non_null(strstr(error, cases[i].says));
        free(data);
    }
}

/* A file that is cut off anywhere is refused, and nothing behind its end is
 * read.  The streams come one behind the other, so it needs every byte up to
 * the end of the last one. */
static void test_cut(void **state)
{
    size_t cut, size;
    char error[200];
    uint8_t *data, *copy;
    struct portablepdb_identity id;

    (void)state;
    data = load("craft/usual.pdb", &size);
    for (cut = 0; cut < size; cut++) {
        copy = malloc(cut + 1); /* in a buffer of its own, for sanitizers */
        assert_non_null(copy);
        memcpy(copy + 1, data, cut);
        assert_int_equal(portablepdb_identity_read(copy + 1, cut, &id, error,
                                                   sizeof(error)),
                         -1);
        free(copy);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
