/*
 * Copyright (C) the ngx_symcache authors
 */
#include "native_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/api.h"
#include "base/array.h"
#include "base/decimal.h"
#include "base/hex.h"
#include "base/zeroed.h"

/* Values of a request: 16 MB.  A frame or module is three at least. */
#define VALUES_MAX ((size_t)1 << 20)
#define VALUES_FRAME 10 /* where more frames than usual are allowed */

enum body_member {
    NATIVE_BODY_PLATFORM,
    NATIVE_BODY_SIGNAL,
    NATIVE_BODY_SOURCES,
    NATIVE_BODY_STACKTRACES,
    NATIVE_BODY_MODULES,
    NATIVE_BODY_OPTIONS,
    NATIVE_BODY_SCRAPING,
    NATIVE_BODY_MEMBERS
};

static const struct schema_member native_body[NATIVE_BODY_MEMBERS] = {
    [NATIVE_BODY_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE,
                              NULL},
    [NATIVE_BODY_SIGNAL] = {"signal", SCHEMA_U32, SCHEMA_NULLABLE, NULL},
    [NATIVE_BODY_SOURCES] = {"sources", SCHEMA_LIST, SCHEMA_NULLABLE, NULL},
    [NATIVE_BODY_STACKTRACES] = {"stacktraces", SCHEMA_LIST, SCHEMA_OPTIONAL,
                                 NULL},
    [NATIVE_BODY_MODULES] = {"modules", SCHEMA_LIST, SCHEMA_OPTIONAL, NULL},
    [NATIVE_BODY_OPTIONS] = {"options", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
    [NATIVE_BODY_SCRAPING] = {"scraping", SCHEMA_OBJECT, SCHEMA_OPTIONAL,
                              NULL},
};

enum option_member {
    OPTION_CANDIDATES,
    OPTION_SOURCE_CONTEXT,
    OPTION_FRAME_ORDER,
    OPTION_VARIABLES,
    OPTION_MEMBERS
};

static const struct schema_member native_option_members[OPTION_MEMBERS] = {
    [OPTION_CANDIDATES] = {"dif_candidates", SCHEMA_BOOL, SCHEMA_OPTIONAL,
                           NULL},
    [OPTION_SOURCE_CONTEXT] = {"apply_source_context", SCHEMA_BOOL,
                               SCHEMA_OPTIONAL, NULL},
    [OPTION_FRAME_ORDER] = {"frame_order", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL,
                            schema_frame_orders},
    [OPTION_VARIABLES] = {"extract_variables", SCHEMA_BOOL, SCHEMA_OPTIONAL,
                          NULL},
};

static const struct schema_member native_scraping[] = {
    {"enabled", SCHEMA_BOOL, SCHEMA_REQUIRED, NULL},
    {"verify_ssl", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
    {"allowed_origins", SCHEMA_STRINGS, SCHEMA_REQUIRED, NULL},
    {"headers", SCHEMA_MAP, SCHEMA_REQUIRED, NULL},
};

enum stack_member {
    STACK_THREAD_ID,
    STACK_THREAD_NAME,
    STACK_IS_REQUESTING,
    STACK_REGISTERS,
    STACK_FRAMES,
    STACK_MEMBERS
};

static const struct schema_member native_stack[STACK_MEMBERS] = {
    [STACK_THREAD_ID] = {"thread_id", SCHEMA_U64, SCHEMA_NULLABLE, NULL},
    [STACK_THREAD_NAME] = {"thread_name", SCHEMA_STRING, SCHEMA_NULLABLE,
                           NULL},
    [STACK_IS_REQUESTING] = {"is_requesting", SCHEMA_BOOL, SCHEMA_NULLABLE,
                             NULL},
    [STACK_REGISTERS] = {"registers", SCHEMA_MAP, SCHEMA_OPTIONAL, NULL},
    [STACK_FRAMES] = {"frames", SCHEMA_LIST, SCHEMA_REQUIRED, NULL},
};

static const char *const native_trusts[] = {
    "none", "scan", "cfiscan", "fp", "cfi", "prewalked", "context", NULL};

static const char *const native_languages[] = {
    "unknown", "c",     "cpp",    "d",           "go",     "objc", "objcpp",
    "rust",    "swift", "csharp", "visualbasic", "fsharp", NULL};

static const struct schema_member native_frame[FRAME_MEMBERS] = {
    [FRAME_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_ADDR_MODE] = {"addr_mode", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    /* parse_native_frame() reads it, once */
    [FRAME_INSTRUCTION_ADDR] = {"instruction_addr", SCHEMA_ANY,
                                SCHEMA_REQUIRED, NULL},
    [FRAME_ADJUST] = {"adjust_instruction_addr", SCHEMA_BOOL, SCHEMA_NULLABLE,
                      NULL},
    [FRAME_FUNCTION_ID] = {"function_id", SCHEMA_HEX, SCHEMA_NULLABLE, NULL},
    [FRAME_PACKAGE] = {"package", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_LANG] = {"lang", SCHEMA_ENUMERATION, SCHEMA_NULLABLE,
                    native_languages},
    [FRAME_SYMBOL] = {"symbol", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_SYM_ADDR] = {"sym_addr", SCHEMA_HEX, SCHEMA_NULLABLE, NULL},
    [FRAME_FUNCTION] = {"function", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_FILENAME] = {"filename", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_ABS_PATH] = {"abs_path", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [FRAME_LINENO] = {"lineno", SCHEMA_U32, SCHEMA_NULLABLE, NULL},
    [FRAME_PRE_CONTEXT] = {"pre_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL,
                           NULL},
    [FRAME_CONTEXT_LINE] = {"context_line", SCHEMA_STRING, SCHEMA_NULLABLE,
                            NULL},
    [FRAME_POST_CONTEXT] = {"post_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL,
                            NULL},
    [FRAME_SOURCE_LINK] = {"source_link", SCHEMA_STRING, SCHEMA_NULLABLE,
                           NULL},
    [FRAME_IN_APP] = {"in_app", SCHEMA_BOOL, SCHEMA_NULLABLE, NULL},
    [FRAME_VARS] = {"vars", SCHEMA_MAP, SCHEMA_NULLABLE, NULL},
    [FRAME_TRUST] = {"trust", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL,
                     native_trusts},
    [FRAME_INLINES_PREVIOUS] = {"inlines_previous", SCHEMA_BOOL,
                                SCHEMA_NULLABLE, NULL},
};

enum module_member {
    MODULE_TYPE,
    MODULE_CODE_ID,
    MODULE_CODE_FILE,
    MODULE_DEBUG_ID,
    MODULE_DEBUG_FILE,
    MODULE_DEBUG_CHECKSUM,
    MODULE_IMAGE_ADDR,
    MODULE_IMAGE_SIZE,
    MODULE_MEMBERS
};

static const struct schema_member native_module[MODULE_MEMBERS] = {
    [MODULE_TYPE] = {"type", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [MODULE_CODE_ID] = {"code_id", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [MODULE_CODE_FILE] = {"code_file", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [MODULE_DEBUG_ID] = {"debug_id", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [MODULE_DEBUG_FILE] = {"debug_file", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [MODULE_DEBUG_CHECKSUM] = {"debug_checksum", SCHEMA_STRING,
                               SCHEMA_NULLABLE, NULL},
    [MODULE_IMAGE_ADDR] = {"image_addr", SCHEMA_HEX, SCHEMA_OPTIONAL, NULL},
    [MODULE_IMAGE_SIZE] = {"image_size", SCHEMA_U64, SCHEMA_NULLABLE, NULL},
};

/*
 * "abs", or "rel:" and the index of a module.  The index comes back as it is
 * written usually, without a sign and zeros before it.
 */
static bool parse_native_addr_mode(struct json *json, uint32_t value,
                                   uint32_t *rel)
{
    struct json_value *v = &json->values[value];
    char *text = json->text + v->at, *p, *end;
    uint64_t n;

    if (value == 0 || json_is(json, value, "abs")) {
        return true;
    }
    if (v->size < 5 || memcmp(text, "rel:", 4) != 0) {
        return false;
    }
    end = text + v->size;
    p = text + (text[4] == '+' ? 5 : 4);
    if (!decimal_number(p, (size_t)(end - p), &n)) {
        return false;
    }
    while (p < end - 1 && *p == '0') {
        p++;
    }
    memmove(text + 4, p, (size_t)(end - p));
    v->size = (uint32_t)(4 + (end - p));
    *rel = n < SYMBOLICATOR_NONE ? (uint32_t)n : SYMBOLICATOR_NONE - 1;
    return true;
}

static uint8_t native_trust_of(const struct json *json, uint32_t value)
{
    uint8_t i;

    for (i = API_TRUSTS - 1; i > API_TRUST_OTHER; i--) {
        if (value != 0 && json_is(json, value, api_trust_names[i])) {
            return i;
        }
    }
    return API_TRUST_OTHER;
}

static bool parse_native_frame(struct symbolicator_request *request,
                               struct schema_walk *walk, uint32_t value,
                               struct symbolicator_frame *frame)
{
    uint32_t found[FRAME_MEMBERS];
    struct json *json;

    json = &request->json;
    if (!schema_object(walk, value, native_frame, FRAME_MEMBERS, found)) {
        return false;
    }
    frame->value = value;
    frame->module = frame->rel = SYMBOLICATOR_NONE;
    frame->has_more = json->values[value].size > 1;
    if (!schema_hex(json, found[FRAME_INSTRUCTION_ADDR], &frame->address)) {
        return schema_fail_member(walk,
                                  native_frame[FRAME_INSTRUCTION_ADDR].name,
                                  "expected a number or hex string");
    }
    if (!parse_native_addr_mode(json, found[FRAME_ADDR_MODE], &frame->rel)) {
        return schema_fail(walk, "addr_mode: invalid address mode");
    }
    frame->wish = found[FRAME_ADJUST] == 0 ? CALL_SITE_AUTOMATIC
                  : json->values[found[FRAME_ADJUST]].type == JSON_TRUE
                      ? CALL_SITE_ADJUST
                      : CALL_SITE_KEEP;
    frame->trust = native_trust_of(json, found[FRAME_TRUST]);
    frame->inlines_previous =
        found[FRAME_INLINES_PREVIOUS] != 0 &&
        json->values[found[FRAME_INLINES_PREVIOUS]].type == JSON_TRUE;
    return true;
}

static bool check_native_registers(struct symbolicator_request *request,
                                   struct schema_walk *walk,
                                   uint32_t registers)
{
    const struct json *json = &request->json;
    uint64_t n;
    uint32_t i;

    for (i = registers + 1; registers != 0 && i < json->values[registers].end;
         i = json->values[i + 1].end) {
        if (!schema_hex(json, i + 1, &n)) {
            return schema_fail(walk,
                               "registers: expected a number or hex string");
        }
    }
    return true;
}

/* Room for the frames of one more stack. */
static int add_native_frames(struct symbolicator_request *request,
                             struct schema_walk *walk, size_t count,
                             size_t most)
{
    if (count > most - request->nframes) {
        schema_fail_member(walk, "frames", "too many frames");
        return 422;
    }
    if (count == 0) {
        return 0; /* there may be no array yet */
    }
    if (array_need(&request->frames, &request->room, request->nframes + count,
                   sizeof(request->frames[0])) != 0) {
        return 500;
    }
    memset(request->frames + request->nframes, 0,
           count * sizeof(request->frames[0]));
    request->nframes += count;
    return 0;
}

static int parse_native_frames(struct symbolicator_request *request,
                               struct schema_walk *walk,
                               struct symbolicator_stack *stack, uint32_t list,
                               size_t most)
{
    int status;
    size_t i;
    uint32_t item = 0;
    struct symbolicator_frame *frame;

    stack->first = request->nframes;
    stack->count = request->json.values[list].size;
    status = add_native_frames(request, walk, stack->count, most);
    if (status != 0) {
        return status;
    }
    for (i = 0; schema_next(walk, "frames", list, &item); i++) {
        frame = &request->frames[stack->first];
        frame += request->is_caller_first ? stack->count - 1 - i : i;
        if (!parse_native_frame(request, walk, item, frame)) {
            return 422;
        }
        stack->has_wishes =
            stack->has_wishes || frame->wish != CALL_SITE_AUTOMATIC;
    }
    return 0;
}

static int parse_native_stack(struct symbolicator_request *request,
                              struct schema_walk *walk, uint32_t value,
                              struct symbolicator_stack *stack, size_t most)
{
    uint32_t found[STACK_MEMBERS];

    if (!schema_object(walk, value, native_stack, STACK_MEMBERS, found) ||
        !check_native_registers(request, walk, found[STACK_REGISTERS])) {
        return 422;
    }
    stack->thread_id = found[STACK_THREAD_ID];
    stack->thread_name = found[STACK_THREAD_NAME];
    stack->is_requesting = found[STACK_IS_REQUESTING];
    stack->registers = found[STACK_REGISTERS];
    return parse_native_frames(request, walk, stack, found[STACK_FRAMES],
                               most);
}

static int parse_native_stacks(struct symbolicator_request *request,
                               struct schema_walk *walk, uint32_t list,
                               size_t most)
{
    int status;
    uint32_t item = 0;

    if (list == 0) {
        return 0;
    }
    request->stacks = zeroed_alloc((size_t)request->json.values[list].size + 1,
                                   sizeof(request->stacks[0]));
    if (request->stacks == NULL) {
        return 500;
    }
    while (schema_next(walk, "stacktraces", list, &item)) {
        status = parse_native_stack(
            request, walk, item, &request->stacks[request->nstacks++], most);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Keeps the hex digits of a code id, in lower case. */
static void native_normalize_code_id(struct json *json, uint32_t value)
{
    char *p;
    uint32_t i, n;
    struct json_value *v;

    v = &json->values[value];
    p = json->text + v->at;
    for (i = n = 0; i < v->size; i++) {
        if (hex_digit(p[i]) >= 0) {
            p[n++] = p[i] < 'A' ? p[i] : (char)(p[i] | 0x20);
        }
    }
    v->size = n;
}

/* "12345678-a", with or without the hyphen, as the debugid crate reads it: 8
 * digits of the signature, and 1 to 8 of the age. */
static bool native_read_pdb20_id(struct symbolicator_module *module,
                                 const char *p, size_t size)
{
    char digits[17];
    size_t n = size > 8 && p[8] == '-' ? 9 : 8;

    if (size <= n || size - n > 8) {
        return false;
    }
    memcpy(digits, p, 8);
    memcpy(digits + 8, p + n, size - n);
    digits[8 + size - n] = '\0';
    if (strspn(digits, "0123456789abcdefABCDEF") != 8 + size - n) {
        return false;
    }
    module->age = (uint32_t)strtoul(digits + 8, NULL, 16);
    digits[8] = '\0';
    module->signature = (uint32_t)strtoul(digits, NULL, 16);
    return true;
}

static bool parse_native_module(struct symbolicator_request *request,
                                struct schema_walk *walk, uint32_t value,
                                struct symbolicator_module *module)
{
    uint32_t found[MODULE_MEMBERS];
    struct json *json;

    json = &request->json;
    if (!schema_object(walk, value, native_module, MODULE_MEMBERS, found)) {
        return false;
    }
    module->type = found[MODULE_TYPE];
    module->is_dotnet = json_is(json, module->type, "pe_dotnet");
    module->code_file = found[MODULE_CODE_FILE];
    if (module->code_file != 0 &&
        json->values[module->code_file].size > API_MODULE_NAME_MAX) {
        return schema_fail(walk, "code_file: too long");
    }
    module->debug_file = found[MODULE_DEBUG_FILE];
    module->debug_checksum = found[MODULE_DEBUG_CHECKSUM];
    if (found[MODULE_CODE_ID] != 0 &&
        json->values[found[MODULE_CODE_ID]].size > 0) {
        module->code_id = found[MODULE_CODE_ID];
        native_normalize_code_id(json, module->code_id);
    }
    if (found[MODULE_DEBUG_ID] != 0) {
        module->debug_id = found[MODULE_DEBUG_ID];
        module->has_debug_id = symcache_debug_id_read(
            json_text(json, module->debug_id),
            json->values[module->debug_id].size, module->guid, &module->age);
        module->has_pdb20_id =
            !module->has_debug_id &&
            native_read_pdb20_id(module, json_text(json, module->debug_id),
                                 json->values[module->debug_id].size);
    }
    if (found[MODULE_IMAGE_ADDR] != 0) {
        schema_hex(json, found[MODULE_IMAGE_ADDR], &module->image_addr);
    }
    if (found[MODULE_IMAGE_SIZE] != 0) {
        module->has_size = true;
        json_integer(json, found[MODULE_IMAGE_SIZE], &module->image_size);
    }
    return true;
}

static int parse_native_modules(struct symbolicator_request *request,
                                struct schema_walk *walk, uint32_t list)
{
    uint32_t item = 0;

    if (list == 0) {
        return 0;
    }
    request->modules =
        zeroed_alloc((size_t)request->json.values[list].size + 1,
                     sizeof(request->modules[0]));
    if (request->modules == NULL) {
        return 500;
    }
    while (schema_next(walk, "modules", list, &item)) {
        if (!parse_native_module(request, walk, item,
                                 &request->modules[request->nmodules++])) {
            return 422;
        }
    }
    return 0;
}

/* Finds the module of each frame. */
static int native_find_owners(struct symbolicator_request *request)
{
    size_t i;
    struct image *images;
    const struct image *found;
    struct symbolicator_frame *frame;

    images = zeroed_alloc(request->nmodules + 1, sizeof(*images));
    if (images == NULL) {
        return 500;
    }
    for (i = 0; i < request->nmodules; i++) {
        images[i].address = request->modules[i].image_addr;
        images[i].size = request->modules[i].image_size;
        images[i].index = (uint32_t)i;
    }
    images_sort(images, request->nmodules);
    /* the last one is open, unless it has a size; the others reach the next */
    for (i = 0; i + 1 < request->nmodules; i++) {
        request->modules[images[i].index].image_size = images[i].size;
        request->modules[images[i].index].has_size = true;
    }
    for (i = 0; i < request->nframes; i++) {
        frame = &request->frames[i];
        if (frame->rel == SYMBOLICATOR_NONE) {
            found = images_find(images, request->nmodules, frame->address);
            frame->module = found == NULL ? SYMBOLICATOR_NONE : found->index;
        } else if (frame->rel < request->nmodules) {
            frame->module = frame->rel;
        }
        if (frame->module != SYMBOLICATOR_NONE) {
            request->nused += !request->modules[frame->module].is_used;
            request->modules[frame->module].is_used = true;
            request->modules[frame->module].has_more |= frame->has_more;
        }
    }
    free(images);
    return 0;
}

static bool parse_native_options(struct symbolicator_request *request,
                                 struct schema_walk *walk, uint32_t value)
{
    const struct json *json;
    uint32_t found[OPTION_MEMBERS];

    json = &request->json;
    if (!schema_part(walk, "options", value, native_option_members,
                     OPTION_MEMBERS, found)) {
        return false;
    }
    request->has_candidates =
        found[OPTION_CANDIDATES] != 0 &&
        json->values[found[OPTION_CANDIDATES]].type == JSON_TRUE;
    request->wants_context =
        found[OPTION_SOURCE_CONTEXT] == 0 ||
        json->values[found[OPTION_SOURCE_CONTEXT]].type == JSON_TRUE;
    request->is_caller_first =
        found[OPTION_FRAME_ORDER] != 0 &&
        json_is(json, found[OPTION_FRAME_ORDER], "caller_first");
    return true;
}

static bool native_check_scraping(struct schema_walk *walk, uint32_t value)
{
    uint32_t found[COUNT(native_scraping)];

    return schema_part(walk, "scraping", value, native_scraping,
                       COUNT(native_scraping), found);
}

/* A string that a worker says besides; 0: it does not. */
static uint32_t native_said_value(const struct json *json, uint32_t object,
                                  const char *name)
{
    uint32_t value = json_member(json, object, name);

    return value != 0 && json->values[value].type == JSON_STRING ? value : 0;
}

/* list has the modules. */
static void take_native_report(struct symbolicator_request *request,
                               uint32_t list)
{
    const struct json *json = &request->json;
    uint32_t item = list + 1;
    size_t i;

    request->report = json_member(json, 0, "report");
    request->left_out = native_said_value(json, 0, "left_out");
    for (i = 0; i < request->nmodules; i++) {
        request->modules[i].unwind_status =
            native_said_value(json, item, "unwind_status");
        request->modules[i].lookup_file =
            native_said_value(json, item, "lookup_file");
        item = json->values[item].end;
    }
}

static int parse_native_body(struct symbolicator_request *request,
                             struct schema_walk *walk,
                             const struct symbolicator_limits *limits)
{
    int status;
    uint64_t signal;
    uint32_t found[NATIVE_BODY_MEMBERS];

    if (!schema_object(walk, 0, native_body, NATIVE_BODY_MEMBERS, found) ||
        !parse_native_options(request, walk, found[NATIVE_BODY_OPTIONS]) ||
        !native_check_scraping(walk, found[NATIVE_BODY_SCRAPING])) {
        return 422;
    }
    request->is_caller_first =
        request->is_caller_first && !limits->takes_report;
    request->sources = found[NATIVE_BODY_SOURCES];
    if (found[NATIVE_BODY_SIGNAL] != 0) {
        json_integer(&request->json, found[NATIVE_BODY_SIGNAL], &signal);
        request->signal = (uint32_t)signal;
        request->has_signal = true;
    }
    status = parse_native_stacks(request, walk, found[NATIVE_BODY_STACKTRACES],
                                 limits->frames);
    if (status == 0) {
        status =
            parse_native_modules(request, walk, found[NATIVE_BODY_MODULES]);
    }
    if (status == 0 && limits->takes_report) {
        take_native_report(request, found[NATIVE_BODY_MODULES]);
    }
    if (status == 0) {
        status = native_find_owners(request);
    }
    if (status == 0 && request->nused > limits->modules) {
        schema_fail(walk, "modules: too many that frames use");
        return 422;
    }
    return status;
}

int symbolicator_parse(struct symbolicator_request *request, char *body,
                       size_t size, const struct symbolicator_limits *limits,
                       char *error, size_t error_size)
{
    struct schema_walk walk = {
        .is_bare = limits->takes_report, /* its parts are of several texts */
        .error = error,
        .error_size = error_size};
    size_t most = VALUES_FRAME * limits->frames;
    int status;

    most = most > VALUES_MAX ? most : VALUES_MAX;
    memset(request, 0, sizeof(*request));
    status = schema_read(&walk, &request->json, body, size, most, true);
    if (status == 0) {
        status = parse_native_body(request, &walk, limits);
    }
    if (status == 500) {
        snprintf(error, error_size, "out of memory");
    }
    return status;
}

void symbolicator_free(struct symbolicator_request *request)
{
    json_free(&request->json);
    free(request->stacks);
    free(request->frames);
    free(request->modules);
    memset(request, 0, sizeof(*request));
}

void symbolicator_frame_members(const struct symbolicator_request *request,
                                const struct symbolicator_frame *frame,
                                uint32_t members[FRAME_MEMBERS])
{
    char error[1];
    struct schema_walk walk = {
        .json = &request->json, .error = error, .error_size = sizeof(error)};

    schema_object(&walk, frame->value, native_frame, FRAME_MEMBERS, members);
}
