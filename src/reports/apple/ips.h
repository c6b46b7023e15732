/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports as systems write them since iOS 15 and macOS 12 (.ips): a JSON object
 * that says what the file is, and another one that is the report.  Apple
 * describes most members in "Interpreting the JSON format of a crash report".
 * Before, the report after the first object was text.
 */
#pragma once

#include "apple.h"

enum apple_form {
    APPLE_TEXT,        /* no object is in front of it */
    APPLE_TEXT_BEHIND, /* report->rest; report->error says what it is, if it is
                          not of a crash */
    APPLE_JSON,        /* the same */
    APPLE_UNREADABLE   /* report->error says why */
};

/* Finds out which form a report has. */
enum apple_form apple_ips_begin(struct apple_report *report, const char *text,
                                size_t size);

/* Is a text a report without the object in front of it? */
bool apple_ips_is_body(const char *text, size_t size);

/* Reads the object at report->rest, as apple_read(). */
int apple_ips_read(struct apple_report *report);
