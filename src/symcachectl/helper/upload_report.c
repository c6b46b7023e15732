/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_report.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/array.h"
#include "symcachectl/terminal/printable.h"

/* How the reason begins of one that has debug information. */
#define IDLESS "is an ELF file without a build id: "

#define NAMED_MAX 5 /* files left out that are named */

static const char *const outcomes[] = {"stored", "skipped", "refused",
                                       "failed", "left out"};

/* In a folder, what is left out is named only if another form, or the whole
 * file, can be sent. */
static bool upload_is_named(struct upload_report *report,
                            enum upload_outcome outcome, const char *reason)
{
    static const char *const forms[] = {"is packed", "is a mapping",
                                        "has a name", "is truncated",
                                        "is cut off", "is damaged",
                                        "has an id of zeros", "is in UTF-16",
                                        "is a WebAssembly", IDLESS};
    size_t i = 0;

    if (outcome != UPLOAD_NO_PLACE) {
        return outcome == UPLOAD_REFUSED || outcome == UPLOAD_FAILED;
    }
    report->idless += strncmp(reason, IDLESS, sizeof(IDLESS) - 1) == 0;
    while (i < COUNT(forms) &&
           strncmp(reason, forms[i], strlen(forms[i])) != 0) {
        i++;
    }
    return i < COUNT(forms) && report->named++ < NAMED_MAX;
}

static void print_object(struct upload_report *report,
                         enum upload_outcome outcome, const char *path,
                         const char *place, const char *reason)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "file", path);
    cJSON_AddStringToObject(object, "outcome", outcomes[outcome]);
    if (place != NULL) {
        cJSON_AddStringToObject(object, "path", place);
    }
    if (reason != NULL) {
        cJSON_AddStringToObject(object, "reason", reason);
    }
    if (report->untold[0] != '\0') {
        cJSON_AddStringToObject(object, "untold", report->untold);
    }
    bar_clear(&report->bar);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void upload_print_line(struct upload_report *report, const char *path,
                              const char *what, const char *text)
{
    bar_clear(&report->bar);
    fputs("symcachectl upload: ", stderr);
    printable_put(stderr, path);
    fprintf(stderr, ": %s: ", what);
    printable_put(stderr, text);
    fputc('\n', stderr);
}

void upload_report_add(struct upload_report *report,
                       enum upload_outcome outcome, const char *path,
                       const char *place, const char *reason)
{
    report->counts[outcome]++;
    if (report->is_json) {
        print_object(report, outcome, path, place, reason);
    } else if (upload_is_named(report, outcome, reason)) {
        upload_print_line(report, path, outcomes[outcome], reason);
    } else if (report->untold[0] != '\0') {
        upload_print_line(report, path, "not known yet to", report->untold);
    }
    report->untold[0] = '\0';
}

void upload_report_unsent(struct upload_report *report,
                          enum upload_outcome outcome, const char *path,
                          const char *place, const char *reason)
{
    report->counts[outcome]++;
    if (report->is_json) {
        print_object(report, outcome, path, place, reason);
    }
}

/* A build that sends nothing may have named the wrong folder. */
static void tell_nothing(const struct upload_report *report)
{
    if (report->named == 0 &&
        report->counts[UPLOAD_STORED] + report->counts[UPLOAD_SKIPPED] +
                report->counts[UPLOAD_REFUSED] +
                report->counts[UPLOAD_FAILED] ==
            0) {
        fputs("symcachectl upload: note: no file there is a debug file or "
              "image; \"sentry-cli sourcemaps upload\" sends scripts and "
              "source maps\n",
              stderr);
    }
}

void upload_report_sum(const struct upload_report *report)
{
    cJSON *object = cJSON_CreateObject();
    enum upload_outcome i;

    for (i = 0; i < UPLOAD_OUTCOMES; i++) {
        if (report->is_json) {
            cJSON_AddNumberToObject(object, outcomes[i],
                                    (double)report->counts[i]);
        } else {
            printf("%s%zu %s", i > 0 ? ", " : "", report->counts[i],
                   outcomes[i]);
        }
    }
    if (report->is_json) {
        printable_json(stdout, object);
    } else {
        putchar('\n');
        tell_nothing(report);
        if (report->idless > 0) {
            fprintf(stderr,
                    "symcachectl upload: note: %zu file%s with debug "
                    "information left out for want of a build id\n",
                    report->idless, report->idless == 1 ? "" : "s");
        }
    }
    cJSON_Delete(object);
}
