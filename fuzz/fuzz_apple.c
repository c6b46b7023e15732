/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a crash report of Apple's, text or JSON, behind a byte with the
 * corrections.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "reports/apple/apple.h"

#define FRAMES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct apple_text text)
{
    if (utf8_valid(text.data, text.size) != text.size) {
        abort();
    }
}

static void check_parts(const struct apple_report *report)
{
    const struct apple_thread *thread;
    size_t i;

    if (report->num_frames > FRAMES) {
        abort();
    }
    for (i = 0; i < report->num_threads; i++) {
        thread = &report->threads[i];
        if (thread->first > report->num_frames ||
            thread->num_frames > report->num_frames - thread->first) {
            abort();
        }
        check_text(thread->name);
    }
    for (i = 0; i < report->num_frames; i++) {
        check_text(report->frames[i].module);
        check_text(report->frames[i].symbol);
        check_text(report->frames[i].file);
    }
    for (i = 0; i < report->num_images; i++) {
        check_text(report->images[i].path);
    }
    check_text(apple_details(report));
    check_text(report->system.name);
}

/* What is written of it is JSON. */
static void check_json(const struct apple_report *report)
{
    struct json_writer w = {0};
    struct json json = {0};
    struct json_error error;

    json_write_open(&w, '{');
    apple_write_json(report, &w);
    json_write_close(&w, '}');
    if (w.has_failed ||
        json_read(&json, w.data, w.size, 1 << 20, &error) != w.size) {
        abort();
    }
    json_free(&json);
    free(w.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct apple_report report;

    if (size == 0) {
        return 0;
    }
    apple_is_report((const char *)data + 1, size - 1);
    if (apple_read(&report, data + 1, size - 1, FRAMES, data[0]) == 0) {
        check_parts(&report);
        check_json(&report);
    } else if (report.error[0] == '\0') {
        abort();
    }
    apple_free(&report);
    return 0;
}
