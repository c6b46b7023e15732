/*
 * Copyright (C) the ngx_symcache authors
 *
 * The form of a crash report: a file, and parts that are JSON.
 */
#ifndef WORKERS_FORM_H
#define WORKERS_FORM_H

#include "reports/crash/crash.h"
#include "reports/multipart/multipart.h"

/* Bytes of a part that is JSON. */
#define FORM_JSON_MAX ((size_t)1 << 20)

enum form_part {
    FORM_SOURCES,
    FORM_SCRAPING,
    FORM_OPTIONS,
    FORM_PLATFORM,
    FORM_JSON_PARTS
};

struct form_bytes {
    const uint8_t *data; /* NULL: the part is not there */
    size_t size;
};

struct form {
    const char *file_name; /* of the field with the file */
    struct form_bytes file;
    struct form_bytes json[FORM_JSON_PARTS];
    enum crash_refusal refusal; /* 0: none */
    char error[256];
};

extern const char *const form_part_names[FORM_JSON_PARTS];

/* Reads a body.  Of parts that come twice the last one counts.  Returns false
 * if there is something wrong. */
bool form_read(struct form *form, const uint8_t *data, size_t size,
               const char *boundary);

#endif
