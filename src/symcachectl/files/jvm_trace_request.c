/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a stack trace of the JVM and without a mapping
 * at hand: a mapping has no id in the program, so the trace is asked for one
 * by the UUID that build plugins give it, as a request of POST
 * /symbolicate-jvm.
 */
#include "symbolicate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_names.h"
#include "symbolication/jvm/jvm.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

/* The text that is printed; an answer has the numbers of its lines. */
static struct symc_string trace;
static const char *mapping; /* its UUID */
static bool is_json;
static bool is_asked; /* a store or a server: it has the mapping, or not */
static size_t num_named; /* frames that the mapping knows */

bool jvm_trace_is_uuid(const char *text)
{
    size_t i;

    for (i = 0; i < JVM_UUID; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23
                ? text[i] != '-'
                : !isxdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return true;
}

/* Finds a UUID in a line that says what it is of, as in Sentry's entry of a
 * manifest, "io.sentry.proguard-uuids".  Returns it, or NULL. */
static const char *jvm_find_uuid(const char *text)
{
    static const char *const words[] = {"proguard", "ProGuard", "mapping"};
    const char *p, *end;
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (p = strstr(text, words[i]); p != NULL; p = strstr(p, words[i])) {
            end = p + strcspn(p, "\n");
            for (p += strlen(words[i]); p < end; p++) {
                if (!isxdigit((unsigned char)p[-1]) && jvm_trace_is_uuid(p) &&
                    !isxdigit((unsigned char)p[JVM_UUID])) {
                    return p;
                }
            }
        }
    }
    return NULL;
}

/* Gets the next line of a text with its end. */
static bool jvm_next_line(struct symc_string *rest, struct symc_string *whole,
                          struct jvm_line *jvm_line)
{
    const char *lf = memchr(rest->data, '\n', rest->size);
    size_t size = lf != NULL ? (size_t)(lf - rest->data) : rest->size;
    struct symc_string bare = {rest->data, size};

    if (rest->size == 0) {
        return false;
    }
    bare.size -= size > 0 && bare.data[size - 1] == '\r';
    jvm_line_read(jvm_line, bare);
    *whole = (struct symc_string){rest->data, size + (lf != NULL)};
    rest->data += whole->size;
    rest->size -= whole->size;
    return true;
}

/* the request ------------------------------------------------------------- */

/* Returns its frames. */
static cJSON *add_trace(cJSON *stacks, const struct jvm_line *thrown)
{
    cJSON *stack = cjson_append_object(stacks), *exception;
    struct symc_string type, package = {"", 0};
    const char *dot;

    if (thrown != NULL) {
        type = thrown->class;
        dot = memrchr(type.data, '.', type.size);
        if (dot != NULL) {
            package =
                (struct symc_string){type.data, (size_t)(dot - type.data)};
            type.data += package.size + 1;
            type.size -= package.size + 1;
        }
        exception = cJSON_CreateObject();
        cjson_add(stack, "exception", exception);
        cjson_add_string(exception, "type", type.data, type.size);
        cjson_add_string(exception, "module", package.data, package.size);
    }
    return cjson_add_list(stack, "frames");
}

static char *make_request(void)
{
    cJSON *root = cJSON_CreateObject(), *stacks, *frames = NULL, *object;
    struct symc_string rest = trace, whole;
    struct jvm_line jvm_line;
    unsigned number;

    cjson_add_list(root, "sources");
    cjson_add(root, "options", object = cJSON_CreateObject());
    cjson_add_text(object, "frame_order", "callee_first");
    object = cjson_append_object(cjson_add_list(root, "modules"));
    cjson_add_text(object, "type", "proguard");
    cjson_add_string(object, "uuid", mapping, JVM_UUID);
    stacks = cjson_add_list(root, "stacktraces");
    for (number = 0; jvm_next_line(&rest, &whole, &jvm_line); number++) {
        if (jvm_line.kind == JVM_LINE_EXCEPTION) {
            frames = add_trace(stacks, &jvm_line);
        } else if (jvm_line.kind == JVM_LINE_FRAME) {
            frames = frames != NULL ? frames : add_trace(stacks, NULL);
            object = cjson_append_object(frames);
            cjson_add_string(object, "module", jvm_line.class.data,
                             jvm_line.class.size);
            cjson_add_string(object, "function", jvm_line.method.data,
                             jvm_line.method.size);
            cjson_add_number(object, "index", number);
            if (jvm_line.line > 0) {
                cjson_add_number(object, "lineno", jvm_line.line);
            }
        }
    }
    return cjson_finish(root);
}

/* the answer -------------------------------------------------------------- */

static void jvm_put_line_text(struct symc_string text)
{
    printable_put_lines(stdout, text.data, text.size);
}

static void jvm_put_end(const struct jvm_line *jvm_line,
                        struct symc_string whole)
{
    const char *end = jvm_line->behind.data;

    jvm_put_line_text(
        (struct symc_string){end, whole.size - (size_t)(end - whole.data)});
}

/* Prints the frames that come of a line, and returns the first other one. */
static const cJSON *jvm_print_frames(const cJSON *frame, unsigned number,
                                     const struct jvm_line *jvm_line,
                                     struct symc_string whole)
{
    const char *method_end = jvm_line->method.data + jvm_line->method.size;

    for (; frame != NULL && printable_number(frame, "index") == number;
         frame = frame->next) {
        if (cjson_get(frame, "filename") == NULL) {
            jvm_put_line_text(whole); /* it is not in the mapping */
            continue;
        }
        num_named++;
        jvm_put_line_text(jvm_line->before);
        printable_put_field(stdout, frame, "module");
        putchar('.');
        printable_put_field(stdout, frame, "function");
        jvm_put_line_text((struct symc_string){
            method_end, (size_t)(jvm_line->open + 1 - method_end)});
        printable_put_field(stdout, frame, "filename");
        if (printable_number(frame, "lineno") > 0) {
            printf(":%.0f", printable_number(frame, "lineno"));
        }
        putchar(')');
        jvm_put_end(jvm_line, whole);
    }
    return frame;
}

static void print_exception(const cJSON *exception,
                            const struct jvm_line *jvm_line,
                            struct symc_string whole)
{
    const char *package = printable_field(exception, "module");

    jvm_put_line_text(jvm_line->before);
    printable_put(stdout, package);
    fputs(package[0] != '\0' ? "." : "", stdout);
    printable_put_field(stdout, exception, "type");
    jvm_put_end(jvm_line, whole);
}

static void jvm_count_named(const cJSON *answer)
{
    const cJSON *stack, *frame;

    cJSON_ArrayForEach(stack, cjson_get(answer, "stacktraces"))
    {
        cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
        {
            num_named += cjson_get(frame, "filename") != NULL;
        }
    }
}

static void jvm_print_answer(const cJSON *answer)
{
    const cJSON *stack = NULL, *frame = NULL, *error;
    const cJSON *errors = is_asked ? cjson_get(answer, "errors") : NULL;
    struct symc_string rest = trace, whole;
    struct jvm_line jvm_line;
    unsigned number;

    if (is_json) {
        jvm_count_named(answer);
        printable_json(stdout, answer);
        return;
    }
    cJSON_ArrayForEach(error, errors)
    {
        fprintf(stderr, "symcachectl: mapping %s: %s\n",
                printable_field(error, "uuid"),
                printable_field(error, "type"));
    }
    for (number = 0; jvm_next_line(&rest, &whole, &jvm_line); number++) {
        if (jvm_line.kind != JVM_LINE_OTHER &&
            (stack == NULL || jvm_line.kind == JVM_LINE_EXCEPTION)) {
            stack = stack != NULL ? stack->next
                                  : cjson_get(answer, "stacktraces")->child;
            frame = stack != NULL ? cjson_get(stack, "frames")->child : NULL;
        }
        if (jvm_line.kind == JVM_LINE_EXCEPTION) {
            print_exception(cjson_get(stack, "exception"), &jvm_line, whole);
        } else if (jvm_line.kind == JVM_LINE_FRAME) {
            frame = jvm_print_frames(frame, number, &jvm_line, whole);
        } else {
            jvm_put_line_text(whole);
        }
    }
}

int jvm_trace_request_show(struct settings *settings, const char *uuid,
                           const char *file, const char *text, size_t size)
{
    char *request;
    int code;

    trace = (struct symc_string){text, size};
    mapping = uuid != NULL ? uuid : jvm_find_uuid(text);
    if (mapping == NULL) {
        fprintf(stderr, "symcachectl: nothing names a mapping (--mapping): "
                        "the trace is printed as it is\n");
        jvm_put_line_text(trace);
        return command_finish(COMMAND_NOT_FOUND);
    }
    is_json = settings->is_json != 0;
    settings->is_json = 0; /* an answer of a server is printed as ours is */
    is_asked = settings->root != NULL || !report_names_here(settings);
    request = make_request();
    code = report_names(settings, "/symbolicate-jvm", file, request,
                        "the trace is printed as it is", jvm_print_answer);
    free(request);
    return code == COMMAND_OK && num_named == 0 ? COMMAND_NOT_FOUND : code;
}
