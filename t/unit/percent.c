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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte),
        cmocka_unit_test(paths),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
