/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>
#include <string.h>

#include "apple.h"
#include "base/utf8.h"
#include "derived/symcache/symcache.h"

#define ARCH_MAX 31

static void write_text(struct json_writer *w, const char *name,
                       struct apple_text text)
{
    if (text.data != NULL) {
        json_put_string(w, name, text.data, text.size);
    }
}

/* The same, where an absent text is an empty one. */
static void write_any(struct json_writer *w, const char *name,
                      struct apple_text text)
{
    write_text(w, name, text.data != NULL ? text : (struct apple_text){"", 0});
}

/* The name of the processor by the first word of "ARM-64 (Native)", or NULL.
 */
static const char *arch_of(struct apple_text type)
{
    static const struct {
        const char *name, *arch;
    } others[] = {{"i386", "x86"},
                  {"x86-64", "x86_64"},
                  {"arm-64", "arm64"},
                  {"amd64", "x86_64"}};
    char word[ARCH_MAX + 1];
    uint32_t number;
    size_t i, n;

    for (n = 0; n < type.size && type.data[n] != ' '; n++) {
        if (n == ARCH_MAX) {
            return NULL;
        }
        word[n] = type.data[n];
        word[n] += word[n] >= 'A' && word[n] <= 'Z' ? 'a' - 'A' : 0;
    }
    word[n] = '\0';
    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(word, others[i].name) == 0) {
            return others[i].arch;
        }
    }
    return symc_arch_find(word, &number) && number != SYMC_ARCH_UNKNOWN
               ? symc_arch_name(number)
               : NULL;
}

static void write_system(struct json_writer *w,
                         const struct apple_report *report)
{
    const struct apple_system *system = &report->system;
    const char *arch = arch_of(report->headers[APPLE_CODE_TYPE]);

    json_put_open(w, "system_info", '{');
    write_any(w, "os_name", system->name);
    write_any(w, "os_version", system->version);
    write_any(w, "os_build", system->build);
    json_write_key(w, "cpu_arch");
    if (arch != NULL) {
        json_write_text(w, arch);
    } else {
        json_write_raw(w, "null", 4); /* that of its modules */
    }
    write_any(w, "device_model", report->headers[APPLE_MODEL]);
    json_write_close(w, '}');
}

static void write_head(struct json_writer *w,
                       const struct apple_report *report)
{
    json_put_open(w, "report", '{');
    if (report->has_time && report->time >= 0) {
        json_put_number(w, "timestamp", (uint64_t)report->time);
    }
    write_system(w, report);
    json_put_bool(w, "crashed", true);
    write_text(w, "crash_reason", report->headers[APPLE_EXCEPTION_TYPE]);
    write_text(w, "crash_details", apple_details(report));
    json_write_close(w, '}');
}

static void write_registers(struct json_writer *w,
                            const struct apple_report *report)
{
    const struct apple_register *r;
    size_t i;

    json_put_open(w, "registers", '{');
    for (i = 0; i < report->num_registers; i++) {
        r = &report->registers[i];
        json_write_name(w, r->name.data, r->name.size);
        json_write_hex(w, r->value);
    }
    json_write_close(w, '}');
}

/* Texts show the queue in place of a name, too. */
static void write_queue(struct json_writer *w, struct apple_text queue)
{
    static const char before[] = "Dispatch queue: ";
    char name[256];
    size_t n = sizeof(name) - sizeof(before);

    n = utf8_valid(queue.data, queue.size < n ? queue.size : n);
    snprintf(name, sizeof(name), "%s%.*s", before, (int)n, queue.data);
    json_put_text(w, "thread_name", name);
}

static void write_head_of_thread(struct json_writer *w,
                                 const struct apple_thread *thread)
{
    if (thread->is_exception) {
        json_put_text(w, "thread_name", "Last Exception Backtrace");
        return;
    }
    json_put_number(w, "thread_id", thread->id);
    if (thread->name.data == NULL && thread->queue.data != NULL) {
        write_queue(w, thread->queue);
    } else {
        write_text(w, "thread_name", thread->name);
    }
    json_put_bool(w, "is_requesting", thread->has_crashed);
}

/* before: the frame before it, or NULL */
static void write_frame(struct json_writer *w, const struct apple_frame *frame,
                        const struct apple_frame *before, bool has_names)
{
    json_write_open(w, '{');
    json_put_hex(w, "instruction_addr", frame->address);
    write_text(w, "package", frame->module);
    if (has_names) {
        write_text(w, "function", frame->symbol);
        write_text(w, "filename", frame->file);
        if (frame->line > 0) {
            json_put_number(w, "lineno", frame->line);
        }
        if (before != NULL && before->is_inlined &&
            before->address == frame->address) {
            json_put_bool(w, "inlines_previous", true);
        }
    }
    json_write_close(w, '}');
}

static void write_thread(struct json_writer *w,
                         const struct apple_report *report,
                         const struct apple_thread *thread, bool has_registers)
{
    const struct apple_frame *frame, *before = NULL;
    size_t i;

    json_write_open(w, '{');
    write_head_of_thread(w, thread);
    if (has_registers) {
        write_registers(w, report);
    }
    json_put_open(w, "frames", '[');
    for (i = 0; i < thread->num_frames; i++) {
        frame = &report->frames[thread->first + i];
        write_frame(w, frame, before, report->has_names);
        before = frame;
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void write_threads(struct json_writer *w,
                          const struct apple_report *report)
{
    bool has_registers, had_registers = report->num_registers == 0;
    size_t i;

    json_put_open(w, "stacktraces", '[');
    for (i = 0; i < report->num_threads; i++) {
        has_registers = !had_registers && report->threads[i].has_crashed;
        write_thread(w, report, &report->threads[i], has_registers);
        had_registers = had_registers || has_registers;
    }
    json_write_close(w, ']');
}

static void write_image(struct json_writer *w, const struct apple_image *image)
{
    static const char digits[] = "0123456789abcdef";
    struct apple_text id;
    char hex[32];
    size_t i;

    for (i = 0; i < sizeof(image->uuid); i++) {
        hex[2 * i] = digits[image->uuid[i] >> 4];
        hex[2 * i + 1] = digits[image->uuid[i] & 15];
    }
    id = (struct apple_text){hex, sizeof(hex)};
    json_write_open(w, '{');
    json_put_text(w, "type", "macho");
    if (image->has_id) {
        write_text(w, "code_id", id);
    }
    write_text(w, "code_file", image->path);
    if (image->has_id) {
        write_text(w, "debug_id", id);
    }
    write_text(w, "debug_file", image->path);
    json_put_hex(w, "image_addr", image->base);
    if (image->size != 0) {
        json_put_number(w, "image_size", image->size);
    }
    json_write_close(w, '}');
}

void apple_write_json(const struct apple_report *report, struct json_writer *w)
{
    size_t i;

    write_head(w, report);
    write_threads(w, report);
    json_put_open(w, "modules", '[');
    for (i = 0; i < report->num_images; i++) {
        if (!report->images[i].is_none) {
            write_image(w, &report->images[i]);
        }
    }
    json_write_close(w, ']');
    json_put_known(w, "left_out", report->cut);
}
