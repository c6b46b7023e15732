/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected values: the published example of "Authenticating Requests: Using
 * Query Parameters (AWS Signature Version 4)".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symcached/tier/presign.h"

static const struct presign example = {
    .url = "https://examplebucket.s3.amazonaws.com/test.txt",
    .region = "us-east-1",
    .access_key = "AKIAIOSFODNN7EXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .seconds = 86400,
    .now = 1369353600, /* 2013-05-24 00:00:00 UTC */
};

#define SIGNATURE                                                             \
    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"

static void test_example(void **state)
{
    char url[PRESIGN_MAX];

    assert_true(presign_get(url, &example));
    assert_string_equal(
        url,
        "https://examplebucket.s3.amazonaws.com/test.txt"
        "?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2F"
        "aws4_request"
        "&X-Amz-Date=20130524T000000Z"
        "&X-Amz-Expires=86400"
        "&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=" SIGNATURE);
}

/* A client does not send the port that goes with the scheme. */
static void test_port(void **state)
{
    struct presign presign = example;
    char url[PRESIGN_MAX];

    presign.url = "https://examplebucket.s3.amazonaws.com:443/test.txt";
    assert_true(presign_get(url, &presign));
    assert_non_null(strstr(url, SIGNATURE));
    presign.url = "https://examplebucket.s3.amazonaws.com:8443/test.txt";
    assert_true(presign_get(url, &presign));
    assert_null(strstr(url, SIGNATURE));
}

static void test_token(void **state)
{
    struct presign presign = example;
    char url[PRESIGN_MAX], token[PRESIGN_MAX];

    presign.session_token = "a+b/c=";
    assert_true(presign_get(url, &presign));
    assert_non_null(strstr(url, "&X-Amz-Expires=86400"
                                "&X-Amz-Security-Token=a%2Bb%2Fc%3D"
                                "&X-Amz-SignedHeaders=host"));
    memset(token, 'x', sizeof(token));
    token[sizeof(token) - 1] = '\0';
    presign.session_token = token;
    assert_false(presign_get(url, &presign));
    token[PRESIGN_MAX - 380] = '\0';
    assert_true(presign_get(url, &presign));
    assert_int_equal(strlen(url) < PRESIGN_MAX, 1);
    presign = example;
    presign.url = "no URL";
    assert_false(presign_get(url, &presign));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
