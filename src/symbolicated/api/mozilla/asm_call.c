/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /asm/v1: the instructions of a part of a program, for the Firefox
 * Profiler and those who speak its protocol, as samply's API.md describes it:
 *
 *   {"name": NAME, "codeId": ID, "debugName": NAME, "debugId": ID,
 *    "startAddress": "0x...", "size": "0x...",
 *    "continueUntilFunctionEnd": true}
 *
 * Of names and ids those that lead to the program are enough.  A worker
 * disassembles (disassembly/disassembly.h).  Refusals are {"error":
 * "..."}, with status 200 where the request is right and there is no such
 * code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disassembly/disassembly.h"
#include "source_and_asm.h"
#include "proto/hints.h"
#include "symbolicated/api/build_id.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"

#define ASM_BODY_MAX 65536
#define ASM_VALUES_MAX 256

/* Digits of the longest code id of Windows, and of a UUID. */
#define ASM_PE_DIGITS 16
#define ASM_UUID_DIGITS 32

/* The SymCache, which may be absent, and the CodeCache by either id. */
#define ASM_MODULES 3

struct asm_call {
    struct api_call base;
    const struct api_request *request;
    struct api_module modules[ASM_MODULES];
    struct disassembly_order order;
    char order_text[DISASSEMBLY_ORDER_MAX];
    struct api_work work;
    struct api_input_file input_files[2];
    bool is_running;
};

/* What a request names; absent texts have no data. */
struct asm_requested {
    struct symc_string name;
    struct symc_string code_id;
    struct symc_string debug_name;
    struct symc_string debug_id;
};

static request_count asm_running;

static void asm_free_call(struct api_call *base)
{
    struct asm_call *call = (struct asm_call *)base;
    size_t i;

    if (call->is_running) {
        request_limit_end(&asm_running, 0);
    }
    for (i = 0; i < ASM_MODULES; i++) {
        free(call->modules[i].hints);
    }
    spool_unref(call->work.body);
    free(call->work.said);
    free(call);
}

/* steps ------------------------------------------------------------------- */

static const struct api_module *asm_found_program(const struct asm_call *call,
                                                  symcache_kind_e kind)
{
    size_t i;

    for (i = 0; i < call->base.first.nmodules; i++) {
        if (call->modules[i].key.kind == kind &&
            call->modules[i].state == API_MODULE_FOUND) {
            return &call->modules[i];
        }
    }
    return NULL;
}

static enum api_next asm_refuse_for_now(struct api_reply *reply)
{
    return mozilla_refuse(reply, 503,
                          "the program could not be had, please try again");
}

/* Begins the work, if there is code. */
static enum api_next asm_begin_work(const struct asm_call *call,
                                    struct api_reply *reply)
{
    size_t i;

    if (asm_found_program(call, SYMCACHE_KIND_CODECACHE) != NULL) {
        return API_WORKS;
    }
    for (i = 0; i < call->base.first.nmodules; i++) {
        if (call->modules[i].key.kind == SYMCACHE_KIND_CODECACHE &&
            call->modules[i].state >= API_MODULE_FAILED) {
            return asm_refuse_for_now(reply);
        }
    }
    return mozilla_refuse(reply, 200,
                          "the program of the module is not to be had here");
}

static enum api_next asm_give_files(struct asm_call *call)
{
    static const symcache_kind_e kinds[] = {
        [DISASSEMBLY_CODE] = SYMCACHE_KIND_CODECACHE,
        [DISASSEMBLY_NAMES] = SYMCACHE_KIND_SYMCACHE};
    uint32_t i;

    for (i = 0; i < 2; i++) {
        call->input_files[i].index = i;
        call->input_files[i].module = asm_found_program(call, kinds[i]);
    }
    call->work.input_files = call->input_files;
    call->work.ninput_files = 2;
    free(call->work.said);
    call->work.said = NULL;
    return API_WORKS;
}

static enum api_next answer_asm(const struct asm_call *call,
                                struct api_reply *reply)
{
    if (call->work.said == NULL) {
        return mozilla_refuse(reply, 500, "internal error");
    }
    reply->status = 200;
    reply->type = "application/json";
    json_write_raw(reply->body, call->work.said, call->work.size);
    return API_FINISHED;
}

static enum api_next asm_step(struct api_call *base, struct api_reply *reply)
{
    struct asm_call *call = (struct asm_call *)base;

    mozilla_service(call->request, "POST", reply); /* it is one: for CORS */
    switch (call->work.news) {
    case API_WORK_NONE:
        return asm_begin_work(call, reply);
    case API_WORK_WANTS:
        return asm_give_files(call);
    case API_WORK_ENDED:
        return answer_asm(call, reply);
    case API_WORK_REFUSED:
        if (call->work.detail == DISASSEMBLY_LACKS_CODE) {
            return asm_refuse_for_now(reply); /* it was replaced meanwhile */
        }
        return mozilla_refuse(reply, 200,
                              call->work.said != NULL ? call->work.said : "");
    case API_WORK_LATE:
        return mozilla_refuse(reply, 503,
                              "the program could not be had in time, please "
                              "try again");
    case API_WORK_UNABLE:
        return mozilla_refuse(reply, 503, "no worker is available, please "
                                          "try again");
    default:
        return mozilla_refuse(reply, 500, "internal error");
    }
}

/* the request ------------------------------------------------------------- */

/* Completes a debug id by what a code id says: a UUID of Apple's is one, and
 * of a build id one is made, as of ELF files. */
static bool asm_derive_key(const struct asm_requested *names,
                           struct api_module *module)
{
    char text[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t id = module->key;
    struct api_module made = {.hints = NULL};
    int n;

    if (names->code_id.size == ASM_UUID_DIGITS) {
        n = snprintf(text, sizeof(text), "%.*s0", ASM_UUID_DIGITS,
                     names->code_id.data);
        return symcache_debug_id_parse(text, (size_t)n, &module->key) ==
               SYMCACHE_OK;
    }
    if (symcache_build_id_parse(names->code_id.data, names->code_id.size,
                                &id) != SYMCACHE_OK ||
        build_id_module(&made, &id) != 0) {
        return false;
    }
    free(made.hints);
    module->key = made.key;
    return true;
}

/* Adds the code id, and the name that the program has with it. */
static bool asm_add_hints(const struct asm_requested *names,
                          struct api_module *module)
{
    char hints[SYMCACHE_HINTS_MAX + 1] = "", text[SYMCACHE_ID_TEXT_MAX + 1];
    bool is_pe = names->code_id.size <= ASM_PE_DIGITS;
    int n = snprintf(text, sizeof(text), "%s%.*s", is_pe ? "" : "buildid-",
                     (int)names->code_id.size, names->code_id.data);

    if (names->code_id.size == 0 || (size_t)n >= sizeof(text) ||
        !symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, text, (size_t)n)) {
        return true;
    }
    if (is_pe && names->name.size > 0) {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_FILE,
                                names->name.data, names->name.size);
    }
    module->hints = strdup(hints);
    return module->hints != NULL;
}

/* Has a file of the module looked for by its debug id, if that is known.
 * Returns false without memory. */
static bool asm_want_by_debug_id(struct asm_call *call,
                                 const struct asm_requested *names,
                                 symcache_kind_e kind)
{
    struct api_module *module = &call->modules[call->base.first.nmodules];
    const struct symc_string *name =
        names->debug_name.size > 0 ? &names->debug_name : &names->name;

    memset(module, 0, sizeof(*module));
    if (names->debug_id.size > 0
            ? !mozilla_set_module(module, kind, name, &names->debug_id)
            : symcache_name_parse(name->data, name->size, &module->key) !=
                      SYMCACHE_OK ||
                  names->code_id.size <= ASM_PE_DIGITS ||
                  !asm_derive_key(names, module)) {
        return true;
    }
    module->name = name->data;
    module->name_size = name->size;
    module->key.kind = (uint8_t)kind;
    call->base.first.nmodules++;
    return asm_add_hints(names, module);
}

/* The same of an image of Windows, by its code id. */
static void asm_want_image(struct asm_call *call,
                           const struct asm_requested *names)
{
    struct api_module *module = &call->modules[call->base.first.nmodules];

    memset(module, 0, sizeof(*module));
    module->name = names->name.data;
    module->name_size = names->name.size;
    if (names->name.size > 0 && names->code_id.size > 0 &&
        names->code_id.size <= ASM_PE_DIGITS &&
        symcache_name_parse(names->name.data, names->name.size,
                            &module->key) == SYMCACHE_OK &&
        symcache_id_parse(names->code_id.data, names->code_id.size,
                          &module->key) == SYMCACHE_OK &&
        module->key.id_type == SYMCACHE_ID_PE) {
        module->key.kind = SYMCACHE_KIND_CODECACHE;
        call->base.first.nmodules++;
    }
}

/* Reads where to begin and how far to go. */
static const char *asm_read_range(struct asm_call *call,
                                  const struct json *json)
{
    struct symc_string start, size;
    uint64_t start_value, size_value;
    uint32_t whole = json_member(json, 0, "continueUntilFunctionEnd");

    if (!mozilla_member_text(json, "startAddress", &start) ||
        !mozilla_member_text(json, "size", &size) ||
        !mozilla_read_hex(&start, &start_value) ||
        !mozilla_read_hex(&size, &size_value) || start_value > UINT32_MAX ||
        size_value > UINT32_MAX) {
        return "please send startAddress and size, which are texts, "
               "hexadecimal with 0x and of 32 bits";
    }
    call->order.start = (uint32_t)start_value;
    call->order.size = (uint32_t)size_value;
    if (whole != 0 && json->values[whole].type != JSON_TRUE &&
        json->values[whole].type != JSON_FALSE) {
        return "continueUntilFunctionEnd is neither true nor false";
    }
    call->order.has_whole_function =
        whole != 0 && json->values[whole].type == JSON_TRUE;
    return NULL;
}

/* Returns NULL, or what is wrong. */
static const char *asm_read_request(struct asm_call *call,
                                    const struct api_request *request)
{
    struct asm_requested names;
    struct json_error error = {0};
    const char *wrong;

    memset(&names, 0, sizeof(names));
    if (request->size == 0 || request->size > ASM_BODY_MAX ||
        json_read(request->json, request->body, request->size, ASM_VALUES_MAX,
                  &error) != request->size ||
        request->json->values[0].type != JSON_OBJECT) {
        return error.out_of_memory ? mozilla_no_memory
                                   : "the body is not JSON, or too large";
    }
    (void)mozilla_member_text(request->json, "name", &names.name);
    (void)mozilla_member_text(request->json, "codeId", &names.code_id);
    (void)mozilla_member_text(request->json, "debugName", &names.debug_name);
    (void)mozilla_member_text(request->json, "debugId", &names.debug_id);
    wrong = asm_read_range(call, request->json);
    if (wrong != NULL) {
        return wrong;
    }
    if (!asm_want_by_debug_id(call, &names, SYMCACHE_KIND_SYMCACHE) ||
        !asm_want_by_debug_id(call, &names, SYMCACHE_KIND_CODECACHE)) {
        return mozilla_no_memory;
    }
    asm_want_image(call, &names);
    return call->base.first.nmodules > 0
               ? NULL
               : "please send debugName and debugId, or name and codeId";
}

/* Makes the work for a worker.  Returns false without memory. */
static bool asm_make_work(struct asm_call *call,
                          const struct api_request *request)
{
    call->order.most = (uint32_t)request->config->mozilla.code_size;
    call->order.answer = request->config->limits.answer_size;
    disassembly_order_print(call->order_text, &call->order);
    call->work.kind = DISASSEMBLY_WORK;
    call->work.text = call->order_text;
    /* texts of one instruction may follow when the answer is as large as it
     * may be */
    call->work.most = request->config->limits.answer_size + ASM_BODY_MAX;
    call->work.body = spool_new();
    call->base.work = &call->work;
    return call->work.body != NULL &&
           spool_write(call->work.body, DISASSEMBLY_QUESTION, 1) == 0;
}

struct api_call *mozilla_asm_begin(const struct api_request *request,
                                   struct api_reply *reply)
{
    const struct mozilla_config *config = &request->config->mozilla;
    struct asm_call *call;
    const char *wrong;

    if (mozilla_service(request, "POST", reply)) {
        return NULL;
    }
    call = calloc(1, sizeof(*call));
    if (call == NULL) {
        reply->body->has_failed = true;
        return NULL;
    }
    call->request = request;
    call->base.round = &call->base.first;
    call->base.first.modules = call->modules;
    call->base.step = asm_step;
    call->base.free = asm_free_call;
    call->base.wait = (uint64_t)config->wait * 1000;
    call->is_running =
        request_limit_begin(&asm_running, config->requests, 0, SIZE_MAX);
    wrong = call->is_running ? asm_read_request(call, request)
                             : "too many requests are running, please try "
                               "again";
    if (wrong == NULL && asm_make_work(call, request)) {
        return &call->base;
    }
    if (wrong == NULL) {
        wrong = mozilla_no_memory;
    }
    mozilla_refuse(
        reply, call->is_running && wrong != mozilla_no_memory ? 400 : 503,
        wrong);
    asm_free_call(&call->base);
    return NULL;
}
