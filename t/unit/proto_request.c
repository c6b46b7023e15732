/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/request: the request grammar of the contract, section 2, and
 * the traps that the published sample server fell into.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "proto/request.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define GUID "3249D99D0C4049318610F4E4FB0B6936"
#define HYPHENS "3249d99d-0c40-4931-8610-f4e4fb0b6936"

static void requests(void **state)
{
    static const struct {
        const char *path;
        symcache_status_e rc;
        const char *name;
        const char *id;
    } rows[] = {
        /* forms of the GUID, any case, with and without age */
        {"/v3.1.0/crash.pdb/" GUID, SYMCACHE_OK, "crash.pdb", GUID "1"},
        {"v3.1.0/crash.pdb/" GUID "/1", SYMCACHE_OK, "crash.pdb", GUID "1"},
        {"/V3.1.0/Crash.PDB/" HYPHENS "/10", SYMCACHE_OK, "crash.pdb",
         GUID "A"},
        {"/v3.1.0/crash.pdb/{" HYPHENS "}/16", SYMCACHE_OK, "crash.pdb",
         GUID "10"},
        {"/v3.1.0/crash.pdb/(" HYPHENS ")/4294967295", SYMCACHE_OK,
         "crash.pdb", GUID "FFFFFFFF"},
        {"/v3.1.0/crash.pdb/" GUID "/0", SYMCACHE_OK, "crash.pdb", GUID "0"},
        {"/v3.1.0/crash.pdb/" GUID "/", SYMCACHE_OK, "crash.pdb", GUID "1"},
        {"/v3.1.0/a b+c#%~(1).pdb/" GUID "/9", SYMCACHE_OK,
         "a b+c#%~(1).pdb", GUID "9"},
        {"/v3.1.0/\xc3\x84.PDB/" GUID "/15", SYMCACHE_OK, "\xc3\x84.pdb",
         GUID "F"},
        {"/v3.1.0/a.b.pdb./" GUID, SYMCACHE_OK, "a.b.pdb.", GUID "1"},
        /* version */
        {"/3.1.0/crash.pdb/" GUID, SYMCACHE_BAD_VERSION, 0, 0},
        {"/v3.1/crash.pdb/" GUID, SYMCACHE_BAD_VERSION, 0, 0},
        {"/v3.1.65536/crash.pdb/" GUID, SYMCACHE_BAD_VERSION, 0, 0},
        {"/v-3.1.0/crash.pdb/" GUID, SYMCACHE_BAD_VERSION, 0, 0},
        {"/v/crash.pdb/" GUID, SYMCACHE_BAD_VERSION, 0, 0},
        /* number of segments */
        {"", SYMCACHE_BAD_PATH, 0, 0},
        {"/", SYMCACHE_BAD_PATH, 0, 0},
        {"/v3.1.0", SYMCACHE_BAD_PATH, 0, 0},
        {"/v3.1.0/crash.pdb", SYMCACHE_BAD_PATH, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "/1/1", SYMCACHE_BAD_PATH, 0, 0},
        {"/v3.1.0/a/b.pdb/" GUID "/1", SYMCACHE_BAD_PATH, 0, 0},
        /* name: what Windows or a path would make of it */
        {"/v3.1.0//" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/./" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/../" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/..\\x.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/c:x.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x*.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x?.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\".pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x<.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x>.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x|.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\n.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\x7f.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xc2\x85.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xff.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xc0\xaf.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xed\xa0\x80/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xf4\x90\x80\x80/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/x\xe2\x82/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        /* what the store keeps for itself begins with a dot */
        {"/v3.1.0/.a.pdb/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.clock/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.clock.new/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.../" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.TMP/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.transcoders/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        {"/v3.1.0/.forgotten/" GUID, SYMCACHE_BAD_NAME, 0, 0},
        /* id */
        {"/v3.1.0/crash.pdb/" GUID "1", SYMCACHE_BAD_ID, 0, 0},
        {"/v3.1.0/crash.pdb/3249D99D", SYMCACHE_BAD_ID, 0, 0},
        {"/v3.1.0/crash.pdb/{" HYPHENS ")", SYMCACHE_BAD_ID, 0, 0},
        {"/v3.1.0/crash.pdb/{" GUID "}", SYMCACHE_BAD_ID, 0, 0},
        {"/v3.1.0/crash.pdb/3249d99d-0c40-4931-8610f-4e4fb0b6936",
         SYMCACHE_BAD_ID, 0, 0},
        {"/v3.1.0/crash.pdb/G249D99D0C4049318610F4E4FB0B6936",
         SYMCACHE_BAD_ID, 0, 0},
        /* age: decimal, 32 bits */
        {"/v3.1.0/crash.pdb/" GUID "/4294967296", SYMCACHE_BAD_AGE, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "/-1", SYMCACHE_BAD_AGE, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "/A", SYMCACHE_BAD_AGE, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "/0x1", SYMCACHE_BAD_AGE, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "//", SYMCACHE_BAD_AGE, 0, 0},
        {"/v3.1.0/crash.pdb/" GUID "/18446744073709551617",
         SYMCACHE_BAD_AGE, 0, 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        symcache_request_t req;
        char id[SYMCACHE_ID_TEXT_MAX + 1];
        symcache_status_e rc = symcache_request_parse(
            rows[i].path, strlen(rows[i].path), &req);

        if (rc != rows[i].rc) {
            print_message("# %s: %s\n", rows[i].path,
                          symcache_status_text(rc));
        }
        assert_int_equal(rc, rows[i].rc);
        if (rc != SYMCACHE_OK) {
            continue;
        }
        assert_int_equal(req.version.major, 3);
        assert_string_equal(req.key.name, rows[i].name);
        assert_int_equal(req.key.name_len, strlen(rows[i].name));
        /* as it was written, after the version and a slash */
        assert_ptr_equal(req.name,
                         strchr(strchr(rows[i].path, '.'), '/') + 1);
        assert_int_equal(symcache_id_print(id, &req.key),
                         strlen(rows[i].id));
        assert_string_equal(id, rows[i].id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
