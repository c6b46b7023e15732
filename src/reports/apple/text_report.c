/*
 * Copyright (C) the ngx_symcache authors
 */
#include "text_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "line_parser.h"
#include "quote.h"
#include "report_builder.h"

enum state {
    STATE_HEAD, /* lines "name: value", and all unknown ones */
    STATE_THREAD,
    STATE_REGISTERS,
    STATE_IMAGES,
    STATE_INFORMATION,
    STATE_REASONS, /* why the system ended it, if there is no information */
    STATE_LOG
};

/* A name that a line of its own gives to a thread. */
struct thread_name {
    uint64_t id;
    struct apple_text name;
};

struct text_report_reader {
    struct apple_report *report;
    enum state state;
    struct thread_name *names; /* the newest last */
    size_t num_names;
    size_t names_room;
    bool has_reasons;  /* information is these */
    const char *error; /* NULL: none */
    char *copy;        /* of a text with blanks beyond ASCII, or NULL */
};

/* Notes that memory is lacking. */
static void report_need_memory(struct text_report_reader *r, bool has_memory)
{
    if (!has_memory) {
        r->error = apple_no_memory;
    }
}

/* the head ---------------------------------------------------------------- */

static const char *const header_names[APPLE_HEADERS] = {
    [APPLE_CODE_TYPE] = "Code Type",
    [APPLE_OS_VERSION] = "OS Version",
    [APPLE_MODEL] = "Hardware Model",
    [APPLE_EXCEPTION_TYPE] = "Exception Type",
    [APPLE_EXCEPTION_MESSAGE] = "Exception Message",
    [APPLE_EXCEPTION_SUBTYPE] = "Exception Subtype",
    [APPLE_EXCEPTION_CODES] = "Exception Codes",
};

/* Lines that make a report unreadable if their values are none. */
static const char *report_check_header(struct apple_report *report,
                                       struct apple_text name,
                                       struct apple_text value)
{
    uint8_t uuid[16];
    uint32_t version;

    if (line_is(name, "Incident Identifier")) {
        return parse_uuid(value, uuid) ? NULL : "the incident's id is none";
    }
    if (line_is(name, "Report Version")) {
        if (line_starts(value, "+")) {
            value.data++;
            value.size--;
        }
        return line_number(value, &version) ? NULL
                                            : "the report's version is none";
    }
    if (line_is(name, "Date/Time")) {
        report->has_time = parse_time(value, &report->time);
        return report->has_time ? NULL : "the date is none";
    }
    return NULL;
}

static void report_read_header(struct text_report_reader *r,
                               struct apple_text line)
{
    struct apple_report *report = r->report;
    const char *colon = memchr(line.data, ':', line.size);
    struct apple_text name, value;
    size_t i;

    if (colon == NULL) {
        return;
    }
    name.data = line.data;
    name.size = (size_t)(colon - line.data);
    value.data = colon + 1;
    value.size = line.size - name.size - 1;
    name = line_trim(name);
    value = line_trim(value);
    if ((report->corrections & APPLE_EXCEPTION) != 0 &&
        line_is(name, "Termination Reason")) {
        r->state = STATE_REASONS;
        return;
    }
    for (i = 0; i < APPLE_HEADERS; i++) {
        if (line_is(name, header_names[i])) {
            report->headers[i] = value;
            return;
        }
    }
    r->error = report_check_header(report, name, value);
}

/* threads ----------------------------------------------------------------- */

static void report_begin_thread(struct text_report_reader *r,
                                const struct apple_thread *thread)
{
    size_t n = r->report->num_threads;

    report_need_memory(r, apple_add_thread(r->report, thread));
    /* if there was no room for it, its frames are left out, too */
    r->state = r->report->num_threads > n ? STATE_THREAD : STATE_HEAD;
}

/* "(0x180001234 0x180005678)": what was thrown without names, in one line. */
static void report_read_bare_frames(struct text_report_reader *r,
                                    struct apple_text line)
{
    struct apple_frame frame = {0};

    for (line.data++, line.size--;
         r->error == NULL && parse_address(&line, &frame.address, &r->error);) {
        report_need_memory(r, apple_add_frame(r->report, &frame));
    }
}

static void report_read_frame(struct text_report_reader *r,
                              struct apple_text line)
{
    const struct apple_report *report = r->report;
    struct apple_frame frame;

    if (report->threads[report->num_threads - 1].is_exception &&
        line_starts(line, "(0x")) {
        report_read_bare_frames(r, line);
        return;
    }
    if (!parse_frame_line(line, report->has_names, &frame, &r->error)) {
        /* with the correction, one of a name in several lines */
        if (!report->has_names || line_trim(line).size == 0) {
            r->state = STATE_HEAD;
        }
        return;
    }
    if (r->error == NULL) {
        report_need_memory(r, apple_add_frame(r->report, &frame));
    }
}

static void report_keep_name(struct text_report_reader *r,
                             const struct thread_name *name)
{
    r->state = STATE_HEAD;
    if (r->num_names == APPLE_THREADS) {
        r->report->cut = "threads";
    } else if (array_need(&r->names, &r->names_room, r->num_names + 1,
                          sizeof(*name)) != 0) {
        r->error = apple_no_memory;
    } else {
        r->names[r->num_names++] = *name;
    }
}

static int report_compare_names(const void *one, const void *other)
{
    const struct thread_name *a = one, *b = other;

    return a->id != b->id                ? (a->id < b->id ? -1 : 1)
           : a->name.data < b->name.data ? -1
                                         : 1;
}

/* The last name of an id is that of the first thread that has it. */
static void report_name_threads(struct text_report_reader *r)
{
    struct apple_report *report = r->report;
    size_t i, low, high, middle;

    if (r->num_names == 0) {
        return;
    }
    qsort(r->names, r->num_names, sizeof(r->names[0]), report_compare_names);
    for (i = 0; i < report->num_threads; i++) {
        if (report->threads[i].is_exception) {
            continue;
        }
        for (low = 0, high = r->num_names; low < high;) {
            middle = low + (high - low) / 2;
            if (r->names[middle].id <= report->threads[i].id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low > 0 && r->names[low - 1].id == report->threads[i].id &&
            r->names[low - 1].name.data != NULL) {
            report->threads[i].name = r->names[low - 1].name;
            r->names[low - 1].name.data = NULL;
        }
    }
}

static void report_read_registers(struct text_report_reader *r,
                                  struct apple_text line)
{
    struct apple_register found;

    while (parse_register(&line, &found, &r->error) && r->error == NULL) {
        apple_add_register(r->report, &found);
    }
}

/* images ----------------------------------------------------------------- */

static void report_read_image(struct text_report_reader *r,
                              struct apple_text line)
{
    struct apple_report *report = r->report;
    bool is_lenient = (report->corrections & APPLE_MAC) != 0;
    struct apple_image image;

    if (!parse_image_line(line, is_lenient, &image, &r->error)) {
        /* the correction passes over lines that are damaged */
        if (is_lenient) {
            report_read_header(r, line);
        } else {
            r->state = STATE_HEAD;
        }
        return;
    }
    if (r->error != NULL ||
        (is_lenient && image.base == 0 && image.size == UINT64_MAX)) {
        return; /* "???", which owns all addresses */
    }
    report_need_memory(r, apple_add_image(report, &image));
}

/* lines ------------------------------------------------------------------- */

/* A line below "Termination Reason:". */
static void report_read_reason(struct text_report_reader *r,
                               struct apple_text line)
{
    if (line.size == 0 || line_starts(line, "Terminating Process:")) {
        r->state = STATE_HEAD;
    } else if (r->report->information_size == 0 || r->has_reasons) {
        r->has_reasons = true;
        report_need_memory(r, apple_add_information(r->report, line));
    }
}

/* Lines that begin a part, in whatever part they occur. */
static bool report_begin_state(struct text_report_reader *r,
                               struct apple_text line)
{
    bool is_lenient = (r->report->corrections & APPLE_STATES) != 0;
    struct apple_thread thread = {.is_exception = true};
    struct thread_name name;

    if ((r->report->corrections & APPLE_EXCEPTION) != 0 &&
        (line_is(line, "Last Exception Backtrace:") ||
         line_starts(line, "Application Specific Backtrace "))) {
        report_begin_thread(r, &thread);
    } else if (line_starts(line, "Binary Images:") ||
               ((r->report->corrections & APPLE_MAC) != 0 &&
                line_starts(line, "Binary Images ("))) {
        r->state = STATE_IMAGES;
    } else if (line_starts(line, "Application Specific Information:")) {
        r->state = STATE_INFORMATION;
        if (r->has_reasons) {
            r->report->information_size = 0;
            r->has_reasons = false;
        }
    } else if (line_starts(line, "Filtered syslog:")) {
        r->state = STATE_LOG;
    } else if (!line_starts(line, "Thread ")) {
        return false;
    } else if (is_thread_state_line(line, is_lenient)) {
        r->state = STATE_REGISTERS;
    } else if (parse_thread_line(line, r->report->has_names, &thread,
                                 &r->error)) {
        report_begin_thread(r, &thread);
    } else if (parse_thread_name_line(line, &name.id, &name.name, &r->error)) {
        report_keep_name(r, &name);
    } else {
        return false;
    }
    return true;
}

static void report_read_line(struct text_report_reader *r,
                             struct apple_text line)
{
    if (report_begin_state(r, line)) {
        return;
    }
    switch (r->state) {
    case STATE_HEAD:
        report_read_header(r, line);
        break;
    case STATE_THREAD:
        report_read_frame(r, line);
        break;
    case STATE_REGISTERS:
        if (line.size == 0) {
            r->state = STATE_HEAD;
        }
        report_read_registers(r, line);
        break;
    case STATE_IMAGES:
        if (line.size > 0) {
            report_read_image(r, line);
        }
        break;
    case STATE_INFORMATION:
        report_need_memory(r, apple_add_information(r->report, line));
        break;
    case STATE_REASONS:
        report_read_reason(r, line);
        break;
    case STATE_LOG:
        break;
    }
}

/* Reports that were copied from a page have blanks beyond ASCII, which count
 * as such in all forms of lines (White_Space of Unicode). */
static bool report_is_wide_blank(uint32_t c)
{
    return c == 0x85 || c == 0xA0 || c == 0x1680 || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 ||
           (c >= 0x2000 && c <= 0x200A);
}

static bool report_has_wide_blank(const char *text, size_t size)
{
    size_t i, n;
    uint32_t c;

    for (i = 0; i < size; i += n) {
        n = utf8_ascii(text + i, size - i);
        if (n == 0) {
            n = (size_t)abs(utf8_decode(text + i, size - i, &c));
            if (report_is_wide_blank(c)) {
                return true;
            }
        }
    }
    return false;
}

/* Puts a blank of ASCII in place of each of the others. */
static void report_narrow_blanks(struct text_report_reader *r,
                                 struct apple_text *line)
{
    char *text = r->copy + (line->data - r->copy);
    size_t i, n, size = 0;
    uint32_t c;

    for (i = 0; i < line->size; i += n) {
        n = (size_t)abs(utf8_decode(text + i, line->size - i, &c));
        if (report_is_wide_blank(c)) {
            text[size++] = ' ';
        } else {
            memmove(text + size, text + i, n);
            size += n;
        }
    }
    line->size = size;
}

/* The bytes of a blank at the end of a line, or 0. */
static size_t report_last_blank(struct apple_text line)
{
    size_t n = 1;
    uint32_t c;

    if (line.size == 0) {
        return 0;
    }
    while (n < 3 && n < line.size &&
           ((unsigned char)line.data[line.size - n] & 0xC0) == 0x80) {
        n++;
    }
    (void)utf8_decode(line.data + line.size - n, n, &c);
    return line_is_space(line.data[line.size - 1]) || report_is_wide_blank(c)
               ? n
               : 0;
}

/* Lines of information are kept as they are, but for their end, if they cannot
 * begin a part. */
static bool report_is_kept(const struct text_report_reader *r,
                           struct apple_text line)
{
    static const char *const words[] = {"Thread", "Binary", "Filtered",
                                        "Application", "Last"};
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (line_starts(line, words[i])) {
            return false;
        }
    }
    return r->state == STATE_INFORMATION || r->state == STATE_LOG;
}

static void report_read_lines(struct text_report_reader *r, const char *text,
                              size_t size)
{
    const char *p, *end = text + size, *next;
    struct apple_text line, quote = {NULL, 0};
    size_t number = 0, n;

    if ((r->report->corrections & APPLE_QUOTED) != 0) {
        quote = find_quote(text, size);
    }
    for (p = text; p < end && r->error == NULL; p = next) {
        next = memchr(p, '\n', (size_t)(end - p));
        line.data = p;
        line.size = (size_t)((next != NULL ? next : end) - p);
        next = next != NULL ? next + 1 : end;
        cut_quote(&line, quote);
        if (r->copy != NULL && !report_is_kept(r, line)) {
            report_narrow_blanks(r, &line);
        }
        while ((n = report_last_blank(line)) > 0) {
            line.size -= n;
        }
        number++;
        report_read_line(r, line);
        if (r->error != apple_no_memory &&
            (r->report->corrections & APPLE_LENIENT) != 0) {
            r->error = NULL;
        }
    }
    if (r->error != NULL) {
        snprintf(r->report->error, sizeof(r->report->error), "line %zu: %s",
                 number, r->error);
    }
}

/* "10.14.0", of three numbers. */
static size_t report_version_size(struct apple_text text)
{
    size_t i = 0, n, part;

    for (part = 0; part < 3; part++) {
        if (part > 0 && (i == text.size || text.data[i++] != '.')) {
            return 0;
        }
        for (n = i;
             i < text.size && text.data[i] >= '0' && text.data[i] <= '9';) {
            i++;
        }
        if (i == n) {
            return 0;
        }
    }
    return i;
}

/* The system as Symbolicator takes it apart: only that of a Mac. */
static struct apple_system
report_read_system(const struct apple_report *report)
{
    static const char mac[] = "Mac OS X ";
    struct apple_text line = report->headers[APPLE_OS_VERSION], rest = line;
    struct apple_system whole = {.name = line}, parts = {.name = {"macOS", 5}};
    size_t i;

    if (line.data == NULL || !line_starts(line, mac)) {
        return whole;
    }
    rest.data += sizeof(mac) - 1;
    rest.size -= sizeof(mac) - 1;
    parts.version = (struct apple_text){rest.data, report_version_size(rest)};
    rest.data += parts.version.size;
    rest.size -= parts.version.size;
    if (parts.version.size == 0 || rest.size == 0) {
        return parts.version.size == 0 ? whole : parts;
    }
    if (rest.size < 4 || !line_starts(rest, " (") ||
        rest.data[rest.size - 1] != ')') {
        return whole;
    }
    parts.build = (struct apple_text){rest.data + 2, rest.size - 3};
    for (i = 0; i < parts.build.size; i++) {
        if (hex_digit(parts.build.data[i]) < 0) {
            return whole;
        }
    }
    return parts;
}

int apple_text_read(struct apple_report *report, const char *text, size_t size)
{
    struct text_report_reader r = {.report = report, .state = STATE_HEAD};
    size_t n;

    report->has_names = (report->corrections & APPLE_NAMES) != 0;
    if (report_has_wide_blank(text, size)) {
        r.copy = report->blanks = malloc(size);
        if (r.copy == NULL) {
            r.error = apple_no_memory;
        } else {
            text = memcpy(r.copy, text, size);
        }
    }
    report_read_lines(&r, text, size);
    if (r.error == NULL) {
        report_name_threads(&r);
        report->system = report_read_system(report);
        n = report->information_size;
        if (n > 0 && report->information[n - 1] == '\n') {
            report->information_size--;
        }
    }
    free(r.names);
    return r.error == NULL ? 0 : -1;
}
