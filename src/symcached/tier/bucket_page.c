/*
 * Copyright (C) the ngx_symcache authors
 *
 * The XML is parsed here and not in a child: it comes from a store for which
 * we have keys, the caller limits its size, and the library is made for
 * hostile input and gets no document type and no entities of its own.
 */
#include "bucket_page.h"

#include <event2/http.h>
#include <expat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/percent.h"

#define DEPTH_MAX 8

struct bucket_page_reading {
    struct tier_page *page;
    const char *prefix;
    tier_listed_fn fn;
    void *arg;
    char *error;
    size_t error_size;

    bool calls_back; /* fn is called for each object */
    XML_Parser parser;
    unsigned depth;
    bool in_object; /* <Contents> */
    size_t len;     /* of text */
    char text[TIER_PAGE_TEXT];
    char key[TIER_PAGE_TEXT];
    uint64_t size;
    int64_t stored;
    bool is_encoded; /* keys are as they were asked for */
};

/* The configuration has it encoded, with a slash before it. */
void tier_bucket_prefix(char *buf, size_t size, const struct tier_config *tier)
{
    const char *p = tier->bucket.prefix != NULL ? tier->bucket.prefix : "";
    size_t n;

    snprintf(buf, size - 1, "%s", p + (*p == '/'));
    n = percent_decode(buf, buf, strlen(buf));
    if (n > 0) {
        buf[n++] = '/';
    }
    buf[n] = '\0';
}

/* The parameters are in the order that they are signed in.  XML cannot have
 * all the bytes that a key can: so keys are asked for encoded. */
char *tier_page_url(const struct tier_config *tier, const char *prefix,
                    const char *next)
{
    char token[3 * TIER_PAGE_TEXT], begin[3 * TIER_PAGE_TEXT];
    char *url;
    size_t base = strlen(tier->url);

    base -= tier->bucket.prefix != NULL ? strlen(tier->bucket.prefix) : 0;
    percent_encode(token, next);
    percent_encode(begin, prefix);
    return asprintf(&url,
                    "%.*s/?%s%s%sencoding-type=url&list-type=2&prefix=%s",
                    (int)base, tier->url,
                    token[0] != '\0' ? "continuation-token=" : "", token,
                    token[0] != '\0' ? "&" : "", begin) < 0
               ? NULL
               : url;
}

/* the answer -------------------------------------------------------------- */

static void refuse_page(struct bucket_page_reading *reading, const char *what)
{
    snprintf(reading->error, reading->error_size, "the list of objects %s",
             what);
    XML_StopParser(reading->parser, XML_FALSE);
}

static void page_on_doctype(void *arg, const XML_Char *name,
                            const XML_Char *system, const XML_Char *public,
                            int has_subset)
{
    refuse_page(arg, "has a document type");
}

static void page_on_start(void *arg, const XML_Char *name,
                          const XML_Char **atts)
{
    struct bucket_page_reading *reading = arg;

    reading->len = 0;
    if (++reading->depth > DEPTH_MAX) {
        refuse_page(reading, "is nested too deeply");
    } else if (reading->depth == 1 && strcmp(name, "ListBucketResult") != 0) {
        refuse_page(reading, "is not a ListBucketResult of S3");
    } else if (reading->depth == 2 && strcmp(name, "Contents") == 0) {
        reading->in_object = true;
        reading->key[0] = '\0';
        reading->size = 0;
        reading->stored = 0;
    }
}

static void page_on_text(void *arg, const XML_Char *text, int len)
{
    struct bucket_page_reading *reading = arg;

    if (reading->len + (size_t)len >= sizeof(reading->text)) {
        refuse_page(reading, "has an endless text");
        return;
    }
    memcpy(reading->text + reading->len, text, (size_t)len);
    reading->len += (size_t)len;
}

/* An object whose key has a NUL is not ours, and would be taken for another.
 */
static void deliver_key(struct bucket_page_reading *reading, const char *key,
                        size_t len)
{
    size_t n = strlen(reading->prefix);
    struct tier_listed listed = {key + n, reading->size, reading->stored};

    if (strncmp(key, reading->prefix, n) != 0) {
        refuse_page(reading, "has objects that were not asked for");
    } else if (key[n] != '\0' && strlen(key) == len) {
        reading->fn(reading->arg, &listed);
    }
}

/* The encoding is that of a form, in which a plus is a blank. */
static void object_ends(struct bucket_page_reading *reading)
{
    size_t len = strlen(reading->key);
    char *key;

    reading->in_object = false;
    reading->page->is_empty = false;
    if (!reading->calls_back) {
        return;
    }
    if (!reading->is_encoded) {
        deliver_key(reading, reading->key, len);
        return;
    }
    key = evhttp_uridecode(reading->key, 1, &len);
    if (key == NULL) {
        refuse_page(reading, "needs more memory");
        return;
    }
    deliver_key(reading, key, len);
    free(key);
}

static void value_of_object(struct bucket_page_reading *reading,
                            const char *name)
{
    struct tm tm = {0};

    if (strcmp(name, "Key") == 0) {
        memcpy(reading->key, reading->text, reading->len + 1);
    } else if (strcmp(name, "Size") == 0) {
        reading->size = strtoull(reading->text, NULL, 10);
    } else if (strcmp(name, "LastModified") == 0 &&
               strptime(reading->text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL) {
        reading->stored = (int64_t)timegm(&tm);
    }
}

static void page_on_end(void *arg, const XML_Char *name)
{
    struct bucket_page_reading *reading = arg;

    reading->text[reading->len] = '\0';
    if (reading->depth == 3 && reading->in_object) {
        value_of_object(reading, name);
    } else if (reading->depth == 2 && reading->in_object) {
        object_ends(reading);
    } else if (reading->depth == 2 && strcmp(name, "EncodingType") == 0) {
        reading->is_encoded = strcmp(reading->text, "url") == 0;
    } else if (reading->depth == 2 && strcmp(name, "IsTruncated") == 0) {
        reading->page->is_truncated = strcmp(reading->text, "true") == 0;
    } else if (reading->depth == 2 &&
               strcmp(name, "NextContinuationToken") == 0) {
        memcpy(reading->page->next, reading->text, reading->len + 1);
    }
    reading->len = 0;
    reading->depth--;
}

/* Reads the answer, which is in a file.  Returns 0, or -1 with the error. */
static int parse_page(struct bucket_page_reading *reading, int fd)
{
    enum XML_Status status = XML_STATUS_OK;
    char buf[65536];
    ssize_t n;

    reading->parser = XML_ParserCreate(NULL);
    if (reading->parser == NULL) {
        snprintf(reading->error, reading->error_size, "out of memory");
        return -1;
    }
    XML_SetUserData(reading->parser, reading);
    XML_SetElementHandler(reading->parser, page_on_start, page_on_end);
    XML_SetCharacterDataHandler(reading->parser, page_on_text);
    XML_SetStartDoctypeDeclHandler(reading->parser, page_on_doctype);
    lseek(fd, 0, SEEK_SET);
    do {
        n = read(fd, buf, sizeof(buf));
        status = XML_Parse(reading->parser, buf, n > 0 ? (int)n : 0, n <= 0);
    } while (status == XML_STATUS_OK && n > 0);
    if (status != XML_STATUS_OK && reading->error[0] == '\0') {
        snprintf(buf, sizeof(buf), "is damaged: %s at line %lu column %lu",
                 XML_ErrorString(XML_GetErrorCode(reading->parser)),
                 XML_GetCurrentLineNumber(reading->parser),
                 XML_GetCurrentColumnNumber(reading->parser) + 1);
        refuse_page(reading, buf);
    }
    XML_ParserFree(reading->parser);
    return reading->error[0] == '\0' ? 0 : -1;
}

/* Stores report only after the objects whether keys are encoded, so the answer
 * is read twice. */
int tier_page_read(struct tier_page *page, int fd, const char *prefix,
                   tier_listed_fn fn, void *arg, char *error, size_t size)
{
    struct bucket_page_reading reading = {.page = page,
                                          .prefix = prefix,
                                          .fn = fn,
                                          .arg = arg,
                                          .error = error,
                                          .error_size = size};
    int pass;

    error[0] = '\0';
    for (pass = 0; pass < 2; pass++) {
        reading.calls_back = pass == 1;
        reading.depth = 0;
        reading.len = 0;
        reading.in_object = false;
        page->is_truncated = false;
        page->is_empty = true;
        page->next[0] = '\0';
        if (parse_page(&reading, fd) != 0) {
            return -1;
        }
    }
    return 0;
}
