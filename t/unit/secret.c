/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is sent as a token, and when two secrets are the same.  How secrets are
 * read is tested with the configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/secret.h"

/* RFC 6750, 2.1: b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" /
 * "/" ) *"=" */
static void test_token(void **state)
{
    static const char *const good[] = {"a", "Z9", "-._~+/", "mF_9.B5f-4.1JqM",
                                       "YWJj", "YWI=", "YQ==", "a==="};
    static const char *const bad[] = {"", "=", "a=b", "a b", " a", "a\t", "a,b",
                                      "a\"", "a\\", "\xc3\xa9", "a:b", "a@b"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(secret_is_token(good[i]));
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(secret_is_token(bad[i]));
    }
}

static void test_equal(void **state)
{
    assert_true(secret_is_equal("", ""));
    assert_true(secret_is_equal("token", "token"));
    assert_false(secret_is_equal("token", "Token"));
    assert_false(secret_is_equal("token", "tokeN"));
    assert_false(secret_is_equal("token", "toke"));
    assert_false(secret_is_equal("token", "token1"));
    assert_false(secret_is_equal("", "token"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
