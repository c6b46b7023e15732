/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symcachectl upload says of each file, and of all at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/terminal/bar.h"

enum upload_outcome {
    UPLOAD_STORED,
    UPLOAD_SKIPPED,
    UPLOAD_REFUSED,
    UPLOAD_FAILED,
    UPLOAD_NO_PLACE,
    UPLOAD_OUTCOMES
};

struct upload_report {
    bool is_json;
    struct bar bar;
    size_t counts[UPLOAD_OUTCOMES];
    unsigned named; /* files left out */
    size_t idless;  /* files left out with debug information and no build id */
    char untold[512]; /* machines that do not know the next file yet, or "" */
};

/* Tells of a file; place and reason can be NULL. */
void upload_report_add(struct upload_report *report,
                       enum upload_outcome outcome, const char *path,
                       const char *place, const char *reason);

/* The same of a file of which one line for all will tell: only JSON has it. */
void upload_report_unsent(struct upload_report *report,
                          enum upload_outcome outcome, const char *path,
                          const char *place, const char *reason);

/* Prints how many files there were of each outcome. */
void upload_report_sum(const struct upload_report *report);
