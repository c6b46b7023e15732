/*
 * Copyright (C) the ngx_symcache authors
 */
#include "jvm_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "frame_source.h"
#include "absence_reason.h"

struct jvm_answer {
    const struct jvm_request *request;
    struct jvm_traces *traces;
    const struct jvm_sources *sources;
    struct json_writer *w;
    size_t most; /* bytes; what is larger is not written to its end */
    char *file; /* two texts in one */
    size_t file_room;
    char *url; /* of a source file */
    size_t url_room;
    struct frame_source lines;
};

static bool is_full(const struct jvm_answer *answer)
{
    return answer->w->size > answer->most;
}

static void write_exception(struct json_writer *w, struct symc_string type,
                            struct symc_string module)
{
    json_write_open(w, '{');
    json_put_string(w, "type", type.data, type.size);
    json_put_string(w, "module", module.data, module.size);
    json_write_close(w, '}');
}

/* A member as it was sent, if it was. */
static void write_given(const struct jvm_answer *answer,
                        const struct jvm_request_frame *frame,
                        enum jvm_frame_member member, const char *name)
{
    json_put_value(answer->w, name, &answer->request->json,
                   frame->members[member]);
}

/* The file of a frame that was mapped, in one piece.  Returns 0, or -1 when out
 * of memory. */
static int join_file(struct jvm_answer *answer,
                     const struct jvm_mapped *mapped, struct symc_string *file)
{
    const size_t size = mapped->file.size;

    *file = mapped->file;
    if (mapped->extension.size == 0) {
        return 0;
    }
    if (array_need(&answer->file, &answer->file_room,
                   size + mapped->extension.size, 1) != 0) {
        return -1;
    }
    memcpy(answer->file, mapped->file.data, size);
    memcpy(answer->file + size, mapped->extension.data,
           mapped->extension.size);
    *file = (struct symc_string){answer->file, size + mapped->extension.size};
    return 0;
}

static bool is_in_app(const struct jvm_answer *answer,
                      const struct jvm_mapped *mapped)
{
    const struct symc_string *package = &answer->request->release_package;

    return package->data != NULL && mapped->class.size >= package->size &&
           memcmp(mapped->class.data, package->data, package->size) == 0;
}

static int write_names(struct jvm_answer *answer,
                       const struct jvm_request_frame *frame,
                       const struct jvm_traces_output *output)
{
    const struct jvm_mapped *mapped = &output->frame;
    struct symc_string file;

    if (!output->is_mapped) {
        write_given(answer, frame, JVM_FUNCTION, "function");
        write_given(answer, frame, JVM_FILENAME, "filename");
        write_given(answer, frame, JVM_MODULE, "module");
        write_given(answer, frame, JVM_ABS_PATH, "abs_path");
        write_given(answer, frame, JVM_LINENO, "lineno");
        return 0;
    }
    if (join_file(answer, mapped, &file) != 0) {
        return -1;
    }
    json_put_string(answer->w, "function", mapped->method.data,
                    mapped->method.size);
    json_put_string(answer->w, "filename", file.data, file.size);
    json_put_string(answer->w, "module", mapped->class.data,
                    mapped->class.size);
    json_put_string(answer->w, "abs_path", file.data, file.size);
    if (mapped->has_line) {
        json_put_number(answer->w, "lineno", mapped->line);
    }
    return 0;
}

static void write_in_app(const struct jvm_answer *answer,
                         const struct jvm_request_frame *frame,
                         const struct jvm_traces_output *output)
{
    if (frame->members[JVM_IN_APP] == 0 && output->is_mapped &&
        is_in_app(answer, &output->frame)) {
        json_put_bool(answer->w, "in_app", true);
    } else {
        write_given(answer, frame, JVM_IN_APP, "in_app");
    }
}

static bool is_synthesized(const struct jvm_answer *answer,
                           const struct jvm_request_frame *frame,
                           const struct jvm_traces_output *output)
{
    uint32_t given = frame->members[JVM_METHOD_SYNTHESIZED];

    return output->is_mapped
               ? output->frame.is_synthesized
               : given != 0 &&
                     answer->request->json.values[given].type == JSON_TRUE;
}

/* source code -------------------------------------------------------------*/

/* A frame of the answer, mapped or not. */
struct code_line {
    struct symc_string module;
    struct symc_string path;
    uint64_t line; /* 0: it is not known */
};

static struct symc_string given_text(const struct jvm_answer *answer,
                                     uint32_t value)
{
    struct symc_string text = {"", 0};

    if (value != 0) {
        text.data = json_text(&answer->request->json, value);
        text.size = answer->request->json.values[value].size;
    }
    return text;
}

/* Without a part from the last of a character on; false: there is none. */
static bool cut_last(struct symc_string *text, char c)
{
    const char *at = memrchr(text->data, c, text->size);

    if (at == NULL) {
        return false;
    }
    text->size = (size_t)(at - text->data);
    return true;
}

/*
 * The path of a file in a bundle: that of the package and the name of the file,
 * or without a usable one that of the outermost class.
 */
static int make_url(struct jvm_answer *answer, const struct code_line *at,
                    struct symc_string *url)
{
    struct symc_string package = at->module, stem = at->path;
    const char *dollar;
    size_t i, n;
    char *p;

    if (memchr(stem.data, '$', stem.size) == NULL && cut_last(&stem, '.')) {
        package.size = cut_last(&package, '.') ? package.size : 0;
    } else {
        dollar = memchr(package.data, '$', package.size);
        package.size = dollar != NULL ? (size_t)(dollar - package.data)
                                      : package.size;
        stem.size = 0;
    }
    if (array_need(&answer->url, &answer->url_room,
                   package.size + stem.size + 8, 1) != 0) {
        return -1;
    }
    p = mempcpy(answer->url, "~/", 2);
    for (i = 0; i < package.size; i++) {
        *p++ = package.data[i] == '.' ? '/' : package.data[i];
    }
    if (package.size > 0 && stem.size > 0) {
        *p++ = '/';
    }
    p = mempcpy(p, stem.data, stem.size);
    p = mempcpy(p, ".jvm", 4);
    n = (size_t)(p - answer->url);
    *url = (struct symc_string){answer->url, n};
    return 0;
}

/* Looks for the lines around a place, in one bundle after the other.  Returns
 * 0, or -1 when out of memory. */
static int find_lines(struct jvm_answer *answer, const struct code_line *at)
{
    struct sourcecache_entry entry;
    struct symc_string url;
    size_t i;

    answer->lines.has_lines = answer->lines.is_known = false;
    answer->lines.link_size = 0;
    if (at->line == 0 || answer->sources->count == 0) {
        return 0;
    }
    if (make_url(answer, at, &url) != 0) {
        return -1;
    }
    for (i = 0; i < answer->sources->count && !answer->lines.has_lines &&
                jvm_traces_may_look(answer->traces);
         i++) {
        answer->lines.has_lines =
            sourcecache_find_url(answer->sources->list[i], url.data, url.size,
                                 &entry) &&
            entry.status == SOURCECACHE_TEXT &&
            source_context_read(&answer->lines.context, &answer->lines.known,
                                answer->sources->list[i], &entry,
                                (uint32_t)at->line);
    }
    return 0;
}

static int write_lines(struct jvm_answer *answer,
                       const struct jvm_request_frame *frame,
                       const struct jvm_traces_output *output)
{
    struct code_line at = {given_text(answer, frame->members[JVM_MODULE]),
                           given_text(answer, frame->members[JVM_ABS_PATH]),
                           frame->input.has_line ? frame->input.line : 0};

    if (output->is_mapped) {
        at.module = output->frame.class;
        at.line = output->frame.has_line ? output->frame.line : 0;
        if (join_file(answer, &output->frame, &at.path) != 0) {
            return -1;
        }
    }
    if (find_lines(answer, &at) != 0) {
        return -1;
    }
    if (answer->lines.has_lines) {
        frame_source_write(answer->w, &answer->lines);
        return 0;
    }
    frame_source_pass_lines(
        answer->w, &answer->request->json, frame->members[JVM_PRE_CONTEXT],
        frame->members[JVM_CONTEXT_LINE], frame->members[JVM_POST_CONTEXT]);
    return 0;
}

/* frames ------------------------------------------------------------------ */

static int write_frame(struct jvm_answer *answer,
                       const struct jvm_request_frame *frame,
                       const struct jvm_traces_output *output)
{
    struct json_writer *w = answer->w;

    json_write_open(w, '{');
    write_given(answer, frame, JVM_PLATFORM, "platform");
    if (write_names(answer, frame, output) != 0 ||
        write_lines(answer, frame, output) != 0) {
        return -1;
    }
    write_in_app(answer, frame, output);
    write_given(answer, frame, JVM_INDEX, "index");
    if (output->signature.data != NULL) {
        json_put_string(w, "signature", output->signature.data,
                        output->signature.size);
    } else {
        write_given(answer, frame, JVM_SIGNATURE, "signature");
    }
    if (is_synthesized(answer, frame, output)) {
        json_put_bool(w, "method_synthesized", true);
    }
    json_write_close(w, '}');
    return 0;
}

/* Finds and writes the frames of a stack.  Those of the stack before are needed
 * no more. */
static int write_frames(struct jvm_answer *answer,
                        const struct jvm_request_stack *stack,
                        const struct jvm_request_exception *exception)
{
    const struct jvm_request_frame *frames =
        answer->request->frames + stack->first;
    struct jvm_traces *t = answer->traces;
    struct jvm_traces_input *inputs =
        calloc(stack->count + 1, sizeof(*inputs));
    const size_t first = t->count;
    size_t i, n;
    int rc;

    if (inputs == NULL) {
        return -1;
    }
    for (i = 0; i < stack->count; i++) {
        inputs[i] = frames[i].input;
    }
    rc = jvm_traces_add(t, inputs, stack->count, exception->type,
                        exception->module);
    free(inputs);
    n = t->count - first;
    for (i = 0; rc == 0 && i < n && !is_full(answer); i++) {
        const struct jvm_traces_output *output =
            &t->outputs[first +
                        (answer->request->is_caller_first ? n - 1 - i : i)];

        rc = write_frame(answer, &frames[output->input], output);
    }
    return rc;
}

static int write_stack(struct jvm_answer *answer,
                       const struct jvm_request_stack *stack)
{
    struct jvm_request_exception exception = stack->exception;
    struct json_writer *w = answer->w;

    json_write_open(w, '{');
    json_write_key(w, "exception");
    if (exception.type.data == NULL) {
        json_write_raw(w, "null", 4);
    } else {
        if (jvm_traces_exception(answer->traces, &exception.type,
                                 &exception.module) != 0) {
            return -1;
        }
        write_exception(w, exception.type, exception.module);
    }
    json_put_open(w, "frames", '[');
    if (write_frames(answer, stack, &exception) != 0) {
        return -1;
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
    return 0;
}

static int write_exceptions(struct jvm_answer *answer)
{
    struct jvm_request_exception exception;
    size_t i;

    json_put_open(answer->w, "exceptions", '[');
    for (i = 0; i < answer->request->nexceptions && !is_full(answer); i++) {
        exception = answer->request->exceptions[i];
        if (jvm_traces_exception(answer->traces, &exception.type,
                                 &exception.module) != 0) {
            return -1;
        }
        write_exception(answer->w, exception.type, exception.module);
    }
    json_write_close(answer->w, ']');
    return 0;
}

/* Each class once, although it may have been sent several times. */
static int write_classes(struct jvm_answer *answer)
{
    const struct json *json = &answer->request->json;
    struct symc_string original;
    struct table seen = {0};
    uint32_t i, end, other;
    uint64_t hash;
    size_t at;
    int rc = 0;

    json_put_open(answer->w, "classes", '{');
    end = answer->request->classes != 0
              ? json->values[answer->request->classes].end
              : 0;
    for (i = answer->request->classes + 1;
         rc == 0 && i < end && !is_full(answer); i++) {
        const struct symc_string name = {json_text(json, i),
                                         json->values[i].size};

        hash = table_hash((uintptr_t)answer, name.data, name.size);
        for (at = 0; (other = (uint32_t)table_next(&seen, hash, &at)) != 0;) {
            if (json->values[other].size == name.size &&
                memcmp(json_text(json, other), name.data, name.size) == 0) {
                break;
            }
        }
        if (other != 0 || !jvm_traces_class(answer->traces, name, &original)) {
            continue;
        }
        json_write_name(answer->w, name.data, name.size);
        json_write_string(answer->w, original.data, original.size);
        rc = table_add(&seen, hash, i);
    }
    json_write_close(answer->w, '}');
    table_free(&seen);
    return rc;
}

static void write_errors(const struct jvm_answer *answer,
                         const enum jvm_error *errors)
{
    static const char *const types[] = {
        [JVM_ERROR_MISSING] = "missing",
        [JVM_ERROR_INVALID] = "invalid",
        [JVM_ERROR_FAILED] = "fetching_failed",
    };
    const struct jvm_request_module *module;
    char id[SYMCACHE_DEBUG_TEXT_MAX + 1];
    size_t i;

    json_put_open(answer->w, "errors", '[');
    for (i = 0; i < answer->request->nmodules; i++) {
        module = &answer->request->modules[i];
        if (module->is_source || errors[i] == JVM_NO_ERROR) {
            continue;
        }
        symcache_debug_id_write(id, module->guid, module->age);
        json_write_open(answer->w, '{');
        json_put_text(answer->w, "uuid", id);
        json_put_text(answer->w, "type", types[errors[i]]);
        json_write_close(answer->w, '}');
    }
    json_write_close(answer->w, ']');
}

/* The attempts for each file: the places asked and their answers. */
static void write_why(struct json_writer *w, const struct api_round *round)
{
    const struct api_module *module;
    char id[SYMCACHE_DEBUG_TEXT_MAX + 1];
    size_t i;

    json_put_open(w, "why", '[');
    for (i = 0; i < round->nmodules; i++) {
        module = &round->modules[i];
        symcache_debug_id_write(id, module->key.guid, module->key.age);
        json_write_open(w, '{');
        json_put_text(w, "type",
                      module->key.kind == SYMCACHE_KIND_SOURCECACHE
                          ? "source"
                          : "proguard");
        json_put_text(w, "uuid", id);
        json_put_text(w, "answer", absence_state(module));
        absence_attempts_write(w, module);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

int jvm_answer_write(const struct jvm_request *request,
                     struct jvm_traces *traces,
                     const struct jvm_sources *sources,
                     const enum jvm_error *errors, const struct api_round *why,
                     size_t most, struct json_writer *w)
{
    struct jvm_answer answer;
    size_t i;
    int rc;

    answer.request = request;
    answer.traces = traces;
    answer.sources = sources;
    answer.w = w;
    answer.most = most;
    answer.file = answer.url = NULL;
    answer.file_room = answer.url_room = 0;
    memset(&answer.lines.known, 0, sizeof(answer.lines.known));

    json_write_open(w, '{');
    json_put_text(w, "status", "completed");
    rc = write_exceptions(&answer);
    json_put_open(w, "stacktraces", '[');
    for (i = 0; rc == 0 && i < request->nstacks && !is_full(&answer); i++) {
        rc = write_stack(&answer, &request->stacks[i]);
    }
    json_write_close(w, ']');
    if (rc == 0) {
        rc = write_classes(&answer);
    }
    write_errors(&answer, errors);
    if (why != NULL) {
        write_why(w, why);
    }
    json_write_close(w, '}');
    free(answer.file);
    free(answer.url);
    text_lines_free(&answer.lines.known);
    return rc == 0 && !w->has_failed ? 0 : -1;
}
