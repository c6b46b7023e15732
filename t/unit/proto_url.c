/*
 * Copyright (C) the ngx_symcache authors
 *
 * The normal form of URLs: examples of RFC 3986, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proto/url.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static char buf[SYMCACHE_URL_MAX + 1];

static void forms(void **state)
{
    static const struct {
        const char *url;
        const char *form;
    } rows[] = {
        /* RFC 3986, 6.2.2 and 6.2.3 */
        {"HTTP://www.EXAMPLE.com/", "http://www.example.com/"},
        {"https://example/%7Bfoo%7d/./b/../b/%63/%7bfoo%7d",
         "https://example/%7Bfoo%7D/b/c/%7Bfoo%7D"},
        {"http://example.com", "http://example.com/"},
        {"http://example.com:", "http://example.com/"},
        {"http://example.com:80/", "http://example.com/"},
        {"https://example.com:80/", "https://example.com:80/"},
        {"https://example.com:443", "https://example.com/"},
        {"http://example.com/%7Esmith/home.html",
         "http://example.com/~smith/home.html"},
        {"http://example.com/data?", "http://example.com/data?"},
        {"http://example.com?q", "http://example.com/?q"},
        /* the results of 5.4, whose base is http://a/b/c/d;p?q */
        {"http://a/b/c/./g", "http://a/b/c/g"},
        {"http://a/b/c/.", "http://a/b/c/"},
        {"http://a/b/c/./", "http://a/b/c/"},
        {"http://a/b/c/..", "http://a/b/"},
        {"http://a/b/c/../", "http://a/b/"},
        {"http://a/b/c/../g", "http://a/b/g"},
        {"http://a/b/c/../..", "http://a/"},
        {"http://a/b/c/../../", "http://a/"},
        {"http://a/b/c/../../g", "http://a/g"},
        {"http://a/b/c/../../../g", "http://a/g"},
        {"http://a/b/c/../../../../g", "http://a/g"},
        {"http://a/./g", "http://a/g"},
        {"http://a/../g", "http://a/g"},
        {"http://a/b/c/g.", "http://a/b/c/g."},
        {"http://a/b/c/.g", "http://a/b/c/.g"},
        {"http://a/b/c/g..", "http://a/b/c/g.."},
        {"http://a/b/c/..g", "http://a/b/c/..g"},
        {"http://a/b/c/./../g", "http://a/b/g"},
        {"http://a/b/c/./g/.", "http://a/b/c/g/"},
        {"http://a/b/c/g/./h", "http://a/b/c/g/h"},
        {"http://a/b/c/g/../h", "http://a/b/c/h"},
        {"http://a/b/c/g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"http://a/b/c/g;x=1/../y", "http://a/b/c/y"},
        {"http://a/b/c/d;p?y/../x", "http://a/b/c/d;p?y/../x"},
        {"http://a/b/c/d;p#s/../x", "http://a/b/c/d;p"},
        /* segments that are empty, and dots that are escaped */
        {"http://a//b///c", "http://a//b///c"},
        {"http://a//..", "http://a/"},
        {"http://a/b//..", "http://a/b/"},
        {"http://a/b/%2e%2E/c", "http://a/c"},
        {"http://a/...", "http://a/..."},
        /* what is escaped, and what is left as it is */
        {"http://a/b c\"<>\\^`{|}[]",
         "http://a/b%20c%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D"},
        {"http://a/\xc3\xa4?\xff", "http://a/%C3%A4?%FF"},
        {"http://a/!$&'()*+,;=:@-._~", "http://a/!$&'()*+,;=:@-._~"},
        {"http://a/%2f%25%26%00?%3f%3D", "http://a/%2F%25%26%00?%3F%3D"},
        {"http://a/?b=/c?d:@&%41", "http://a/?b=/c?d:@&A"},
        {"http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"},
        {"http://[::ffff:192.0.2.1]", "http://[::ffff:192.0.2.1]/"},
        {"http://a_b-c.example.:65535/", "http://a_b-c.example.:65535/"},
    };
    size_t i, n;

    for (i = 0; i < N(rows); i++) {
        n = strlen(rows[i].form);
        assert_int_equal(
            symcache_url_normalise(buf, rows[i].url, strlen(rows[i].url)), n);
        assert_string_equal(buf, rows[i].form);
        /* the form of the form is the form */
        assert_int_equal(symcache_url_normalise(buf, rows[i].form, n), n);
        assert_string_equal(buf, rows[i].form);
    }
}

static void refused(void **state)
{
    static const char *const urls[] = {
        "", "h", "http:", "http:/a", "http://", "http:///a", "//a/", "/a",
        "ftp://a/", "file:///a", "httpx://a/", "http://:80/", "http://?a",
        "http://u@a/", "http://u:p@a/", "http://a b/", "http://a%41/",
        "http://\xc3\xa4/", "http://a:x/", "http://a:080/", "http://a:0/",
        "http://a:65536/", "http://a:123456/", "http://a:80x/", "http://[/",
        "http://[::1/", "http://[::1]x/", "http://[g]/", "http://a\\b",
        "http://a/%", "http://a/%4", "http://a/%4g", "http://a/%g4",
        "http://a/?%", "http://a/\t", "http://a/\n", "http://a/\r",
        "http://a/\x7f", "http://a/?\x01"};
    size_t i;

    for (i = 0; i < N(urls); i++) {
        assert_int_equal(
            symcache_url_normalise(buf, urls[i], strlen(urls[i])), 0);
    }
    assert_int_equal(symcache_url_normalise(buf, "http://a/\0", 10), 0);
    assert_int_equal(symcache_url_normalise(buf, "http://a\0", 9), 0);
}

static void length(void **state)
{
    char url[2 * SYMCACHE_URL_MAX];
    size_t i;

    memset(url, 'a', sizeof(url));
    memcpy(url, "http://a/", 9);
    assert_int_equal(symcache_url_normalise(buf, url, SYMCACHE_URL_MAX),
                     SYMCACHE_URL_MAX);
    assert_int_equal(strlen(buf), SYMCACHE_URL_MAX);
    assert_int_equal(symcache_url_normalise(buf, url, SYMCACHE_URL_MAX + 1),
                     0);
    assert_int_equal(symcache_url_normalise(buf, url, sizeof(url)), 0);
    for (i = SYMCACHE_URL_MAX - 3; i < SYMCACHE_URL_MAX; i++) {
        url[i] = ' ';
        assert_int_equal(symcache_url_normalise(buf, url, i + 1),
                         i == SYMCACHE_URL_MAX - 3 ? SYMCACHE_URL_MAX : 0);
    }
    /* slashes and dots where no byte is left */
    memset(url + 9, '/', sizeof(url) - 9);
    memcpy(url + SYMCACHE_URL_MAX - 1, "/../..", 6);
    for (i = SYMCACHE_URL_MAX; i < SYMCACHE_URL_MAX + 6; i++) {
        (void)symcache_url_normalise(buf, url, i);
    }
    memset(url + 7, 'h', sizeof(url) - 7);
    assert_int_equal(symcache_url_normalise(buf, url, SYMCACHE_URL_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(refused),
        cmocka_unit_test(length),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
