/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/symcache_path: the layout on disk and its inverse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/symcache_path.h"

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

/* NAME_MAX is 255: the longest name still has room for version and suffix. */
static void storable(void **state)
{
    char name[256], buf[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;
    const symcache_version_t v = {65535, 65535, 65535};

    make_key(&key);
    memset(name, 'n', sizeof(name));
    symcache_name_parse(name, SYMCACHE_STORED_NAME_MAX, &key);
    assert_true(symcache_path_storable(&key));
    assert_int_equal(symcache_path_name(buf, &key, &v, SYMCACHE_FILE_GZIP),
                     255);
    symcache_name_parse(name, SYMCACHE_STORED_NAME_MAX + 1, &key);
    assert_false(symcache_path_storable(&key));
    symcache_name_parse(name, 255, &key);
    key.age = 0xffffffff;
    assert_int_equal(symcache_path_file(buf, &key, &v, SYMCACHE_FILE_GZIP),
                     SYMCACHE_PATH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints),
        cmocka_unit_test(entries),
        cmocka_unit_test(inverse),
        cmocka_unit_test(storable),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
