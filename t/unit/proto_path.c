/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/path: the layout on disk and its inverse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/path.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define DIR_ "chrome.dll.pdb/90E6CD6C673057E64C4C44205044422E1"

static void make_key(symcache_key_t *key)
{
    assert_int_equal(symcache_name_parse("Chrome.dll.pdb", 14, key),
                     SYMCACHE_OK);
    assert_int_equal(
        symcache_guid_parse("90e6cd6c673057e64c4c44205044422e", 32,
                            key->guid),
        SYMCACHE_OK);
    key->age = 1;
}

/* The tree that WPA keeps, in the store's own case. */
static void prints(void **state)
{
    char buf[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;
    const symcache_version_t v = {3, 1, 0};

    make_key(&key);
    assert_int_equal(symcache_path_dir(buf, &key), strlen(DIR_));
    assert_string_equal(buf, DIR_);
    symcache_path_file(buf, &key, &v, SYMCACHE_FILE_PLAIN);
    assert_string_equal(buf, DIR_ "/chrome.dll.pdb-v3.1.0.symcache");
    symcache_path_file(buf, &key, &v, SYMCACHE_FILE_GZIP);
    assert_string_equal(buf, DIR_ "/chrome.dll.pdb-v3.1.0.symcache.gz");
    symcache_path_file(buf, &key, &v, SYMCACHE_FILE_ABSENT);
    assert_string_equal(buf, DIR_ "/chrome.dll.pdb-v3.1.0.absent");
    symcache_path_name(buf, &key, &v, SYMCACHE_FILE_PLAIN);
    assert_string_equal(buf, "chrome.dll.pdb-v3.1.0.symcache");
}

#define G_ "90E6CD6C673057E64C4C44205044422E"
#define HASH_ "hash-93ac61ec5a8eb1396f9fbd350e3169a5"
#define BUILD_ "buildid-93ac61ec5a8eb1396f9fbd350e3169a558528a40"

/* One form for all kinds and ids; a SymCache's negative entry has no kind. */
static void kinds(void **state)
{
    static const struct {
        const char *path;
        symcache_kind_e kind;
        symcache_id_e id_type;
        symcache_file_e file;
    } rows[] = {
        {"app.pdb/" G_ "1/app.pdb-v3.1.0.symcache", SYMCACHE_KIND_SYMCACHE,
         SYMCACHE_ID_DEBUG, SYMCACHE_FILE_PLAIN},
        {"app.pdb/" G_ "FFFFFFFF/app.pdb-v1.0.0.ppdbcache",
         SYMCACHE_KIND_PPDBCACHE, SYMCACHE_ID_DEBUG, SYMCACHE_FILE_PLAIN},
        {"app.pdb/" G_ "FFFFFFFF/app.pdb-v1.0.0.ppdbcache.gz",
         SYMCACHE_KIND_PPDBCACHE, SYMCACHE_ID_DEBUG, SYMCACHE_FILE_GZIP},
        {"app.pdb/" G_ "FFFFFFFF/app.pdb-v1.0.0.ppdbcache.absent",
         SYMCACHE_KIND_PPDBCACHE, SYMCACHE_ID_DEBUG, SYMCACHE_FILE_ABSENT},
        {"app.pdb/" G_ "1/app.pdb-v2.0.0.absent", SYMCACHE_KIND_SYMCACHE,
         SYMCACHE_ID_DEBUG, SYMCACHE_FILE_ABSENT},
        {"libc.so.6/" BUILD_ "/libc.so.6-v2.0.0.cficache",
         SYMCACHE_KIND_CFICACHE, SYMCACHE_ID_BUILD, SYMCACHE_FILE_PLAIN},
        {"xul/" G_ "0/xul-v1.0.0.sym", SYMCACHE_KIND_SYM, SYMCACHE_ID_DEBUG,
         SYMCACHE_FILE_PLAIN},
        {"_/" BUILD_ "/_-v1.0.0.debuginfo", SYMCACHE_KIND_DEBUGINFO,
         SYMCACHE_ID_BUILD, SYMCACHE_FILE_PLAIN},
        {"app.exe/5AB380779000/app.exe-v1.0.0.executable",
         SYMCACHE_KIND_EXECUTABLE, SYMCACHE_ID_PE, SYMCACHE_FILE_PLAIN},
        {"a.example/" HASH_ "/a.example-v1.0.0.source",
         SYMCACHE_KIND_SOURCE, SYMCACHE_ID_HASH, SYMCACHE_FILE_PLAIN},
        {"a.example/" HASH_ "/a.example-v1.0.0.source.absent",
         SYMCACHE_KIND_SOURCE, SYMCACHE_ID_HASH, SYMCACHE_FILE_ABSENT},
        {"_/" BUILD_ "/_-v1.0.0.sourcebundle.absent",
         SYMCACHE_KIND_SOURCEBUNDLE, SYMCACHE_ID_BUILD, SYMCACHE_FILE_ABSENT},
    };
    static const char *bad[] = {
        "app.pdb/" G_ "1/app.pdb-v3.1.0.symcache.absent",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.absent.gz",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.PpdbCache",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.ppdbcache.",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.ppdbcache.gz.absent",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.pdb",
        "app.pdb/" G_ "1/app.pdb-v3.1.0.",
        "app.pdb/" G_ "1/app.pdb-v3.1.0..gz",
        "app.exe/5ab380779000/app.exe-v1.0.0.executable",
        "_/93ac61ec5a8eb1396f9fbd350e3169a558528a40/_-v1.0.0.debuginfo",
        "_/buildid-93AC61/_-v1.0.0.debuginfo",
        "/" BUILD_ "/-v1.0.0.debuginfo",
        "a.example/hash-93AC61EC5A8EB1396F9FBD350E3169A5/"
        "a.example-v1.0.0.source",
    };
    char buf[SYMCACHE_PATH_MAX + 1];
    symcache_version_t v;
    symcache_file_e file;
    symcache_key_t key;

    for (size_t i = 0; i < N(rows); i++) {
        assert_true(symcache_path_file_parse(
            rows[i].path, strlen(rows[i].path), &key, &v, &file));
        assert_int_equal(key.kind, rows[i].kind);
        assert_int_equal(key.id_type, rows[i].id_type);
        assert_int_equal(file, rows[i].file);
        assert_int_equal(symcache_path_file(buf, &key, &v, file),
                         strlen(rows[i].path));
        assert_string_equal(buf, rows[i].path);
    }
    for (size_t i = 0; i < N(bad); i++) {
        assert_false(symcache_path_file_parse(bad[i], strlen(bad[i]), &key,
                                              &v, &file));
    }
}

static void originals(void **state)
{
    static const struct {
        symcache_kind_e kind;
        const char *id;
        const char *path; /* behind "app.pdb/<id>/" */
    } rows[] = {
        {SYMCACHE_KIND_DEBUGINFO, G_ "1", "app.pdb"},
        {SYMCACHE_KIND_SYMCACHE, G_ "1", "app.pdb"},
        {SYMCACHE_KIND_PPDBCACHE, G_ "FFFFFFFF", "app.pdb"},
        {SYMCACHE_KIND_SYM, G_ "1", "app.pdb.sym"},
        {SYMCACHE_KIND_EXECUTABLE, "5AB380779000", "app.pdb.executable"},
    };
    static const char *others[] = {"app.pd", "app.pdb.", "app.pdb.symcache",
                                   "APP.pdb", "app.pdb.SYM", ""};
    char buf[SYMCACHE_PATH_MAX + 1], want[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key, read;

    assert_int_equal(symcache_name_parse("app.pdb", 7, &key), SYMCACHE_OK);
    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            symcache_id_parse(rows[i].id, strlen(rows[i].id), &key),
            SYMCACHE_OK);
        key.kind = (uint8_t)rows[i].kind;
        snprintf(want, sizeof(want), "app.pdb/%s/%s", rows[i].id,
                 rows[i].path);
        assert_int_equal(symcache_path_original(buf, &key), strlen(want));
        assert_string_equal(buf, want);
        assert_int_equal(symcache_path_original_name(buf, &key),
                         strlen(rows[i].path));
        assert_string_equal(buf, rows[i].path);

        read = key;
        assert_true(symcache_path_original_parse(
            rows[i].path, strlen(rows[i].path), &read));
        assert_int_equal(read.kind,
                         symcache_kind_is_original(rows[i].kind)
                             ? rows[i].kind
                             : SYMCACHE_KIND_DEBUGINFO);
    }
    for (size_t i = 0; i < N(others); i++) {
        assert_false(symcache_path_original_parse(others[i],
                                                  strlen(others[i]), &read));
    }
}

/* Kinds share a folder, and never see each other's files in it. */
static void each_kind_has_its_files(void **state)
{
    static const char name[] = "chrome.dll.pdb-v1.0.0.ppdbcache.absent";
    symcache_version_t v = {9, 9, 9};
    symcache_file_e file = SYMCACHE_FILE_PLAIN;
    symcache_key_t key;

    make_key(&key);
    assert_false(
        symcache_path_name_parse(name, strlen(name), &key, &v, &file));
    assert_int_equal(v.major, 9);
    assert_int_equal(file, SYMCACHE_FILE_PLAIN);

    assert_true(
        symcache_path_entry_parse(name, strlen(name), &key, &v, &file));
    assert_int_equal(key.kind, SYMCACHE_KIND_PPDBCACHE);
    assert_int_equal(v.major, 1);
    assert_int_equal(file, SYMCACHE_FILE_ABSENT);
    assert_true(
        symcache_path_name_parse(name, strlen(name), &key, &v, &file));
    assert_false(symcache_path_name_parse("chrome.dll.pdb-v1.0.0.symcache", 30,
                                          &key, &v, &file));
}

/* Whoever walks a store goes into no folder that nothing here made. */
static void folders(void **state)
{
    static const struct {
        const char *name;
        int ok;
    } rows[] = {
        {G_ "1", 1},          {G_ "FFFFFFFF", 1}, {G_ "a", 0},
        {G_ "01", 0},         {G_, 0},            {"5AB380779000", 1},
        {BUILD_, 1},          {"x", 0},           {"", 0},
        {"90e6cd6c673057e64c4c44205044422e1", 0},
    };
    symcache_key_t key;

    make_key(&key);
    key.kind = SYMCACHE_KIND_SYM; /* of a file in the folder before */
    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(symcache_path_id_parse(rows[i].name,
                                                strlen(rows[i].name), &key),
                         rows[i].ok);
    }
}

static void entries(void **state)
{
    static const struct {
        const char *name;
        int ok;
        uint16_t minor;
        symcache_file_e file;
    } rows[] = {
        {"chrome.dll.pdb-v3.1.0.symcache", 1, 1, SYMCACHE_FILE_PLAIN},
        {"chrome.dll.pdb-v3.12.0.symcache", 1, 12, SYMCACHE_FILE_PLAIN},
        {"chrome.dll.pdb-v3.1.0.symcache.gz", 1, 1, SYMCACHE_FILE_GZIP},
        {"chrome.dll.pdb-v3.1.0.absent", 1, 1, SYMCACHE_FILE_ABSENT},
        {"Chrome.dll.pdb-v3.1.0.symcache", 0, 0, 0},
        {"chrome.dll.pdb-v03.1.0.symcache", 0, 0, 0},
        {"chrome.dll.pdb-v3.1.symcache", 0, 0, 0},
        {"chrome.dll.pdb-v3.1.0.symcache.part", 0, 0, 0},
        {"chrome.dll.pdb-v3.1.0", 0, 0, 0},
        {"chrome.dll.pdb-v.symcache", 0, 0, 0},
        {"chrome.dll.pdb", 0, 0, 0},
        {"chrome.dll.pdb-v", 0, 0, 0},
        {"chrome.exe.pdb-v3.1.0.symcache", 0, 0, 0},
        {".", 0, 0, 0},
        {"", 0, 0, 0},
    };
    symcache_key_t key;

    make_key(&key);
    for (size_t i = 0; i < N(rows); i++) {
        symcache_version_t v = {9, 9, 9};
        symcache_file_e file = SYMCACHE_FILE_ABSENT;

        assert_int_equal(symcache_path_name_parse(rows[i].name,
                                                  strlen(rows[i].name), &key,
                                                  &v, &file),
                         rows[i].ok);
        if (rows[i].ok) {
            assert_int_equal(v.major, 3);
            assert_int_equal(v.minor, rows[i].minor);
            assert_int_equal(file, rows[i].file);
        } else {
            assert_int_equal(v.major, 9);
        }
    }
}

static void inverse(void **state)
{
    static const char *good[] = {
        DIR_ "/chrome.dll.pdb-v3.1.0.symcache",
        DIR_ "/chrome.dll.pdb-v65535.65535.65535.symcache.gz",
        "a/00000000000000000000000000000000FFFFFFFF/a-v9.0.0.absent",
    };
    static const char *bad[] = {
        "",
        "a",
        "a/b",
        "/" DIR_ "/chrome.dll.pdb-v3.1.0.symcache",
        DIR_ "/other.pdb-v3.1.0.symcache",
        DIR_ "/x/chrome.dll.pdb-v3.1.0.symcache",
        "chrome.dll.pdb/90e6cd6c673057e64c4c44205044422e1/"
        "chrome.dll.pdb-v3.1.0.symcache",
        "Chrome.dll.pdb/90E6CD6C673057E64C4C44205044422E1/"
        "Chrome.dll.pdb-v3.1.0.symcache",
        "../90E6CD6C673057E64C4C44205044422E1/..-v3.1.0.symcache",
        ".tmp/90E6CD6C673057E64C4C44205044422E1/.tmp-v3.1.0.symcache",
        ".x/90E6CD6C673057E64C4C44205044422E1/.x-v3.1.0.symcache",
    };

    for (size_t i = 0; i < N(good); i++) {
        symcache_key_t key;
        symcache_version_t v;
        symcache_file_e file;
        char buf[SYMCACHE_PATH_MAX + 1];

        assert_true(symcache_path_file_parse(good[i], strlen(good[i]), &key,
                                             &v, &file));
        symcache_path_file(buf, &key, &v, file);
        assert_string_equal(buf, good[i]);
    }
    for (size_t i = 0; i < N(bad); i++) {
        symcache_key_t key;
        symcache_version_t v;
        symcache_file_e file;

        assert_false(symcache_path_file_parse(bad[i], strlen(bad[i]), &key,
                                              &v, &file));
    }
}

/* NAME_MAX is 255: the longest name still has room for version and kind. */
static void storable(void **state)
{
    char name[256], buf[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;
    const symcache_version_t v = {65535, 65535, 65535};
    static const struct {
        symcache_kind_e kind;
        size_t max;
        symcache_file_e longest;
    } kinds[] = {
        {SYMCACHE_KIND_SYMCACHE, 224, SYMCACHE_FILE_GZIP},
        {SYMCACHE_KIND_SYM, 225, SYMCACHE_FILE_ABSENT},
        {SYMCACHE_KIND_PPDBCACHE, 219, SYMCACHE_FILE_ABSENT},
        {SYMCACHE_KIND_SOURCEBUNDLE, 216, SYMCACHE_FILE_ABSENT},
        {SYMCACHE_KIND_PROGUARDCACHE, 215, SYMCACHE_FILE_ABSENT},
    };

    make_key(&key);
    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < N(kinds); i++) {
        symcache_name_parse(name, kinds[i].max, &key);
        key.kind = (uint8_t)kinds[i].kind;
        assert_true(symcache_path_storable(&key));
        assert_int_equal(symcache_path_name(buf, &key, &v, kinds[i].longest),
                         255);
        symcache_name_parse(name, kinds[i].max + 1, &key);
        key.kind = (uint8_t)kinds[i].kind;
        assert_false(symcache_path_storable(&key));
    }

    symcache_name_parse(name, 255, &key);
    key.kind = SYMCACHE_KIND_PROGUARDCACHE; /* the longest */
    key.id_type = SYMCACHE_ID_BUILD;
    key.build_len = SYMCACHE_BUILD_ID_MAX;
    memset(key.build, 0xff, sizeof(key.build));
    assert_int_equal(symcache_path_file(buf, &key, &v, SYMCACHE_FILE_ABSENT),
                     SYMCACHE_PATH_MAX);
    assert_int_equal(symcache_path_max(&key), SYMCACHE_PATH_MAX);
}

/* The room that a held request keeps for a path is the longest path's. */
static void longest(void **state)
{
    char buf[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;
    const symcache_version_t v = {65535, 65535, 65535};

    make_key(&key);
    key.age = UINT32_MAX;
    assert_int_equal(symcache_path_file(buf, &key, &v, SYMCACHE_FILE_GZIP),
                     symcache_path_max(&key));
    key.kind = SYMCACHE_KIND_SYM;
    assert_int_equal(symcache_path_file(buf, &key, &v, SYMCACHE_FILE_ABSENT),
                     symcache_path_max(&key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints),
        cmocka_unit_test(kinds),
        cmocka_unit_test(originals),
        cmocka_unit_test(each_kind_has_its_files),
        cmocka_unit_test(folders),
        cmocka_unit_test(entries),
        cmocka_unit_test(inverse),
        cmocka_unit_test(storable),
        cmocka_unit_test(longest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
