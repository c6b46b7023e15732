/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ips.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "line_parser.h"
#include "report_builder.h"

/* A report is copied, as reading JSON changes it. */
#define SIZE_MAX_IPS ((size_t)64 << 20)

#define VALUES_MAX ((size_t)1 << 20)
#define HEADER_VALUES_MAX 4096

struct ips_reader {
    struct apple_report *report;
    struct json json;
    bool has_memory;
};

static __attribute__((format(printf, 2, 3))) void
fail(struct apple_report *report, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(report->error, sizeof(report->error), format, args);
    va_end(args);
}

/* members ------------------------------------------------------------------ */

/* A string that is a member of an object; or none. */
static struct apple_text ips_text_at(const struct json *json, uint32_t object,
                                     const char *name)
{
    uint32_t value = json_member(json, object, name);
    struct apple_text text = {NULL, 0};

    if (value != 0 && json->values[value].type == JSON_STRING) {
        text.data = json_text(json, value);
        text.size = json->values[value].size;
    }
    return text;
}

/* A number that is not negative; or otherwise. */
static uint64_t ips_number_at(const struct json *json, uint32_t object,
                              const char *name, uint64_t otherwise)
{
    uint32_t value = json_member(json, object, name);
    uint64_t number;

    return value != 0 &&
                   json_integer(json, value, &number) == JSON_INTEGER_POSITIVE
               ? number
               : otherwise;
}

/* A member of a type, or 0. */
static uint32_t ips_member(const struct json *json, uint32_t object,
                           const char *name, enum json_type type)
{
    uint32_t value = json_member(json, object, name);

    return value != 0 && json->values[value].type == type ? value : 0;
}

static bool ips_is_true(const struct json *json, uint32_t object,
                        const char *name)
{
    return ips_member(json, object, name, JSON_TRUE) != 0;
}

/* The index after the last item of a list; 0: there is no list. */
static uint32_t ips_last_item(const struct json *json, uint32_t list)
{
    return list != 0 ? json->values[list].end : 0;
}

/* the object in front ------------------------------------------------------ */

bool apple_ips_is_body(const char *text, size_t size)
{
    static const char member[] = "\"usedImages\"";

    return memmem(text, size, member, sizeof(member) - 1) != NULL;
}

/* What other files of this form are. */
static const char *ips_kind_of(struct apple_text type)
{
    static const struct {
        const char *type, *name;
    } kinds[] = {{"145", "disk writes"},   {"202", "use of the CPU"},
                 {"210", "kernel panic"},  {"211", "analytics"},
                 {"288", "stackshot"},     {"298", "jetsam event"}};
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (line_is(type, kinds[i].type)) {
            return kinds[i].name;
        }
    }
    return NULL;
}

static void refuse_type(struct apple_report *report, struct apple_text type)
{
    const char *kind = ips_kind_of(type);

    fail(report,
         "bug type %.*s%s%s%s is not supported, only 309 and 109 (crash)",
         (int)(type.size < 16 ? type.size : 16), type.data,
         kind != NULL ? " (" : "", kind != NULL ? kind : "",
         kind != NULL ? ")" : "");
}

static enum apple_form ips_read_header(struct apple_report *report,
                                       const struct json *json, size_t size,
                                       size_t all)
{
    struct apple_text type = ips_text_at(json, 0, "bug_type");
    bool is_crash = line_is(type, "309") || line_is(type, "109"), has_json;

    if (json->values[0].type != JSON_OBJECT || type.data == NULL) {
        return APPLE_TEXT;
    }
    if (!is_crash) {
        refuse_type(report, type); /* unless there are threads in it */
    }
    report->rest = report->text + size;
    report->rest_size = all - size;
    has_json = report->rest_size > 0 && report->rest[0] == '{';
    report->has_time =
        parse_time(ips_text_at(json, 0, "timestamp"), &report->time);
    if (is_crash && report->rest_size == 0) {
        fail(report, "there is no report behind the header");
    }
    if (report->rest_size == 0 ||
        (has_json && !is_crash &&
         !apple_ips_is_body(report->rest, report->rest_size))) {
        return APPLE_UNREADABLE;
    }
    return has_json ? APPLE_JSON : APPLE_TEXT_BEHIND;
}

enum apple_form apple_ips_begin(struct apple_report *report, const char *text,
                                size_t size)
{
    enum apple_form form = APPLE_TEXT;
    struct json json = {0};
    struct json_error error;
    size_t n;

    if (size == 0 || text[0] != '{') {
        return APPLE_TEXT;
    }
    if (size > SIZE_MAX_IPS) {
        fail(report, "the report is too large");
        return APPLE_UNREADABLE;
    }
    report->text = malloc(size);
    if (report->text == NULL) {
        fail(report, "%s", apple_no_memory);
        return APPLE_UNREADABLE;
    }
    memcpy(report->text, text, size);
    n = json_read(&json, report->text, size, HEADER_VALUES_MAX, &error);
    if (n == 0 ? apple_ips_is_body(text, size)
               : json_member(&json, 0, "usedImages") != 0) {
        memcpy(report->text, text, size);
        report->rest = report->text;
        report->rest_size = size;
        form = APPLE_JSON;
    } else if (n > 0) {
        form = ips_read_header(report, &json, n, size);
    }
    json_free(&json);
    return form;
}

/* threads ------------------------------------------------------------------ */

static void ips_read_frame(struct ips_reader *ips, uint32_t value)
{
    const struct json *json = &ips->json;
    const struct apple_report *report = ips->report;
    uint64_t index = ips_number_at(json, value, "imageIndex", UINT64_MAX);
    uint64_t line = ips_number_at(json, value, "sourceLine", 0);
    struct apple_frame frame = {
        .address = ips_number_at(json, value, "imageOffset", 0),
        .symbol = ips_text_at(json, value, "symbol"),
        .file = ips_text_at(json, value, "sourceFile"),
        .line = line <= UINT32_MAX ? (uint32_t)line : 0,
        .is_inlined = ips_is_true(json, value, "inline"),
    };

    if (index < report->num_images) {
        frame.address += report->images[index].base;
        frame.module = report->images[index].name;
    }
    ips->has_memory = ips->has_memory && apple_add_frame(ips->report, &frame);
}

static void ips_read_frames(struct ips_reader *ips, uint32_t list)
{
    uint32_t i;

    for (i = list + 1; i < ips_last_item(&ips->json, list);
         i = ips->json.values[i].end) {
        if (ips->json.values[i].type == JSON_OBJECT) {
            ips_read_frame(ips, i);
        }
    }
}

/* Registers are objects with a value, those of ARM in part a list of them. */
static void ips_read_registers(struct ips_reader *ips, uint32_t state)
{
    static const char *const names[] = {
        "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
        "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
        "x24", "x25", "x26", "x27", "x28", "x29", "x30"};
    const struct json *json = &ips->json;
    uint32_t i, n, list = ips_member(json, state, "x", JSON_ARRAY), value;
    struct apple_register found;

    if (state == 0) {
        return;
    }
    for (i = list + 1, n = 0;
         i < ips_last_item(json, list) && n < sizeof(names) / sizeof(names[0]);
         i = json->values[i].end, n++) {
        found.name = (struct apple_text){names[n], strlen(names[n])};
        value = json->values[i].type == JSON_OBJECT
                    ? json_member(json, i, "value")
                    : 0;
        if (value != 0 && json_integer(json, value, &found.value) ==
                              JSON_INTEGER_POSITIVE) {
            apple_add_register(ips->report, &found);
        }
    }
    for (i = state + 1; i < ips_last_item(json, state);
         i = json->values[i + 1].end) {
        found.name.data = json_text(json, i);
        found.name.size = json->values[i].size;
        value = json->values[i + 1].type == JSON_OBJECT
                    ? json_member(json, i + 1, "value")
                    : 0;
        if (value != 0 && json_integer(json, value, &found.value) ==
                              JSON_INTEGER_POSITIVE) {
            apple_add_register(ips->report, &found);
        }
    }
}

static void ips_read_thread(struct ips_reader *ips, uint32_t value,
                            size_t index, uint64_t faulting)
{
    const struct json *json = &ips->json;
    size_t n = ips->report->num_threads;
    struct apple_thread thread = {
        .id = ips_number_at(json, value, "id", index),
        .name = ips_text_at(json, value, "name"),
        .queue = ips_text_at(json, value, "queue"),
        .has_crashed =
            index == faulting || ips_is_true(json, value, "triggered"),
    };

    ips->has_memory =
        ips->has_memory && apple_add_thread(ips->report, &thread);
    if (ips->report->num_threads > n) {
        ips_read_frames(ips, ips_member(json, value, "frames", JSON_ARRAY));
        if (thread.has_crashed && ips->report->num_registers == 0) {
            ips_read_registers(
                ips, ips_member(json, value, "threadState", JSON_OBJECT));
        }
    }
}

/* A stack of what was thrown.  Returns whether there was room for it. */
static bool ips_add_exception(struct ips_reader *ips)
{
    const struct apple_thread exception = {.is_exception = true};
    size_t n = ips->report->num_threads;

    ips->has_memory =
        ips->has_memory && apple_add_thread(ips->report, &exception);
    return ips->report->num_threads > n;
}

/* What was thrown as a text, with the lines of text reports. */
static void ips_read_backtrace(struct ips_reader *ips, struct apple_text text)
{
    const char *p = text.data, *end = p + text.size, *next;
    struct apple_text line;
    struct apple_frame frame;
    line_error error;

    for (; p < end && ips->has_memory; p = next + 1) {
        next = memchr(p, '\n', (size_t)(end - p));
        next = next != NULL ? next : end;
        line = (struct apple_text){p, (size_t)(next - p)};
        if (parse_frame_line(line_trim(line), true, &frame, &error) &&
            error == NULL) {
            ips->has_memory = apple_add_frame(ips->report, &frame);
        }
    }
}

/* If there are both, the text is of the same frames. */
static void ips_read_exceptions(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    uint32_t i, list;

    list = ips_member(json, 0, "lastExceptionBacktrace", JSON_ARRAY);
    if (list != 0) {
        if (ips_add_exception(ips)) {
            ips_read_frames(ips, list);
        }
        return;
    }
    list = ips_member(json, 0, "asiBacktraces", JSON_ARRAY);
    for (i = list + 1; i < ips_last_item(json, list);
         i = json->values[i].end) {
        if (json->values[i].type == JSON_STRING && ips_add_exception(ips)) {
            ips_read_backtrace(ips, (struct apple_text){json_text(json, i),
                                                        json->values[i].size});
        }
    }
}

static void ips_read_threads(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    uint64_t faulting = ips_number_at(json, 0, "faultingThread", UINT64_MAX);
    uint32_t i, list = ips_member(json, 0, "threads", JSON_ARRAY);
    size_t index;

    for (i = list + 1, index = 0; i < ips_last_item(json, list);
         i = json->values[i].end, index++) {
        if (json->values[i].type == JSON_OBJECT) {
            ips_read_thread(ips, i, index, faulting);
        }
    }
    ips_read_exceptions(ips);
}

/* images and the head ------------------------------------------------------ */

static void ips_read_images(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    uint32_t i, list = ips_member(json, 0, "usedImages", JSON_ARRAY);
    struct apple_image image;

    for (i = list + 1; i < ips_last_item(json, list);
         i = json->values[i].end) {
        memset(&image, 0, sizeof(image));
        if (json->values[i].type == JSON_OBJECT) {
            image.base = ips_number_at(json, i, "base", 0);
            image.size = ips_number_at(json, i, "size", 0);
            image.name = ips_text_at(json, i, "name");
            image.path = ips_text_at(json, i, "path");
            image.path = image.path.data != NULL ? image.path : image.name;
            image.has_id =
                parse_uuid(ips_text_at(json, i, "uuid"), image.uuid);
        }
        /* one at 0 is that of addresses in none */
        image.is_none = image.base == 0;
        ips->has_memory =
            ips->has_memory && apple_add_image(ips->report, &image);
    }
}

static void ips_add_information(struct ips_reader *ips, uint32_t list)
{
    const struct json *json = &ips->json;
    struct apple_text line;
    uint32_t i;

    for (i = list + 1; i < ips_last_item(json, list);
         i = json->values[i].end) {
        if (json->values[i].type == JSON_STRING && ips->has_memory) {
            line.data = json_text(json, i);
            line.size = json->values[i].size;
            ips->has_memory = apple_add_information(ips->report, line);
        }
    }
}

/* Messages of the libraries and the application; or why the system ended it,
 * as for a library that is missing. */
static void ips_read_information(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    uint32_t asi = ips_member(json, 0, "asi", JSON_OBJECT), i;
    uint32_t end = ips_member(json, 0, "termination", JSON_OBJECT);

    for (i = asi + 1; i < ips_last_item(json, asi);
         i = json->values[i + 1].end) {
        if (json->values[i + 1].type == JSON_ARRAY) {
            ips_add_information(ips, i + 1);
        }
    }
    if (end != 0 && ips->report->information_size == 0) {
        ips_add_information(ips, ips_member(json, end, "reasons", JSON_ARRAY));
    }
}

/* "macOS 13.4" is a name and a version. */
static void ips_read_system(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    uint32_t os = ips_member(json, 0, "osVersion", JSON_OBJECT);
    struct apple_system *system = &ips->report->system;
    const char *blank;

    if (os == 0) {
        return;
    }
    system->build = ips_text_at(json, os, "build");
    system->name = ips_text_at(json, os, "train");
    blank = system->name.data != NULL
                ? memrchr(system->name.data, ' ', system->name.size)
                : NULL;
    if (blank != NULL) {
        system->version.data = blank + 1;
        system->version.size =
            system->name.size - (size_t)(blank + 1 - system->name.data);
        system->name.size = (size_t)(blank - system->name.data);
    }
}

/* "EXC_BAD_ACCESS (SIGSEGV)". */
static void ips_read_exception(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    struct apple_report *report = ips->report;
    uint32_t exception = ips_member(json, 0, "exception", JSON_OBJECT);
    struct apple_text type, signal;
    int n;

    if (exception == 0) {
        return;
    }
    type = ips_text_at(json, exception, "type");
    signal = ips_text_at(json, exception, "signal");
    report->headers[APPLE_EXCEPTION_MESSAGE] =
        ips_text_at(json, exception, "message");
    report->headers[APPLE_EXCEPTION_SUBTYPE] =
        ips_text_at(json, exception, "subtype");
    report->headers[APPLE_EXCEPTION_CODES] =
        ips_text_at(json, exception, "codes");
    report->headers[APPLE_EXCEPTION_TYPE] = type;
    if (type.data == NULL || signal.data == NULL) {
        return;
    }
    n = asprintf(&report->reason, "%.*s (%.*s)", (int)type.size, type.data,
                 (int)signal.size, signal.data);
    if (n < 0) {
        report->reason = NULL;
        ips->has_memory = false;
        return;
    }
    report->headers[APPLE_EXCEPTION_TYPE] =
        (struct apple_text){report->reason, (size_t)n};
}

static void read_all(struct ips_reader *ips)
{
    const struct json *json = &ips->json;
    struct apple_report *report = ips->report;
    struct apple_text time = ips_text_at(json, 0, "captureTime");

    report->has_names = true;
    report->headers[APPLE_CODE_TYPE] = ips_text_at(json, 0, "cpuType");
    report->headers[APPLE_MODEL] = ips_text_at(json, 0, "modelCode");
    if (time.data != NULL) {
        report->has_time = parse_time(time, &report->time);
    }
    ips_read_system(ips);
    ips_read_exception(ips);
    ips_read_information(ips);
    ips_read_images(ips);
    ips_read_threads(ips);
}

int apple_ips_read(struct apple_report *report)
{
    struct ips_reader ips = {.report = report, .has_memory = true};
    struct json_error error;

    if (json_read(&ips.json, report->rest, report->rest_size, VALUES_MAX,
                  &error) == 0) {
        fail(report, "%s at line %u column %zu of the report", error.reason,
             error.line, error.column);
        ips.has_memory = false;
    } else {
        read_all(&ips);
        if (!ips.has_memory) {
            fail(report, "%s", apple_no_memory);
        }
    }
    json_free(&ips.json);
    return ips.has_memory ? 0 : -1;
}
