/*
 * Copyright (C) the ngx_symcache authors
 *
 * Asks a server for the names of a stack trace of JavaScript: POST
 * /symbolicate-js.
 */
#include "script_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_ids.h"
#include "symbolication/js/js.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/json_request.h"
#include "symcachectl/terminal/printable.h"

static struct {
    struct script_trace *trace;
    bool is_json;
    char none[2048]; /* why nothing is found, in words */
    int code;
} script_request;

static cJSON *script_request_frame(const struct jstrace_frame *frame)
{
    cJSON *object = cJSON_CreateObject();

    cjson_add_text(object, "platform", "javascript");
    cjson_add_string(object, "abs_path", frame->url.data, frame->url.size);
    cjson_add_number(object, "lineno", frame->line);
    cjson_add_number(object, "colno", frame->column);
    if (frame->function.size > 0) {
        cjson_add_string(object, "function", frame->function.data,
                         frame->function.size);
    }
    return object;
}

/* Names the debug ids of scripts; one of several frames in a row once. */
static void script_request_add_modules(cJSON *root,
                                       const struct script_trace *trace,
                                       const char *ids)
{
    cJSON *modules = cjson_add_list(root, "modules"), *module;
    const struct jstrace_frame *frame, *last = NULL;
    struct symc_string id;
    size_t i;

    for (i = 0; i < trace->count; i++) {
        frame = &trace->lines[i].frame;
        if (!trace->lines[i].is_frame ||
            (last != NULL && last->url.size == frame->url.size &&
             memcmp(last->url.data, frame->url.data, last->url.size) == 0)) {
            continue;
        }
        last = frame;
        id = script_ids_find(ids, frame);
        if (id.data == NULL) {
            continue;
        }
        module = cjson_append_object(modules);
        cjson_add_text(module, "type", "sourcemap");
        cjson_add_string(module, "code_file", frame->url.data,
                         frame->url.size);
        cjson_add_string(module, "debug_id", id.data, id.size);
    }
}

/* The request for all frames; a trace ends with a line that is none.  It names
 * no artifacts, so that the server's own files are all that there is. */
static char *script_request_make(const struct script_trace *trace,
                                 const struct script_options *of)
{
    size_t i;
    cJSON *root = cJSON_CreateObject(), *source = cJSON_CreateObject();
    cJSON *stacks = cJSON_CreateArray(), *frames = NULL, *options;

    for (i = 0; i < trace->count; i++) {
        if (!trace->lines[i].is_frame) {
            frames = NULL;
            continue;
        }
        if (frames == NULL) {
            frames = cjson_add_list(cjson_append_object(stacks), "frames");
        }
        cjson_append(frames, script_request_frame(&trace->lines[i].frame));
    }
    options = cJSON_CreateObject();
    cjson_add_text(options, "frame_order", "callee_first");
    cjson_add(options, "apply_source_context", cJSON_CreateFalse());
    cjson_add_text(source, "id", "symcachectl");
    cjson_add_text(source, "url", "https://symcachectl.invalid/");
    cjson_add_text(source, "token", "none");
    cjson_add(root, "source", source);
    if (of->release != NULL) {
        cjson_add_text(root, "release", of->release);
    }
    if (of->dist != NULL) {
        cjson_add_text(root, "dist", of->dist);
    }
    if (of->debug_id != NULL) {
        script_request_add_modules(root, trace, of->debug_id);
    }
    cjson_add(root, "options", options);
    cjson_add(root, "stacktraces", stacks);
    return cjson_finish(root);
}

static struct symc_string request_text(const cJSON *object, const char *key)
{
    const char *text = printable_field(object, key);
    const struct symc_string string = {text, strlen(text)};

    return string;
}

static void script_request_take_frame(const cJSON *frame,
                                      struct script_line *line)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(frame, "data");
    char *function = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(frame, "function"));

    line->is_found =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(data, "symbolicated"));
    line->function = (struct symc_string){function, 0};
    if (function != NULL) {
        line->function.size =
            script_drop_second_hash(function, strlen(function));
    }
    line->file = request_text(frame, "filename");
    line->line = (uint64_t)printable_number(frame, "lineno");
    line->column = (uint64_t)printable_number(frame, "colno");
    line->why = cJSON_GetObjectItemCaseSensitive(frame, "why");
}

#define NO_MODULES                                                            \
    "a server names no frames of WebAssembly in a text; --maps FOLDER does"

static void request_set_none(const char *why)
{
    snprintf(script_request.none, sizeof(script_request.none), "%s", why);
}

/* Why a release has nothing: it can have the scripts under other paths. */
static void request_explain_release(struct script_trace *trace,
                                    const struct script_options *options)
{
    struct symc_string path = {"", 0};
    size_t i = 0, size = 0;

    snprintf(trace->release, sizeof(trace->release),
             "release \"%.250s\"%s%.250s%s", options->release,
             options->dist != NULL ? ", dist \"" : " without a dist",
             options->dist != NULL ? options->dist : "",
             options->dist != NULL ? "\"" : "");
    while (i < trace->count && !trace->lines[i].is_frame) {
        i++;
    }
    if (i < trace->count) {
        path.data = trace->lines[i].frame.url.data;
        path.size = trace->lines[i].frame.url.size;
        path = js_path(path);
    }
    while (size < path.size && size < 1024 && path.data[size] != '?' &&
           path.data[size] != '#') {
        size++;
    }
    snprintf(script_request.none, sizeof(script_request.none),
             "the server has no source map of these scripts in %s, under "
             "paths such as \"~%.*s\": \"symcachectl uploads ls --release "
             "'*'\" on the server lists releases, and --url-prefix of "
             "\"sentry-cli sourcemaps upload\" gives scripts other paths",
             trace->release, (int)size, path.data);
}

static void script_request_print_answer(const cJSON *answer)
{
    size_t i = 0, scripts = 0, modules = 0;
    const cJSON *stack, *frame, *error;
    const char *type;
    struct script_trace *trace = script_request.trace;

    cJSON_ArrayForEach(stack,
                       cJSON_GetObjectItemCaseSensitive(answer, "stacktraces"))
    {
        cJSON_ArrayForEach(frame,
                           cJSON_GetObjectItemCaseSensitive(stack, "frames"))
        {
            while (i < trace->count && !trace->lines[i].is_frame) {
                i++;
            }
            if (i < trace->count) {
                scripts += !trace->lines[i].frame.is_wasm;
                modules += trace->lines[i].frame.is_wasm;
                script_request_take_frame(frame, &trace->lines[i++]);
            }
        }
    }
    cJSON_ArrayForEach(error, cjson_get(answer, "errors"))
    {
        type = printable_field(error, "type");
        if (strcmp(type, "fetching_failed") == 0) {
            request_set_none(
                "the server could not look for a file of these scripts: "
                "its log says why");
        } else if (strcmp(type, "malformed_sourcemap") == 0) {
            request_set_none("a source map is malformed");
            fputs("symcachectl: ", stderr);
            printable_put_field(stderr, error, "abs_path");
            fputs(": its source map is malformed: ", stderr);
            printable_put_field(stderr, error, "url");
            fputc('\n', stderr);
        }
    }
    if (modules > 0 && scripts == 0) {
        request_set_none(NO_MODULES);
    } else if (modules > 0) {
        fputs("symcachectl: note: " NO_MODULES "\n", stderr);
    }
    script_request.code = script_print_trace(
        trace, script_request.is_json, COMMAND_NOT_FOUND, script_request.none);
}

static int script_request_judge(const cJSON *answer)
{
    return script_request.code;
}

int script_request_names(const struct settings *settings,
                         const struct script_options *options,
                         struct script_trace *trace)
{
    int code;
    char *request = script_request_make(trace, options);
    struct settings plain = *settings;

    script_request.trace = trace;
    script_request.is_json = settings->is_json != 0;
    if (options->release != NULL) {
        request_explain_release(trace, options);
    } else {
        request_set_none(
            options->debug_id != NULL
                ? "the server has no source map of these scripts"
                : "the server has no source map of these scripts; what "
                  "was uploaded is found with --debug-id ID or --release "
                  "TEXT only");
    }
    plain.is_json = 0; /* prints a text made from the answer, not the answer */
    code = json_request_post(
        &plain, options->why ? "/symbolicate-js?why=1" : "/symbolicate-js",
        request, script_request_print_answer, script_request_judge);
    free(request);
    return code;
}
