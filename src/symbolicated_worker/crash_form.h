/*
 * Copyright (C) the ngx_symcache authors
 *
 * The form of a crash report: a file, and parts that are JSON.
 */
#pragma once

#include "json/json.h"
#include "reports/crash/crash.h"
#include "work_order.h"
#include "packed_body.h"

/* Bytes of a part that is JSON. */
#define FORM_JSON_MAX ((size_t)1 << 20)

enum form_part {
    FORM_SOURCES,
    FORM_SCRAPING,
    FORM_OPTIONS,
    FORM_REWRITE,
    FORM_PLATFORM,
    FORM_JSON_PARTS
};

struct form {
    const char *file_name;   /* of the field with the file */
    bool has_rewrite;        /* the part "rewrite_first_module" counts */
    struct packed_room room; /* set by the caller */
    struct bytes file;
    enum packing packing; /* of the file, until it is undone */
    struct bytes json[FORM_JSON_PARTS];
    bool has_no_sources;        /* the list is empty, and counts */
    enum crash_refusal refusal; /* 0: none */
    char error[256];
};

/*
 * Reads a body, packed or not, as ordered.  Of parts that come twice the last
 * one counts.  Returns false if there is something wrong.  In either case, its
 * room is to be freed.
 */
bool form_read(struct form *form, const struct order *order,
               const struct bytes *body);

/* Writes the parts that a request of POST /symbolicate has, too, as members.
 */
void form_write(const struct form *form, struct json_writer *w);
