/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /source/v1: a step that is taken again, as a file was cut short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolicated/api/protocols.h"
#include "symc_example.h"

static const char *no_header(const struct api_request *request,
                             const char *name)
{
    return NULL;
}

static bool step_says(struct api_call *call, struct json_writer *w,
                      const char *text)
{
    struct api_reply reply = {.body = w};

    json_write_reset(w);
    assert_int_equal(call->step(call, &reply), API_FINISHED);
    return memmem(w->data, w->size, text, strlen(text)) != NULL;
}

/* The file that is there afterwards may be mapped where the other one was. */
static void test_cut_file(void **state)
{
    static uint8_t file[sizeof(example_v9)];
    char body[] = "{\"debugName\":\"a.pdb\","
                  "\"debugId\":\"AABBCCDDEEFF001122334455667788991\","
                  "\"moduleOffset\":\"0x1000\",\"file\":\"C:\\\\a\\\\n.c\"}";
    char error[256];
    struct symbolication_config config = {
        .mozilla = {.enabled = true, .source = true, .requests = 1}};
    struct json json = {0};
    struct api_request request = {
        .method = API_POST,
        .path = "/source/v1",
        .body = body,
        .size = sizeof(body) - 1,
        .header = no_header,
        .config = &config,
        .json = &json,
    };
    struct json_writer w = {0};
    struct api_reply reply = {.body = &w};
    struct api_call *call = mozilla_source_begin(&request, &reply);
    union derived_reader names, texts = {.sourcecache = {0}};

    assert_non_null(call);
    memcpy(file, example_v9, sizeof(file));
    assert_int_equal(derived_type(SYMCACHE_KIND_SYMCACHE)
                         ->open(&names, file, sizeof(file), error,
                                sizeof(error)),
                     SYMC_OPENED);
    call->first.modules[0].reader = &names;
    call->first.modules[1].reader = &texts;
    call->first.modules[0].state = API_MODULE_FOUND;
    call->first.modules[1].state = API_MODULE_FOUND;
    assert_true(step_says(call, &w, "none of those at the address"));

    memcpy(memmem(file, sizeof(file), "m.c", 3), "n.c", 3);
    assert_true(step_says(call, &w, "no text of the file"));
    call->free(call);
    json_free(&json);
    free(w.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_file)};

    return cmocka_run_group_tests_name("mozilla_source", tests, NULL, NULL);
}
