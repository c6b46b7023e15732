/*
 * Copyright (C) the ngx_symcache authors
 *
 * A source's lists of bundles that are longer than what is looked into.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolicated/api/protocols.h"
#include "symbolicated/api/symbolicator/calls.h"

#define LISTED 2000
#define LOOKED 1024         /* docs/javascript.md */
#define LISTS_SIZE (16 << 20) /* the same */

static const char *no_header(const struct api_request *request,
                             const char *name)
{
    return NULL;
}

/* A list, each of whose bundles has a URL that is refused. */
static size_t print_list(char *list, size_t room, int bundles)
{
    size_t n = 0;
    int i;

    for (i = 0; i < bundles; i++) {
        n += (size_t)snprintf(list + n, room - n,
                              "%c{\"type\":\"bundle\",\"id\":\"%d\","
                              "\"url\":\"x\"}",
                              i == 0 ? '[' : ',', 10000 + i);
    }
    n += (size_t)snprintf(list + n, room - n, "]");
    assert_true(n < room);
    return n;
}

/* Answers a request whose source has this list, and looks at the answer. */
static void check_list(const char *list, size_t size, size_t bundles,
                       const char *left_out)
{
    char body[] =
        "{\"source\":{\"id\":\"s\",\"url\":\"http://127.0.0.1/\","
        "\"token\":\"t\"},\"release\":\"r\",\"modules\":[],\"stacktraces\":"
        "[{\"frames\":[{\"abs_path\":\"http://example.org/a.js\","
        "\"lineno\":1,\"colno\":1}]}]}";
    struct symbolication_config config = {
        .limits = {.frames = 10,
                   .modules = 10,
                   .answer_size = 1 << 24,
                   .running_size = 1 << 24},
        .symbolicator = {.sources = SYMBOLICATOR_SOURCES_ALLOW,
                         .js = {.requests = 1}},
    };
    struct json_writer w = {0};
    struct api_request request = {
        .method = API_POST,
        .query = "why=1",
        .body = body,
        .size = sizeof(body) - 1,
        .header = no_header,
        .config = &config,
    };
    struct api_reply reply = {.body = &w};
    struct api_call *call = js_begin(&request, "", &reply);
    union derived_reader reader = {0};
    const char *p, *end;
    size_t n = 0;

    assert_non_null(call);
    assert_int_equal(call->step(call, &reply), API_WANTS);
    assert_int_equal(call->round->nmodules, 1);
    reader.bytes.data = list;
    reader.bytes.size = size;
    call->round->modules[0].reader = &reader;
    call->round->modules[0].state = API_MODULE_FOUND;
    json_write_reset(&w);
    assert_int_equal(call->step(call, &reply), API_FINISHED);
    assert_int_equal(reply.status, 200);
    for (p = w.data, end = w.data + w.size;
         (p = memmem(p, (size_t)(end - p), "\"what\":\"bundle\"", 15)) != NULL;
         p++) {
        n++;
    }
    assert_int_equal(n, bundles);
    if (left_out != NULL) {
        assert_string_equal(call->left_out, left_out);
    } else {
        assert_null(call->left_out);
    }
    call->free(call);
    free(w.data);
}

static void test_many_bundles(void **state)
{
    static char list[64 * LISTED];

    check_list(list, print_list(list, sizeof(list), LOOKED), LOOKED, NULL);
    check_list(list, print_list(list, sizeof(list), LISTED), LOOKED,
               "bundles");
}

static void test_long_list(void **state)
{
    static char list[LISTS_SIZE + 1];

    memset(list, ' ', sizeof(list));
    list[0] = '[';
    list[sizeof(list) - 2] = ']';
    check_list(list, sizeof(list) - 1, 0, NULL);
    check_list(list, sizeof(list), 0, "lists");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_bundles),
                                       cmocka_unit_test(test_long_list)};

    return cmocka_run_group_tests_name("js_bundle_lists", tests, NULL, NULL);
}
