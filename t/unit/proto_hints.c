/*
 * Copyright (C) the ngx_symcache authors
 *
 * Hints: which values are some, and how they are found again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proto/hints.h"

static char hints[SYMCACHE_HINTS_MAX + 1], value[SYMCACHE_URL_MAX + 1];

static int add(const char *text, size_t len)
{
    hints[0] = '\0';
    return symcache_hint_add(hints, SYMCACHE_HINT_CHECKSUM, text, len);
}

static void checksum(void **state)
{
    static const char *const good[] = {"SHA256:0", "sha-3:aF09",
                                       "SHA256:00;SHA384:11;x:2"};
    static const char *const bad[] = {
        "",      ":",    "SHA256",  "SHA256:",  ":00",      "SHA256:0g",
        "A:0;",  ";A:0", "A:0;;B:0", "A:0 ",    "A B:0",    "A:0\r\nX:0",
        "A:0&b", "A:0;B", "A=B:0",   "\xc3\xa4:0"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(add(good[i], strlen(good[i])));
        symcache_hint_get(hints, SYMCACHE_HINT_CHECKSUM, value);
        assert_string_equal(value, good[i]);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(add(bad[i], strlen(bad[i])));
        assert_string_equal(hints, "");
    }
    assert_false(add("A:0\0", 4));
}

static void code_id(void **state)
{
    static const char *const good[] = {"buildid-00", "542D574Ec2000",
                                       "buildid-93ac61ec5a8eb1396f9fbd35"};
    static const char *const bad[] = {
        "", "buildid-", "buildid-0", "buildid-0G", "buildid-AB", "93ac61ec",
        "542d574ec2000", "542D574E0c2000", "buildid-00&wait=1",
        "3249D99D0C4049318610F4E4FB0B69361"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(add("A:0", 3));
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, good[i],
                                      strlen(good[i])));
        symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, value);
        assert_string_equal(value, good[i]);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, bad[i],
                                       strlen(bad[i])));
    }
}

static void file(void **state)
{
    static const char *const good[] = {
        "a.example/hash-00112233445566778899aabbccddeeff",
        "_/hash-00112233445566778899aabbccddeeff@0-0",
        "_/hash-00112233445566778899aabbccddeeff@36-999999999999999999"};
    static const char *const bad[] = {
        "",
        "/",
        "_/",
        "hash-00112233445566778899aabbccddeeff",
        "_/buildid-00",
        "_/hash-00112233445566778899aabbccddeeff@",
        "_/hash-00112233445566778899aabbccddeeff@1",
        "_/hash-00112233445566778899aabbccddeeff@1-",
        "_/hash-00112233445566778899aabbccddeeff@-1",
        "_/hash-00112233445566778899aabbccddeeff@01-1",
        "_/hash-00112233445566778899aabbccddeeff@1-1-1",
        "_/hash-00112233445566778899aabbccddeeff@1-1 ",
        "_/hash-00112233445566778899aabbccddeeff@1-1000000000000000000"};
    symcache_hint_file_t read;
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hints[0] = '\0';
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_MAP, good[i],
                                      strlen(good[i])));
        symcache_hint_get(hints, SYMCACHE_HINT_MAP, value);
        assert_string_equal(value, good[i]);
        assert_true(symcache_hint_file(value, &read));
        assert_int_equal(read.key.kind, i == 0 ? SYMCACHE_KIND_SOURCE
                                               : SYMCACHE_KIND_SOURCECACHE);
    }
    assert_int_equal(read.offset, 36);
    assert_int_equal(read.size, 999999999999999999);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_MAP, bad[i],
                                       strlen(bad[i])));
    }
    assert_false(
        symcache_hint_add(hints, SYMCACHE_HINT_MAP, "a\0/hash-00", 10));
}

static void code_file(void **state)
{
    static const char *const good[] = {"crash.dll", "libc.so.6", "a b&c.exe"};
    static const char *const bad[] = {"", ".", "..", "a/b", "a\\b", "a\n",
                                      ".hidden"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(add("A:0", 3));
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_CODE_FILE, good[i],
                                      strlen(good[i])));
        symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, value);
        assert_string_equal(value, good[i]);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_CODE_FILE, bad[i],
                                       strlen(bad[i])));
    }
}

static void artifacts(void **state)
{
    static const char hex[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const good[] = {"ecabd945-b6dc-5376-ae84-ab686148470d"};
    static const char *const bad[] = {"",
                                      "ECABD945-b6dc-5376-ae84-ab686148470d",
                                      "ecabd945-b6dc-5376-ae84-ab686148470d-1",
                                      "ecabd945/b6dc-5376-ae84-ab686148470d",
                                      "ecabd9450b6dc-5376-ae84-ab686148470d",
                                      "release-0",
                                      "../../..-b6dc-5376-ae84-ab686148470d"};
    char text[80];
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hints[0] = '\0';
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_ARTIFACTS, good[i],
                                      strlen(good[i])));
        assert_true(symcache_hints_proved(hints));
    }
    hints[0] = '\0';
    stpcpy(stpcpy(text, "release-"), hex);
    assert_true(
        symcache_hint_add(hints, SYMCACHE_HINT_ARTIFACTS, text, strlen(text)));
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, "a", 1));
    assert_false(symcache_hints_proved(hints));
    stpcpy(stpcpy(text, "released"), hex);
    assert_false(
        symcache_hint_add(hints, SYMCACHE_HINT_ARTIFACTS, text, strlen(text)));
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_ARTIFACTS, bad[i],
                                       strlen(bad[i])));
    }
}

static void since(void **state)
{
    static const char *const bad[] = {"", "0", "01", "-1", "1 ", "1e3",
                                      "1234567890123"};
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_SINCE, bad[i],
                                       strlen(bad[i])));
    }
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_URL,
                                  "https://a.example/", 18));
    assert_true(symcache_hints_proved(hints));
    assert_true(
        symcache_hint_add(hints, SYMCACHE_HINT_SINCE, "1700000000", 10));
    assert_string_equal(hints, "url=https://a.example/&since=1700000000");
    assert_true(symcache_hints_proved(hints));
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_SCRAPED, "1", 1));
    assert_true(symcache_hints_proved(hints));
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, "a", 1));
    assert_false(symcache_hints_proved(hints));
}

static void sources(void **state)
{
    static const char *const good[] = {"s0", "s0,s0-sym", "a.b_c:dk,d:p"};
    static const char *const bad[] = {"", ",", "a,", ",a", "a b", "a&b=c",
                                      "a;b", "a\n", "\xc3\xa4", "a/b"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(add("A:0", 3));
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, good[i],
                                      strlen(good[i])));
        symcache_hint_get(hints, SYMCACHE_HINT_SOURCES, value);
        assert_string_equal(value, good[i]);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, bad[i],
                                       strlen(bad[i])));
    }
}

/* A value with "&" and "%" in it is one value all the same. */
static void url(void **state)
{
    static const char *const good[] = {
        "https://a.example/", "http://a.example:8080/a%20b/c.js?d=e&f=1;g+h",
        "https://a.example/?url=b&checksum=A:0", "https://[::1]/%25"};
    static const char *const bad[] = {
        "", "https://", "a.example", "ftp://a.example/", "https://a.example",
        "https://A.example/", "https://a.example/a b", "https://a.example/#f",
        "https://a.example/%2f", "https://u@a.example/",
        "https://a.example:443/", "https://a.example/a/../b"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hints[0] = '\0';
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_URL, good[i],
                                      strlen(good[i])));
        assert_true(symcache_hints_proved(hints));
        assert_true(symcache_hint_add(hints, SYMCACHE_HINT_CHECKSUM,
                                      "B:1;C:2", 7));
        assert_false(symcache_hints_proved(hints));
        symcache_hint_get_url(hints, value);
        assert_string_equal(value, good[i]);
        symcache_hint_get(hints, SYMCACHE_HINT_CHECKSUM, value);
        assert_string_equal(value, "B:1;C:2");
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hints[0] = '\0';
        assert_false(symcache_hint_add(hints, SYMCACHE_HINT_URL, bad[i],
                                       strlen(bad[i])));
    }
    assert_false(symcache_hints_proved(""));
    assert_false(symcache_hints_proved("checksum=A:0"));
}

/* The longest URL, of which every byte is escaped, and all others. */
static void longest_url(void **state)
{
    static char url[SYMCACHE_URL_MAX + 2];

    memset(url, '&', sizeof(url) - 1);
    memcpy(url, "http://a/?", 10);
    hints[0] = '\0';
    assert_false(symcache_hint_add(hints, SYMCACHE_HINT_URL, url,
                                   SYMCACHE_URL_MAX + 1));
    assert_string_equal(hints, "");
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_URL, url,
                                  SYMCACHE_URL_MAX));
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_CODE_FILE, "a", 1));
    symcache_hint_get_url(hints, value);
    url[SYMCACHE_URL_MAX] = '\0';
    assert_string_equal(value, url);
    symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, value);
    assert_string_equal(value, "a");
}

/* As it becomes a part of a query. */
static void encoded(void **state)
{
    static const char text[] = "https://a.example/%2B?b=c&d;e+f";

    hints[0] = '\0';
    assert_true(symcache_hint_add(hints, SYMCACHE_HINT_URL, text,
                                  strlen(text)));
    assert_string_equal(hints,
                        "url=https://a.example/%252B?b=c%26d%3Be%2Bf");
    assert_true(add("A:0;B:1", 7));
    assert_string_equal(hints, "checksum=A:0%3BB:1");
}

static void longest(void **state)
{
    char text[SYMCACHE_HINT_MAX + 1];

    memset(text, '0', sizeof(text));
    text[1] = ':';
    assert_false(add(text, sizeof(text)));
    assert_true(add(text, SYMCACHE_HINT_MAX));
    symcache_hint_get(hints, SYMCACHE_HINT_CHECKSUM, value);
    assert_int_equal(strlen(value), SYMCACHE_HINT_MAX);
}

static void none(void **state)
{
    value[0] = 'x';
    symcache_hint_get("", SYMCACHE_HINT_CHECKSUM, value);
    assert_string_equal(value, "");
    symcache_hint_get("check=0&checksums=1&checksum=A:0",
                      SYMCACHE_HINT_CHECKSUM, value);
    assert_string_equal(value, "A:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum),
        cmocka_unit_test(code_id),
        cmocka_unit_test(code_file),
        cmocka_unit_test(artifacts),
        cmocka_unit_test(file),
        cmocka_unit_test(since),
        cmocka_unit_test(sources),
        cmocka_unit_test(url),
        cmocka_unit_test(encoded),
        cmocka_unit_test(longest_url),
        cmocka_unit_test(longest),
        cmocka_unit_test(none),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
