/*
 * Copyright (C) the ngx_symcache authors
 */
#include "apple.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "ips.h"
#include "line_parser.h"
#include "quote.h"
#include "report_builder.h"
#include "text_report.h"

/* Skips what an editor or a mail may put in front of JSON: a byte order mark,
 * and blank lines. */
static void skip_to_json(const char **text, size_t *size)
{
    const char *p = *text, *end = p + *size;

    if (*size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
    }
    while (p < end && line_is_space(*p)) {
        p++;
    }
    if (p < end && *p == '{') {
        *size = (size_t)(end - p);
        *text = p;
    }
}

/* Is there nothing in it by which a text is known? */
static bool is_empty(const struct apple_report *report)
{
    size_t i;

    for (i = 0; i < APPLE_HEADERS && report->headers[i].data == NULL;) {
        i++;
    }
    return i == APPLE_HEADERS && report->num_threads == 0 &&
           report->num_images == 0 && report->error[0] == '\0';
}

/* Puts "?" in place of all bytes that are not UTF-8, in a copy.  Returns NULL
 * without memory, or if no byte may be wrong. */
static const char *mend_utf8(struct apple_report *report, const char *text,
                             size_t size)
{
    size_t i = utf8_valid(text, size), k, line = 1;

    if ((report->corrections & APPLE_LENIENT) == 0) {
        for (k = 0; k < i; k++) {
            line += text[k] == '\n';
        }
        snprintf(report->error, sizeof(report->error),
                 "line %zu: it is not UTF-8", line);
        return NULL;
    }
    report->mended = malloc(size);
    if (report->mended == NULL) {
        snprintf(report->error, sizeof(report->error), "%s", apple_no_memory);
        return NULL;
    }
    memcpy(report->mended, text, size);
    for (; i < size; i += utf8_valid(report->mended + i, size - i)) {
        report->mended[i++] = '?';
    }
    return report->mended;
}

int apple_read(struct apple_report *report, const void *data, size_t size,
               size_t max_frames, unsigned corrections)
{
    const char *text = data;
    enum apple_form form;
    int rc = -1;

    memset(report, 0, sizeof(*report));
    report->max_frames = max_frames;
    report->corrections = corrections;
    skip_to_json(&text, &size);
    form = apple_ips_begin(report, text, size);
    if (form == APPLE_TEXT_BEHIND) {
        text = report->rest;
        size = report->rest_size;
    }
    if (form == APPLE_JSON) {
        rc = apple_ips_read(report);
    } else if (form != APPLE_UNREADABLE) {
        text = utf8_valid(text, size) == size ? text
                                              : mend_utf8(report, text, size);
        rc = text != NULL ? apple_text_read(report, text, size) : -1;
    }
    if (rc == 0 && form == APPLE_TEXT_BEHIND && is_empty(report)) {
        snprintf(report->error, sizeof(report->error),
                 "there is no report behind the header");
    }
    apple_sort_registers(report);
    return rc;
}

bool apple_is_report(const char *text, size_t size)
{
    const char *next;

    skip_to_json(&text, &size);
    if (size > 0 && text[0] == '{') {
        next = memchr(text, '\n', size);
        next = next != NULL ? next : text + size;
        return apple_ips_is_body(text, size) ||
               memmem(text, (size_t)(next - text), "\"bug_type\"", 10) != NULL;
    }
    return find_quote(text, size).data != NULL;
}

void apple_free(struct apple_report *report)
{
    free(report->threads);
    free(report->frames);
    free(report->images);
    free(report->information);
    free(report->reason);
    free(report->text);
    free(report->blanks);
    free(report->mended);
}

struct apple_text apple_details(const struct apple_report *report)
{
    size_t i;

    if (report->information_size > 0) {
        return (struct apple_text){report->information,
                                   report->information_size};
    }
    for (i = APPLE_EXCEPTION_MESSAGE; i < APPLE_EXCEPTION_CODES; i++) {
        if (report->headers[i].data != NULL) {
            break;
        }
    }
    return report->headers[i];
}
