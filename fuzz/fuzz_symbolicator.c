/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a request of Symbolicator's protocol.  A refusal must have a
 * reason, and an answer must be JSON.  All modules are the same SymCache.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/symbolicator/source_links.h"
#include "symbolicated/api/symbolicator/native_answer.h"
#include "symbolicated/api/symbolicator/module_key.h"
#include "symbolicated/api/symbolicator/client_sources.h"
#include "symbolicated/api/symbolicator/request_sources.h"
#include "../t/unit/symc_example.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(const struct symbolicator_request *request)
{
    size_t i;
    char error[128];
    symcache_key_t key;
    struct symc_string name;
    struct symc_reader reader;
    struct json json = {0};
    struct json_error json_error;
    struct json_writer w = {0};
    const struct symbolication_config config = {
        .limits.answer_size = 1 << 20,
        .symbolicator.candidates = true,
    };
    static struct source_links links; /* none is followed */
    struct symbolicator_result *results;

    symc_reader_open(&reader, example_v9, sizeof(example_v9), error,
                     sizeof(error));
    results = calloc(request->nmodules + 1, sizeof(*results));
    if (results == NULL) {
        return;
    }
    for (i = 0; i < request->nmodules; i++) {
        symbolicator_key(request, &request->modules[i], &key, &name);
        results[i].status =
            request->modules[i].is_used
                ? (enum symbolicator_status)(i % (SYMBOLICATOR_OTHER + 1))
                : SYMBOLICATOR_UNUSED;
        if (i % 8 == 0 && request->modules[i].is_used) {
            results[i].status = SYMBOLICATOR_FOUND;
        }
        results[i].reader = &reader;
    }
    if (symbolicator_answer(&config, request, results, &links, &w) &&
        !w.has_failed &&
        json_read(&json, w.data, w.size, SIZE_MAX, &json_error) != w.size) {
        abort();
    }
    json_free(&json);
    free(w.data);
    free(results);
}

/* What a tenant is asked for with is JSON, or nothing. */
static void tenant(struct symbolicator_request *request)
{
    char error[256] = "";
    struct json json = {0};
    struct json_error json_error;
    struct json_writer w = {0};
    uint32_t source;
    struct client_list *list;
    struct symc_string name;
    symcache_key_t key;
    char names[CLIENT_NAMES_SIZE];
    size_t i;
    const struct symbolication_config config = {
        .symbolicator.sources = SYMBOLICATOR_SOURCES_ALLOW,
    };

    if (symbolicator_request_sources_check(&config, request, error,
                                           sizeof(error)) != 0) {
        if (error[0] == '\0') {
            abort(); /* refused without a reason */
        }
        return;
    }
    list = symbolicator_request_has_own_sources(&config, request)
               ? client_list_read(request)
               : NULL;
    if (list != NULL) {
        client_list_write(&w, list, request);
        for (i = 0; i < request->nmodules; i++) {
            if (symbolicator_key(request, &request->modules[i], &key, &name)) {
                client_list_asks(list, request, &request->modules[i], &key,
                                 names);
            }
        }
    }
    request->own = list;
    source = client_source_find(request, "s1");
    if (source != 0) {
        free(client_source_location(request, source, "https://h/b/p%41/x",
                                    source % 2 == 0));
    }
    request->own = NULL;
    free(list);
    if (w.size > 0 && !w.has_failed &&
        json_read(&json, w.data, w.size, SIZE_MAX, &json_error) != w.size) {
        abort();
    }
    json_free(&json);
    free(w.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int status;
    char *body, error[256];
    struct symbolicator_request request;
    const struct symbolicator_limits limits = {100, 10};

    body = malloc(size > 0 ? size : 1);
    if (body == NULL) {
        return 0;
    }
    memcpy(body, data, size);
    error[0] = '\0';
    status = symbolicator_parse(&request, body, size, &limits, error,
                                sizeof(error));
    if (status == 0) {
        answer(&request);
        tenant(&request);
    } else if (error[0] == '\0') {
        abort(); /* refused without a reason */
    }
    symbolicator_free(&request);
    free(body);
    return 0;
}
