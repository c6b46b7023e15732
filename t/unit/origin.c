/*
 * Copyright (C) the ngx_symcache authors
 *
 * Origins as RFC 6454 has them, and hosts that name us or our neighbours.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/origin.h"

static void assert_origin(const char *url, const char *origin)
{
    char buf[ORIGIN_MAX];

    assert_int_equal(origin_print(buf, sizeof(buf), url), 0);
    assert_string_equal(buf, origin);
}

static void prints(void **state)
{
    char buf[ORIGIN_MAX];

    assert_origin("http://h", "http://h:80");
    assert_origin("HTTPS://Ho.ST/Path?q=1", "https://ho.st:443");
    assert_origin("https://u:p@h:8443/x", "https://h:8443");
    assert_origin("http://[2001:DB8::1]:81/", "http://[2001:db8::1]:81");
    assert_int_equal(origin_print(buf, sizeof(buf), "ftp://h/"), -1);
    assert_int_equal(origin_print(buf, sizeof(buf), "nothing"), -1);
    assert_int_equal(origin_print(buf, 11, "http://h"), -1);
    assert_int_equal(origin_print(buf, 12, "http://h"), 0);
}

/* The origin of the last URL is remembered by its start. */
static void prints_again(void **state)
{
    char buf[ORIGIN_MAX];
    int i;

    for (i = 0; i < 2; i++) {
        assert_origin("http://h.example/a/b.pdb", "http://h.example:80");
        assert_origin("http://h.example/b", "http://h.example:80");
        assert_origin("http://h.example:81/b", "http://h.example:81");
        assert_origin("https://h.example/b", "https://h.example:443");
        assert_origin("http://h.example.org/b", "http://h.example.org:80");
        assert_origin("http://h.example@evil.example/b",
                      "http://evil.example:80");
        assert_origin("http://h.example/@evil.example/b",
                      "http://h.example:80");
        assert_origin("http://h.example?/b", "http://h.example:80");
        assert_origin("http://H.example/b", "http://h.example:80");
        assert_int_equal(
            origin_print(buf, sizeof(buf), "http://h.example:99999/"), -1);
        assert_int_equal(
            origin_print(buf, sizeof(buf), "http://h.example\\@x/b\1"), -1);
        assert_int_equal(origin_print(buf, 19, "http://h.example/b"), -1);
        assert_int_equal(origin_print(buf, 20, "http://h.example/b"), 0);
    }
}

static void assert_plain(const char *url, const char *expected)
{
    char *plain = origin_plain(url);

    assert_non_null(plain);
    assert_string_equal(plain, expected);
    free(plain);
}

static void plains(void **state)
{
    char buf[ORIGIN_MAX];
    int i;

    for (i = 0; i < 2; i++) { /* before the origin is known, and after */
        assert_plain("http://h.example/a%20b/c-d_e+f.pdb",
                     "http://h.example/a%20b/c-d_e+f.pdb");
        assert_plain("http://u:p@h.example/a#b", "http://h.example/a");
        assert_plain("http://h.example/a?b#c", "http://h.example/a?b");
        assert_plain("http://h.example/a/../b", "http://h.example/b");
        assert_plain("http://h.example/a/./b", "http://h.example/a/b");
        assert_plain("http://h.example:80/a", "http://h.example:80/a");
        assert_null(origin_plain("http://h.example:99999/a"));
        assert_int_equal(origin_print(buf, sizeof(buf), "http://h.example/a"),
                         0);
    }
}

static void compares(void **state)
{
    assert_true(origin_same("http://h/a", "http://H:80/b"));
    assert_true(origin_same("https://h", "https://h:443"));
    assert_false(origin_same("http://h:443", "https://h:443"));
    assert_false(origin_same("http://h", "http://h:81"));
    assert_false(origin_same("http://h", "http://h.example"));
    assert_false(origin_same("http://h@x", "http://h"));
}

static void reserved(void **state)
{
    static const char *const bad[] = {
        "http://127.0.0.1/",        "http://10.1.2.3:80/",
        "http://169.254.169.254/",  "http://2130706433/",
        "http://0x7f.1/",           "http://[::1]/",
        "http://[fe80::1%25eth0]/", "http://[::ffff:10.0.0.1]/",
        "http://localhost/",        "http://LocalHost.:8080/",
        "http://a.localhost/",      "http://127.0.0.1./",
        "http://127.1./",           "http://0x7f.1.:8080/",
        "http://169.254.169.254./",
    };
    static const char *const good[] = {"http://8.8.8.8/",
                                       "http://[2606:4700::1111]/",
                                       "http://example.org/",
                                       "http://notlocalhost/",
                                       "http://10.0.0.1.example.org/",
                                       "http://8.8.8.8./"};
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!origin_reserved(bad[i]) || !origin_reserved(bad[i])) {
            fail_msg("%s", bad[i]);
        }
    }
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (origin_reserved(good[i])) {
            fail_msg("%s", good[i]);
        }
    }
}

static void names_host(void **state)
{
    char buf[ORIGIN_MAX];

    assert_int_equal(origin_host(buf, sizeof(buf), "https://A.Example:8/b"),
                     0);
    assert_string_equal(buf, "a.example");
    assert_int_equal(origin_host(buf, sizeof(buf), "http://[::1]/"), 0);
    assert_string_equal(buf, "[::1]");
    assert_int_equal(origin_host(buf, 9, "https://a.example/"), -1);
    assert_int_equal(origin_host(buf, sizeof(buf), "ftp://a.example/"), -1);
}

static void places(void **state)
{
    char buf[ORIGIN_MAX];

    origin_place(buf, sizeof(buf), "https://u:p@a.example:8/b/c.pdb?sig=x#y");
    assert_string_equal(buf, "https://a.example:8/b/c.pdb");
    origin_place(buf, sizeof(buf), "/srv/symbols/@b");
    assert_string_equal(buf, "/srv/symbols/@b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints),   cmocka_unit_test(prints_again),
        cmocka_unit_test(plains),   cmocka_unit_test(compares),
        cmocka_unit_test(reserved), cmocka_unit_test(names_host),
        cmocka_unit_test(places),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
