/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolize/v1: a step that is taken again, as a file was cut short; and
 * no memory for a question.
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

static bool has_no_memory;

/* In place of the C library's: the hints of a module are copied by it. */
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = has_no_memory ? NULL : malloc(size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static const char *no_header(const struct api_request *request,
                             const char *name)
{
    return NULL;
}

static enum api_next take_step(struct api_call *call, struct json_writer *w,
                               struct api_reply *reply)
{
    json_write_reset(w);
    memset(reply, 0, sizeof(*reply));
    reply->body = w;
    return call->step(call, reply);
}

static bool has(const struct json_writer *w, const char *text)
{
    return memmem(w->data, w->size, text, strlen(text)) != NULL;
}

static const struct symbolication_config config = {
    .limits = {.body_size = 4096,
               .modules = 10,
               .batch_pairs = 10,
               .batch_files = 10,
               .running_size = 4096},
    .symbolize = {.enabled = true, .requests = 1, .wait = 1},
};

static struct api_call *begin_call(char *body, struct json *json,
                                   struct api_reply *reply)
{
    struct api_request request = {
        .method = API_POST,
        .path = "/symbolize/v1",
        .body = body,
        .size = strlen(body),
        .header = no_header,
        .config = &config,
        .json = json,
    };
    struct api_call *call = symbolize_begin(&request, reply);

    assert_non_null(call);
    return call;
}

/* The file that is there afterwards may be mapped where the other one was. */
static void test_cut_file(void **state)
{
    static uint8_t file[sizeof(example_v9)];
    char body[] = "{\"file\":\"aabbccddeeff00112233445566778899aabbccdd\","
                  "\"addrs\":[4096]}\n";
    char error[256];
    struct json json = {0};
    struct json_writer w = {0};
    struct api_reply reply = {.body = &w};
    struct api_call *call = begin_call(body, &json, &reply);
    union derived_reader reader;
    struct api_module *module;

    assert_int_equal(take_step(call, &w, &reply), API_WANTS);
    assert_int_equal(call->first.nmodules, 1);
    memcpy(file, example_v9, sizeof(file));
    assert_int_equal(derived_type(SYMCACHE_KIND_SYMCACHE)
                         ->open(&reader, file, sizeof(file), error,
                                sizeof(error)),
                     SYMC_OPENED);
    module = &call->first.modules[0];
    module->reader = &reader;
    module->state = API_MODULE_FOUND;
    assert_int_equal(take_step(call, &w, &reply), API_PART);
    assert_true(has(&w, "\"main()\""));
    assert_true(has(&w, "m.c\""));

    memcpy(memmem(file, sizeof(file), "main()", 6), "next()", 6);
    memcpy(memmem(file, sizeof(file), "m.c", 3), "n.c", 3);
    assert_int_equal(take_step(call, &w, &reply), API_PART);
    assert_true(has(&w, "\"next()\""));
    assert_true(has(&w, "n.c\""));
    call->free(call);
    json_free(&json);
    free(w.data);
}

/* It has no module, and nothing after it is read. */
static void test_no_memory(void **state)
{
    char body[] = "{\"file\":\"aabbccddeeff00112233445566778899aabbccdd\","
                  "\"addrs\":[4096]}\n"
                  "{\"file\":\"bbbbccddeeff00112233445566778899aabbccdd\","
                  "\"addrs\":[4096]}\n";
    struct json json = {0};
    struct json_writer w = {0};
    struct api_reply reply = {.body = &w};
    struct api_call *call = begin_call(body, &json, &reply);

    has_no_memory = true;
    assert_int_equal(take_step(call, &w, &reply), API_WANTS);
    has_no_memory = false;
    assert_int_equal(call->first.nmodules, 0);
    assert_int_equal(take_step(call, &w, &reply), API_PART);
    assert_true(has(&w, "\"out of memory\""));
    call->parts++;
    assert_int_equal(take_step(call, &w, &reply), API_LETS_GO);
    assert_int_equal(take_step(call, &w, &reply), API_PART);
    assert_true(has(&w, "\"out of memory\""));
    call->parts++;
    assert_int_equal(take_step(call, &w, &reply), API_FINISHED);
    call->free(call);
    json_free(&json);
    free(w.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_file),
                                       cmocka_unit_test(test_no_memory)};

    return cmocka_run_group_tests_name("symbolize", tests, NULL, NULL);
}
