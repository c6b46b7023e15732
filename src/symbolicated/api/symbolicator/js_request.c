/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "schema.h"

#define VALUES_MAX ((size_t)4 << 20) /* of a request */

enum body_member {
    JS_BODY_PLATFORM,
    JS_BODY_SOURCE,
    JS_BODY_STACKTRACES,
    JS_BODY_MODULES,
    JS_BODY_RELEASE,
    JS_BODY_DIST,
    JS_BODY_ALLOW_SCRAPING,
    JS_BODY_SCRAPING,
    JS_BODY_OPTIONS,
    JS_BODY_MEMBERS
};

static const struct schema_member js_body_members[JS_BODY_MEMBERS] = {
    [JS_BODY_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_BODY_SOURCE] = {"source", SCHEMA_OBJECT, SCHEMA_REQUIRED, NULL},
    [JS_BODY_STACKTRACES] = {"stacktraces", SCHEMA_LIST, SCHEMA_OPTIONAL,
                             NULL},
    [JS_BODY_MODULES] = {"modules", SCHEMA_LIST, SCHEMA_OPTIONAL, NULL},
    [JS_BODY_RELEASE] = {"release", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_BODY_DIST] = {"dist", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_BODY_ALLOW_SCRAPING] = {"allow_scraping", SCHEMA_BOOL, SCHEMA_OPTIONAL,
                                NULL},
    [JS_BODY_SCRAPING] = {"scraping", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
    [JS_BODY_OPTIONS] = {"options", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
};

enum { SOURCE_ID, SOURCE_URL, SOURCE_TOKEN, SOURCE_COOKIES, SOURCE_MEMBERS };

static const struct schema_member js_source_members[SOURCE_MEMBERS] = {
    [SOURCE_ID] = {"id", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [SOURCE_URL] = {"url", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [SOURCE_TOKEN] = {"token", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [SOURCE_COOKIES] = {"cookies", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
};

static const struct schema_member js_stack_members[] = {
    {"frames", SCHEMA_LIST, SCHEMA_REQUIRED, NULL},
};

static const char *const js_module_types[] = {"sourcemap", NULL};

static const struct schema_member js_module_members[] = {
    {"type", SCHEMA_ENUMERATION, SCHEMA_REQUIRED, js_module_types},
    {"code_file", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    {"debug_id", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
};

static const struct schema_member js_scraping_members[] = {
    {"enabled", SCHEMA_BOOL, SCHEMA_REQUIRED, NULL},
    {"allowed_origins", SCHEMA_STRINGS, SCHEMA_REQUIRED, NULL},
    {"headers", SCHEMA_MAP, SCHEMA_REQUIRED, NULL},
    {"verify_ssl", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
};

static const struct schema_member js_option_members[] = {
    {"apply_source_context", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
    {"frame_order", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL, schema_frame_orders},
};

static const struct schema_member js_frame_members[JS_FRAME_MEMBERS] = {
    [JS_PLATFORM] = {"platform", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_FUNCTION] = {"function", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_FILENAME] = {"filename", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_MODULE] = {"module", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_ABS_PATH] = {"abs_path", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [JS_LINENO] = {"lineno", SCHEMA_U32, SCHEMA_REQUIRED, NULL},
    [JS_COLNO] = {"colno", SCHEMA_U32, SCHEMA_NULLABLE, NULL},
    [JS_PRE_CONTEXT] = {"pre_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL, NULL},
    [JS_CONTEXT_LINE] = {"context_line", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [JS_POST_CONTEXT] = {"post_context", SCHEMA_STRINGS, SCHEMA_OPTIONAL,
                         NULL},
    [JS_DATA] = {"data", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
};

/* What is absent is true. */
static bool is_true(const struct json *json, uint32_t value)
{
    return value == 0 || json->values[value].type == JSON_TRUE;
}

static bool read_source(struct js_request *request, struct schema_walk *walk,
                        uint32_t value)
{
    uint32_t found[SOURCE_MEMBERS];

    schema_enter(walk, "source", 0);
    if (!schema_object(walk, value, js_source_members, SOURCE_MEMBERS,
                       found)) {
        return false;
    }
    request->source = schema_text(&request->json, found[SOURCE_URL]);
    request->token = schema_text(&request->json, found[SOURCE_TOKEN]);
    request->cookies = schema_text(&request->json, found[SOURCE_COOKIES]);
    if (request->token.data == NULL && request->cookies.data == NULL) {
        return schema_fail(walk, "missing field `token` or `cookies`");
    }
    schema_leave(walk);
    return true;
}

static bool is_equal(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* A script by its path, as its number + 1; or 0. */
static size_t find_script(const struct js_request *request, uint64_t hash,
                          struct symc_string path)
{
    size_t at = 0;
    uintptr_t found;

    do {
        found = table_next(&request->paths, hash, &at);
    } while (found != 0 &&
             !is_equal(request->scripts[found - 1].abs_path, path));
    return found;
}

static uint64_t hash_path(const struct js_request *request,
                          struct symc_string path)
{
    return table_hash((uintptr_t)request, path.data, path.size);
}

/* The number of a frame's script, which may be new.  One that there was no
 * memory for in the table is another one the next time. */
static size_t script_number(struct js_request *request,
                            struct symc_string path)
{
    const struct js_frame *before =
        request->nframes > 0 ? &request->frames[request->nframes - 1] : NULL;
    uint64_t hash;
    size_t found;

    if (before != NULL && is_equal(before->abs_path, path)) {
        return before->script;
    }
    hash = hash_path(request, path);
    found = find_script(request, hash, path);
    if (found == 0) {
        request->scripts[request->nscripts].abs_path = path;
        found = ++request->nscripts;
        (void)table_add(&request->paths, hash, found);
    }
    return found - 1;
}

static bool read_frame(struct js_request *request, struct schema_walk *walk,
                       uint32_t value, struct js_frame *frame)
{
    static const char async[] = "async ";
    const struct json *json = &request->json;
    uint64_t line = 0, column = 0;

    if (!schema_object(walk, value, js_frame_members, JS_FRAME_MEMBERS,
                       frame->members)) {
        return false;
    }
    json_integer(json, frame->members[JS_LINENO], &line);
    if (frame->members[JS_COLNO] != 0) {
        json_integer(json, frame->members[JS_COLNO], &column);
    }
    frame->line = (uint32_t)line;
    frame->column = (uint32_t)column;
    frame->abs_path = schema_text(&request->json, frame->members[JS_ABS_PATH]);
    if (frame->abs_path.size >= strlen(async) &&
        memcmp(frame->abs_path.data, async, strlen(async)) == 0) {
        frame->abs_path.data += strlen(async);
        frame->abs_path.size -= strlen(async);
    }
    frame->script = script_number(request, frame->abs_path);
    return true;
}

static bool read_stack(struct js_request *request, struct schema_walk *walk,
                       uint32_t value)
{
    struct js_stack *stack = &request->stacks[request->nstacks++];
    uint32_t found[COUNT(js_stack_members)], item = 0;

    if (!schema_object(walk, value, js_stack_members, COUNT(js_stack_members),
                       found)) {
        return false;
    }
    stack->first = request->nframes;
    while (schema_next(walk, "frames", found[0], &item)) {
        if (!read_frame(request, walk, item,
                        &request->frames[request->nframes])) {
            return false;
        }
        request->nframes++;
        stack->count++;
    }
    return true;
}

/* How many frames a list of stacks has, whatever else it is. */
static size_t count_script_frames(const struct json *json, uint32_t list)
{
    size_t n = 0;
    uint32_t i, frames;

    for (i = list + 1; list != 0 && i < json->values[list].end;
         i = json->values[i].end) {
        frames = json->values[i].type == JSON_ARRAY && json->values[i].size > 0
                     ? i + 1
                     : json_member(json, i, "frames");
        n += frames != 0 ? json->values[frames].size : 0;
    }
    return n;
}

static int read_stacks(struct js_request *request, struct schema_walk *walk,
                       uint32_t list, size_t most_frames, size_t most_scripts)
{
    const struct json *json = &request->json;
    size_t count = count_script_frames(json, list);
    bool is_good = true;
    uint32_t item = 0;

    if (count > most_frames) {
        schema_fail_member(walk, "stacktraces", "too many frames");
        return 422;
    }
    request->frames = calloc(count + 1, sizeof(*request->frames));
    request->scripts = calloc(count + 1, sizeof(*request->scripts));
    request->stacks = calloc(list != 0 ? json->values[list].size + 1 : 1,
                             sizeof(*request->stacks));
    if (request->frames == NULL || request->scripts == NULL ||
        request->stacks == NULL) {
        return 500;
    }
    while (is_good && schema_next(walk, "stacktraces", list, &item)) {
        is_good = read_stack(request, walk, item);
    }
    if (is_good && request->nscripts > most_scripts) {
        is_good = schema_fail_member(walk, "stacktraces", "too many scripts");
    }
    return is_good ? 0 : 422;
}

/* Writes an id as Sentry does; a text that is not an id yields none. */
static void print_debug_id(char id[JS_DEBUG_ID], struct symc_string text)
{
    uint8_t guid[16];
    uint32_t age;

    if (symcache_debug_id_read(text.data, text.size, guid, &age)) {
        symcache_debug_id_write(id, guid, age);
    }
}

static bool read_modules(struct js_request *request, struct schema_walk *walk,
                         uint32_t list)
{
    uint32_t item = 0, found[COUNT(js_module_members)];
    struct symc_string file;
    size_t script;

    while (schema_next(walk, "modules", list, &item)) {
        if (!schema_object(walk, item, js_module_members,
                           COUNT(js_module_members), found)) {
            return false;
        }
        file = schema_text(&request->json, found[1]);
        script = find_script(request, hash_path(request, file), file);
        if (script != 0) {
            print_debug_id(request->scripts[script - 1].debug_id,
                           schema_text(&request->json, found[2]));
        }
    }
    return true;
}

static bool read_options(struct js_request *request, struct schema_walk *walk,
                         const uint32_t *body)
{
    const struct json *json = &request->json;
    uint32_t scraping[COUNT(js_scraping_members)];
    uint32_t found[COUNT(js_option_members)];

    if (!schema_part(walk, "scraping", body[JS_BODY_SCRAPING],
                     js_scraping_members, COUNT(js_scraping_members),
                     scraping) ||
        !schema_part(walk, "options", body[JS_BODY_OPTIONS], js_option_members,
                     COUNT(js_option_members), found)) {
        return false;
    }
    request->has_scraping = is_true(json, body[JS_BODY_ALLOW_SCRAPING]) &&
                            is_true(json, scraping[0]);
    request->origins = scraping[1];
    request->headers = scraping[2];
    request->wants_context = is_true(json, found[0]);
    request->is_caller_first =
        found[1] == 0 || json_is(json, found[1], "caller_first");
    return true;
}

int js_request_read(struct js_request *request, char *body, size_t size,
                    size_t most_frames, size_t most_scripts, char *error,
                    size_t error_size)
{
    struct schema_walk walk = {.error = error, .error_size = error_size};
    uint32_t found[JS_BODY_MEMBERS];
    int status;

    status = schema_read(&walk, &request->json, body, size, VALUES_MAX, false);
    if (status != 0) {
        return status;
    }
    if (!schema_object(&walk, 0, js_body_members, JS_BODY_MEMBERS, found) ||
        !read_source(request, &walk, found[JS_BODY_SOURCE])) {
        return 422;
    }
    status = read_stacks(request, &walk, found[JS_BODY_STACKTRACES],
                         most_frames, most_scripts);
    if (status != 0) {
        return status;
    }
    if (!read_modules(request, &walk, found[JS_BODY_MODULES]) ||
        !read_options(request, &walk, found)) {
        return 422;
    }
    request->release = schema_text(&request->json, found[JS_BODY_RELEASE]);
    request->dist = schema_text(&request->json, found[JS_BODY_DIST]);
    return 0;
}

void js_request_free(struct js_request *request)
{
    json_free(&request->json);
    free(request->stacks);
    free(request->frames);
    free(request->scripts);
    table_free(&request->paths);
}
