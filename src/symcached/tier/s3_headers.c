/*
 * Copyright (C) the ngx_symcache authors
 */
#include "s3_headers.h"

#include <stdio.h>
#include <string.h>

/* The names that vendors have for the same.  Google's are those of its XML
 * API. */
struct vendor {
    char *meta; /* the beginning of the names of metadata */
    char *copy_source;
    char *copy_directive;
    char *absent; /* the condition that there is no object, */
    char *absent_value;
};

static const struct vendor amazon = {
    "x-amz-meta-symcache-", "x-amz-copy-source", "x-amz-metadata-directive",
    "If-None-Match", "*"};
static const struct vendor google = {
    "x-goog-meta-symcache-", "x-goog-copy-source", "x-goog-metadata-directive",
    "x-goog-if-generation-match", "0"};

static const struct vendor *vendor_of(const struct tier_call *call)
{
    return call->config->kind == TIER_GCS ? &google : &amazon;
}

/* name and value must outlive the headers. */
static void add_s3_header(struct s3_headers *headers, char *name, char *value)
{
    if (headers->n < S3_HEADERS_MAX) {
        headers->list[headers->n].name = name;
        headers->list[headers->n++].value = value;
    }
}

void s3_headers_add_body(struct s3_headers *headers,
                         const struct tier_call *call, const char *sha256)
{
    if (call->config->transport.sigv4 != NULL) {
        add_s3_header(headers, BUCKET_BODY_HEADER, (char *)sha256);
    }
}

/* Appends a text of len bytes.  All lines fit, because each name has less than
 * 40 bytes before it. */
static char *s3_add_text(struct s3_headers *headers, size_t *used,
                         const char *before, const char *text, size_t len)
{
    char *p = headers->text + *used;
    size_t left = sizeof(headers->text) - *used;
    int n = snprintf(p, left, "%s%.*s", before, (int)len, text);

    *used += n >= 0 && (size_t)n < left ? (size_t)n + 1 : left - 1;
    return p;
}

void s3_headers_add_absent(struct s3_headers *headers,
                           const struct tier_call *call)
{
    const struct vendor *vendor = vendor_of(call);

    add_s3_header(headers, vendor->absent, vendor->absent_value);
}

void s3_headers_add_copy(struct s3_headers *headers,
                         const struct tier_call *call, char *from)
{
    const struct vendor *vendor = vendor_of(call);

    add_s3_header(headers, vendor->copy_source, from);
    add_s3_header(headers, vendor->copy_directive, "REPLACE");
}

void s3_headers_add_type(struct s3_headers *headers,
                         const struct tier_call *call)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(version, &call->version);
    snprintf(headers->type, sizeof(headers->type),
             call->is_original ? "application/octet-stream"
                               : "application/vnd.ms-symcache; version=%s",
             version);
    add_s3_header(headers, "Content-Type", headers->type);
}

void s3_headers_add_meta(struct s3_headers *headers,
                         const struct tier_call *call)
{
    const char *meta = vendor_of(call)->meta, *lines = call->lines;
    const char *colon, *end;
    size_t used = 0;
    char *name;

    for (; *lines != '\0'; lines = end + 1) {
        end = lines + strcspn(lines, "\n");
        colon = memchr(lines, ':', (size_t)(end - lines));
        if (colon == NULL || *end == '\0' || end - colon < 2) {
            return;
        }
        name =
            s3_add_text(headers, &used, meta, lines, (size_t)(colon - lines));
        add_s3_header(headers, name,
                      s3_add_text(headers, &used, "", colon + 2,
                                  (size_t)(end - colon - 2)));
    }
}
