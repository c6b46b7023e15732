/*
 * Copyright (C) the ngx_symcache authors
 */
#include "jvm_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/key.h"
#include "schema.h"

#define VALUES_MAX ((size_t)4 << 20) /* of a request */

enum body_member {
    JVM_BODY_SOURCES,
    JVM_BODY_PLATFORM,
    JVM_BODY_EXCEPTIONS,
    JVM_BODY_STACKTRACES,
    JVM_BODY_MODULES,
    JVM_BODY_PACKAGE,
    JVM_BODY_CLASSES,
    JVM_BODY_OPTIONS,
    JVM_BODY_MEMBERS
};

static const struct schema_member jvm_body_members[JVM_BODY_MEMBERS] = {
    [JVM_BODY_SOURCES] = {"sources", SCHEMA_LIST, SCHEMA_REQUIRED, NULL},
    [JVM_BODY_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JVM_BODY_EXCEPTIONS] = {"exceptions", SCHEMA_LIST, SCHEMA_OPTIONAL, NULL},
    [JVM_BODY_STACKTRACES] = {"stacktraces", SCHEMA_LIST, SCHEMA_OPTIONAL,
                              NULL},
    [JVM_BODY_MODULES] = {"modules", SCHEMA_LIST, SCHEMA_OPTIONAL, NULL},
    [JVM_BODY_PACKAGE] = {"release_package", SCHEMA_STRING, SCHEMA_NULLABLE,
                          NULL},
    [JVM_BODY_CLASSES] = {"classes", SCHEMA_STRINGS, SCHEMA_OPTIONAL, NULL},
    [JVM_BODY_OPTIONS] = {"options", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
};

static const struct schema_member jvm_exception_members[] = {
    {"type", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    {"module", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
};

static const struct schema_member jvm_stack_members[] = {
    {"exception", SCHEMA_OBJECT, SCHEMA_NULLABLE, NULL},
    {"frames", SCHEMA_LIST, SCHEMA_REQUIRED, NULL},
};

static const char *const jvm_module_types[] = {"proguard", "source", NULL};

static const struct schema_member jvm_module_members[] = {
    {"uuid", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    {"type", SCHEMA_ENUMERATION, SCHEMA_REQUIRED, jvm_module_types},
};

static const struct schema_member jvm_option_members[] = {
    {"apply_source_context", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
    {"frame_order", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL, schema_frame_orders},
};

static const struct schema_member jvm_frame_members[JVM_FRAME_MEMBERS] = {
    [JVM_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JVM_FUNCTION] = {"function", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [JVM_FILENAME] = {"filename", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JVM_MODULE] = {"module", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [JVM_ABS_PATH] = {"abs_path", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JVM_LINENO] = {"lineno", SCHEMA_U32, SCHEMA_NULLABLE, NULL},
    [JVM_PRE_CONTEXT] = {"pre_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL, NULL},
    [JVM_CONTEXT_LINE] = {"context_line", SCHEMA_STRING, SCHEMA_NULLABLE,
                          NULL},
    [JVM_POST_CONTEXT] = {"post_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL,
                          NULL},
    [JVM_IN_APP] = {"in_app", SCHEMA_BOOL, SCHEMA_NULLABLE, NULL},
    [JVM_INDEX] = {"index", SCHEMA_U64, SCHEMA_REQUIRED, NULL},
    [JVM_SIGNATURE] = {"signature", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JVM_METHOD_SYNTHESIZED] = {"method_synthesized", SCHEMA_BOOL,
                                SCHEMA_OPTIONAL, NULL},
};

static bool read_exception(struct jvm_request *request,
                           struct schema_walk *walk, uint32_t value,
                           struct jvm_request_exception *exception)
{
    uint32_t found[COUNT(jvm_exception_members)];

    if (!schema_object(walk, value, jvm_exception_members,
                       COUNT(jvm_exception_members), found)) {
        return false;
    }
    exception->type = schema_text(&request->json, found[0]);
    exception->module = schema_text(&request->json, found[1]);
    return true;
}

static bool read_frame(struct jvm_request *request, struct schema_walk *walk,
                       uint32_t value, struct jvm_request_frame *frame)
{
    const struct json *json = &request->json;
    uint32_t *members = frame->members;
    uint64_t line = 0;

    if (!schema_object(walk, value, jvm_frame_members, JVM_FRAME_MEMBERS,
                       members)) {
        return false;
    }
    if (members[JVM_LINENO] != 0) {
        json_integer(json, members[JVM_LINENO], &line);
    }
    frame->input = (struct jvm_traces_input){
        .module = schema_text(json, members[JVM_MODULE]),
        .function = schema_text(json, members[JVM_FUNCTION]),
        .signature = schema_text(json, members[JVM_SIGNATURE]),
        .has_line = members[JVM_LINENO] != 0,
        .line = (uint32_t)line};
    return true;
}

static int read_stack(struct jvm_request *request, struct schema_walk *walk,
                      uint32_t value, struct jvm_request_stack *stack)
{
    const struct json *json = &request->json;
    uint32_t found[COUNT(jvm_stack_members)], item = 0;
    size_t k;

    if (!schema_object(walk, value, jvm_stack_members,
                       COUNT(jvm_stack_members), found)) {
        return 422;
    }
    if (found[0] != 0) {
        schema_enter(walk, "exception", 0);
        if (!read_exception(request, walk, found[0], &stack->exception)) {
            return 422;
        }
        schema_leave(walk);
    }
    stack->first = request->nframes;
    stack->count = json->values[found[1]].size;
    request->nframes += stack->count;
    for (k = 0; schema_next(walk, "frames", found[1], &item); k++) {
        if (!read_frame(
                request, walk, item,
                &request->frames[stack->first + (request->is_caller_first
                                                     ? stack->count - 1 - k
                                                     : k)])) {
            return 422;
        }
    }
    return 0;
}

/* How many frames a list of stacks has, whatever else it is. */
static size_t count_jvm_frames(const struct json *json, uint32_t list)
{
    size_t n = 0;
    uint32_t i, frames;

    for (i = list + 1; list != 0 && i < json->values[list].end;
         i = json->values[i].end) {
        if (json->values[i].type == JSON_ARRAY && json->values[i].size == 2) {
            frames = json->values[i + 1].end; /* the values in their order */
        } else {
            frames = json_member(json, i, "frames");
        }
        n += frames != 0 ? json->values[frames].size : 0;
    }
    return n;
}

static int read_stacks(struct jvm_request *request, struct schema_walk *walk,
                       uint32_t list, size_t most)
{
    const struct json *json = &request->json;
    size_t count = count_jvm_frames(json, list);
    uint32_t item = 0;
    int status;

    if (count > most) {
        schema_fail_member(walk, "stacktraces", "too many frames");
        return 422;
    }
    request->frames = calloc(count + 1, sizeof(*request->frames));
    request->stacks = calloc(list != 0 ? json->values[list].size + 1 : 1,
                             sizeof(*request->stacks));
    if (request->frames == NULL || request->stacks == NULL) {
        return 500;
    }
    while (schema_next(walk, "stacktraces", list, &item)) {
        status = read_stack(request, walk, item,
                            &request->stacks[request->nstacks++]);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int read_exceptions(struct jvm_request *request,
                           struct schema_walk *walk, uint32_t list)
{
    uint32_t item = 0;

    if (list == 0) {
        return 0;
    }
    request->exceptions = calloc((size_t)walk->json->values[list].size + 1,
                                 sizeof(*request->exceptions));
    if (request->exceptions == NULL) {
        return 500;
    }
    while (schema_next(walk, "exceptions", list, &item)) {
        if (!read_exception(request, walk, item,
                            &request->exceptions[request->nexceptions++])) {
            return 422;
        }
    }
    return 0;
}

static bool read_module(struct jvm_request *request, struct schema_walk *walk,
                        uint32_t value, struct jvm_request_module *module)
{
    uint32_t found[COUNT(jvm_module_members)];
    struct symc_string id;

    if (!schema_object(walk, value, jvm_module_members,
                       COUNT(jvm_module_members), found)) {
        return false;
    }
    id = schema_text(&request->json, found[0]);
    if (!symcache_debug_id_read(id.data, id.size, module->guid, &module->age)) {
        return schema_fail_member(walk, "uuid", "invalid debug identifier");
    }
    module->is_source = json_is(&request->json, found[1], "source");
    return true;
}

static int read_modules(struct jvm_request *request, struct schema_walk *walk,
                        uint32_t list, size_t most)
{
    const struct json *json = &request->json;
    uint32_t item = 0;

    if (list == 0) {
        return 0;
    }
    if (json->values[list].size > most) {
        schema_fail_member(walk, "modules", "too many modules");
        return 422;
    }
    request->modules = calloc((size_t)json->values[list].size + 1,
                              sizeof(*request->modules));
    if (request->modules == NULL) {
        return 500;
    }
    while (schema_next(walk, "modules", list, &item)) {
        if (!read_module(request, walk, item,
                         &request->modules[request->nmodules++])) {
            return 422;
        }
    }
    return 0;
}

static bool read_options(struct jvm_request *request, struct schema_walk *walk,
                         uint32_t value)
{
    const struct json *json = &request->json;
    uint32_t found[COUNT(jvm_option_members)];

    if (!schema_part(walk, "options", value, jvm_option_members,
                     COUNT(jvm_option_members), found)) {
        return false;
    }
    request->wants_context =
        found[0] == 0 || json->values[found[0]].type == JSON_TRUE;
    request->is_caller_first =
        found[1] == 0 || json_is(json, found[1], "caller_first");
    return true;
}

int jvm_request_read(struct jvm_request *request, char *body, size_t size,
                     size_t most_frames, size_t most_modules, char *error,
                     size_t error_size)
{
    struct schema_walk walk = {.error = error, .error_size = error_size};
    uint32_t found[JVM_BODY_MEMBERS];
    int status;

    memset(request, 0, sizeof(*request));
    status = schema_read(&walk, &request->json, body, size, VALUES_MAX, false);
    if (status != 0) {
        return status;
    }
    if (!schema_object(&walk, 0, jvm_body_members, JVM_BODY_MEMBERS, found) ||
        !read_options(request, &walk, found[JVM_BODY_OPTIONS])) {
        return 422;
    }
    request->sources = found[JVM_BODY_SOURCES];
    request->classes = found[JVM_BODY_CLASSES];
    request->release_package =
        schema_text(&request->json, found[JVM_BODY_PACKAGE]);
    status = read_exceptions(request, &walk, found[JVM_BODY_EXCEPTIONS]);
    if (status == 0) {
        status = read_stacks(request, &walk, found[JVM_BODY_STACKTRACES],
                             most_frames);
    }
    if (status == 0) {
        status = read_modules(request, &walk, found[JVM_BODY_MODULES],
                              most_modules);
    }
    return status;
}

void jvm_request_free(struct jvm_request *request)
{
    json_free(&request->json);
    free(request->exceptions);
    free(request->stacks);
    free(request->frames);
    free(request->modules);
    memset(request, 0, sizeof(*request));
}
