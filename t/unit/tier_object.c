/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected values: docs/fleet.md, and for the MAC "openssl dgst -sha256 -hmac"
 * over the lines that it names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symcached/tier/object.h"

#define SHA                                                                   \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define BOTH "sha256: " SHA "\nsize: 61071\n"
#define NAME                                                                  \
    "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache"
#define KEY "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

static const symcache_version_t version = {9, 0, 0};

static void key_of(symcache_key_t *key, const char *name, const char *id)
{
    assert_int_equal(symcache_name_parse(name, strlen(name), key),
                     SYMCACHE_OK);
    assert_int_equal(symcache_id_parse(id, strlen(id), key), SYMCACHE_OK);
}

static void test_parse(void **state)
{
    static const char *const bad[] = {
        "",
        "uploads/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/crash.pdb",
        "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0",
        "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.symcache",
        "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/9.0.0.symcache",
        "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0.pdb",
        "1/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/"
        "v9.0.0.debuginfo",
        "1/default/Crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache",
        "1/default/crash.pdb/3249d99d0c4049318610f4e4fb0b69361/v9.0.0.symcache",
        "1/default/../3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache",
        "1/default//3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache",
        "//crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache",
        "../default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/"
        "v9.0.0.symcache",
        "1/../crash.pdb/3249D99D0C4049318610F4E4FB0B69361/v9.0.0.symcache",
        "uploads/.try/v9.0.0.symcache/3249D99D0C4049318610F4E4FB0B69361/"
        "v9.0.0.symcache",
        NAME "/more",
        "more/" NAME,
    };
    struct tier_object object;
    char longer[200];
    size_t i;

    assert_true(tier_object_parse(NAME, &object));
    assert_string_equal(object.generation, "1");
    assert_string_equal(object.store, "default");
    assert_string_equal(object.key.name, "crash.pdb");
    assert_int_equal(object.key.kind, SYMCACHE_KIND_SYMCACHE);
    assert_int_equal(symcache_version_cmp(&object.version, &version), 0);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(tier_object_parse(bad[i], &object));
    }
    memset(longer, '1', 65);
    memcpy(longer + 65, NAME + 1, sizeof(NAME) - 1);
    assert_false(tier_object_parse(longer, &object));
    assert_true(tier_object_parse(longer + 1, &object));
}

static void test_name(void **state)
{
    char name[TIER_NAME_MAX + 1];
    symcache_key_t key;

    key_of(&key, "Crash.pdb", "3249D99D0C4049318610F4E4FB0B69361");
    tier_object_name(name, "1", "default", &key, &version);
    assert_string_equal(name, NAME);
    key.kind = SYMCACHE_KIND_PPDBCACHE;
    tier_object_name(name, "two", "s", &key, &version);
    assert_string_equal(name,
                        "two/s/crash.pdb/3249D99D0C4049318610F4E4FB0B69361/"
                        "v9.0.0.ppdbcache");
}

static void test_read(void **state)
{
    struct tier_meta meta;

    assert_null(tier_meta_read(&meta, BOTH "maker: x\nother line\n"));
    assert_string_equal(meta.sha256, SHA);
    assert_int_equal(meta.size, 61071);
    assert_string_equal(meta.source, "");
    assert_string_equal(meta.mac, "");
    assert_null(tier_meta_read(
        &meta, BOTH "Source: msdl.2\nQUALITY: publics\nmac: " SHA "\n"));
    assert_string_equal(meta.source, "msdl.2");
    assert_true(meta.publics_only);
    assert_false(meta.is_program);
    assert_string_equal(meta.mac, SHA);
    assert_null(tier_meta_read(
        &meta, BOTH "source: a\nquality: publics\nextent: program\n"));
    assert_true(meta.publics_only);
    assert_true(meta.is_program);
    assert_null(tier_meta_read(
        &meta, BOTH "source: a\nquality: publics\nextent: later\n"));
    assert_false(meta.is_program);
    assert_int_equal(meta.features, 0);
    assert_int_equal(meta.builder, 0);
    assert_null(tier_meta_read(
        &meta, BOTH "source: a\nquality: full\nfeatures: 2f\nbuilder: 12\n"));
    assert_int_equal(meta.features, 0x2f);
    assert_int_equal(meta.builder, 12);
}

static void test_refused(void **state)
{
    static const struct {
        const char *lines, *why;
    } cases[] = {
        {"", "no sha256 or no size"},
        {"sha256: " SHA "\n", "no sha256 or no size"},
        {"size: 1\n", "no sha256 or no size"},
        {"sha256: e3\nsize: 1\n", "a bad sha256"},
        {"sha256: " SHA "0\nsize: 1\n", "a bad sha256"},
        {"sha256: " SHA "\nsize: 0\n", "a bad size"},
        {"sha256: " SHA "\nsize: -1\n", "a bad size"},
        {"sha256: " SHA "\nsize: 1x\n", "a bad size"},
        {"sha256: " SHA "\nsize: 99999999999999999999\n", "a bad size"},
        {BOTH "size: 61071\n", "a bad size"},
        {BOTH "source: a b\nquality: full\n", "a bad source"},
        {BOTH "source: \nquality: full\n", "a bad source"},
        {BOTH "source: a\nquality: best\n", "a bad quality"},
        {BOTH "source: a\n", "source or quality alone"},
        {BOTH "quality: full\n", "source or quality alone"},
        {BOTH "features: -1\n", "a bad features"},
        {BOTH "features: 12345678\n", "a bad features"},
        {BOTH "builder: f\n", "a bad builder"},
        {BOTH "builder: \n", "a bad builder"},
        {BOTH "machine: " SHA "\n", "a bad machine"},
        {BOTH "machine: \n", "a bad machine"},
        {BOTH "mac: no\n", "a bad mac"},
    };
    struct tier_meta meta;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(tier_meta_read(&meta, cases[i].lines),
                            cases[i].why);
    }
}

static void test_mac(void **state)
{
    struct tier_meta meta, other;

    assert_null(tier_meta_read(&meta, BOTH "source: local\nquality: full\n"));
    assert_false(tier_meta_is_signed(&meta, NAME, KEY));
    tier_meta_sign(&meta, NAME, KEY);
    assert_string_equal(meta.mac, "9bfb5908e82fb10c8bbaa666424cc24e"
                        "674cfc11efac7b921295324ad17c48dd");
    assert_true(tier_meta_is_signed(&meta, NAME, KEY));
    assert_false(tier_meta_is_signed(&meta, "2" NAME, KEY));
    assert_false(tier_meta_is_signed(&meta, NAME, KEY "k"));

    other = meta;
    other.publics_only = true;
    assert_false(tier_meta_is_signed(&other, NAME, KEY));
    /* a former release knows nothing of these */
    other = meta;
    other.features = other.builder = 1;
    assert_true(tier_meta_is_signed(&other, NAME, KEY));
    other = meta;
    other.size++;
    assert_false(tier_meta_is_signed(&other, NAME, KEY));
    other = meta;
    other.sha256[0] = 'f';
    assert_false(tier_meta_is_signed(&other, NAME, KEY));

    assert_null(tier_meta_read(&meta, BOTH));
    tier_meta_sign(&meta, NAME, KEY);
    assert_string_equal(meta.mac, "bf15f57e45df6f02811aefc5d55b4064"
                        "86141c1e8616947a9f93f1e47d550b3b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_mac),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
