/*
 * Copyright (C) the ngx_symcache authors
 *
 * Percent-encoding against libcurl's, which follows RFC 3986, too.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <curl/curl.h>
#include "base/percent.h"

static void each_byte(void **state)
{
    char text[2] = "", encoded[4], *expected;
    int c;

    for (c = 1; c < 256; c++) {
        text[0] = (char)c;
        percent_encode_path(encoded, text);
        expected = curl_easy_escape(NULL, text, 1);
        assert_string_equal(encoded, c == '/' ? "/" : expected);
        assert_ptr_equal(percent_encode(encoded, text),
                         encoded + strlen(expected));
        assert_string_equal(encoded, expected);
        curl_free(expected);
    }
}

static void paths(void **state)
{
    char encoded[64];

    percent_encode_path(encoded, "");
    assert_string_equal(encoded, "");
    percent_encode_path(encoded, "a b/\xC3\xA4+%/c~d.pdb");
    assert_string_equal(encoded, "a%20b/%C3%A4%2B%25/c~d.pdb");
}

static void decoding(void **state)
{
    static const char *const texts[] = {"",     "a%20b", "%C3%a4%", "%2",
                                        "%zz1", "%%41",  "%00x",    "%4g%41"};
    char own[16], *expected;
    size_t i, size;
    int n;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        expected = curl_easy_unescape(NULL, texts[i], 0, &n);
        memcpy(own, texts[i], strlen(texts[i]) + 1);
        size = percent_decode(own, own, strlen(texts[i]));
        assert_int_equal(size, n);
        assert_memory_equal(own, expected, size);
        curl_free(expected);
    }
}

/* RFC 3986, 5.2.4, removes these parts, and no others. */
static void dots(void **state)
{
    static const char *const with[] = {".",    "..",  "../x",
                                       "x/..", "/./", "a/../b"};
    static const char *const without[] = {"",   "/",       "...", ".x",
                                          "x.", "..x/y..", "a//b"};
    size_t i;

    for (i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        assert_true(percent_path_has_dots(with[i], strlen(with[i])));
    }
    for (i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        assert_false(percent_path_has_dots(without[i], strlen(without[i])));
    }
    assert_false(percent_path_has_dots("..x", 3));
    assert_true(percent_path_has_dots("..x", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte),
        cmocka_unit_test(paths),
        cmocka_unit_test(decoding),
        cmocka_unit_test(dots),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
