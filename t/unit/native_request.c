/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests for native frames: what a worker says of a crash report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "symbolicated/api/symbolicator/native_request.h"

#define MODULE "{\"type\":\"pe\",\"unwind_status\":\"found\"}"

/* A body may be an array of its members' values. */
static void test_report_in_array(void **state)
{
    const struct symbolicator_limits limits = {
        .frames = 10, .modules = 10, .takes_report = true};
    char body[] = "[null,null,null,[],[" MODULE "," MODULE "]]";
    struct symbolicator_request request;
    char error[256];
    size_t i;

    assert_int_equal(symbolicator_parse(&request, body, sizeof(body) - 1,
                                        &limits, error, sizeof(error)),
                     0);
    assert_int_equal(request.nmodules, 2);
    for (i = 0; i < 2; i++) {
        assert_true(json_is(&request.json, request.modules[i].unwind_status,
                            "found"));
    }
    symbolicator_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_report_in_array)};

    return cmocka_run_group_tests_name("native_request", tests, NULL, NULL);
}
