/*
 * Copyright (C) the ngx_symcache authors
 *
 * The XML is parsed here and not in a child: it is what an operator's command
 * reads from a store that has its keys, by a library that is made for hostile
 * input, which gets no document type and no entities of its own.
 */
#include "list.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/percent.h"
#include "call.h"

#define PAGE_MAX (16 * 1024 * 1024) /* bytes of an answer */
#define PAGE_SECONDS 300
#define TEXT_MAX 4096 /* of an element: a key has at most 1024 bytes */
#define DEPTH_MAX 8
#define PAGES_MAX 1000000
#define EMPTY_MAX 1000 /* pages without an object, one after the other */

struct page {
    struct event_base *base;
    const char *prefix;
    tier_listed_fn fn;
    void *arg;
    char *error;
    size_t error_size;

    bool ended; /* the request */
    bool received;
    bool delivers; /* fn is called */
    XML_Parser parser;
    unsigned depth;
    bool in_object; /* <Contents> */
    size_t len;     /* of text */
    char text[TEXT_MAX];
    char key[TEXT_MAX];
    uint64_t size;
    int64_t stored;
    bool is_encoded; /* keys are as they were asked for */
    bool is_truncated;
    bool is_empty;
    char next[TEXT_MAX];
};

/* the answer --------------------------------------------------------------- */

static void refuse(struct page *page, const char *what)
{
    snprintf(page->error, page->error_size, "the list of objects: %s", what);
    XML_StopParser(page->parser, XML_FALSE);
}

static void on_doctype(void *arg, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int has_subset)
{
    refuse(arg, "it has a document type");
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **atts)
{
    struct page *page = arg;

    page->len = 0;
    if (++page->depth > DEPTH_MAX ||
        (page->depth == 1 && strcmp(name, "ListBucketResult") != 0)) {
        refuse(page, "it is none");
    } else if (page->depth == 2 && strcmp(name, "Contents") == 0) {
        page->in_object = true;
        page->key[0] = '\0';
        page->size = 0;
        page->stored = 0;
    }
}

static void on_text(void *arg, const XML_Char *text, int len)
{
    struct page *page = arg;

    if (page->len + (size_t)len >= sizeof(page->text)) {
        refuse(page, "it has an endless text");
        return;
    }
    memcpy(page->text + page->len, text, (size_t)len);
    page->len += (size_t)len;
}

/* An object whose key has a NUL is not ours, and would be taken for another. */
static void deliver(struct page *page, const char *key, size_t len)
{
    size_t n = strlen(page->prefix);
    struct tier_listed listed = {key + n, page->size, page->stored};

    if (strncmp(key, page->prefix, n) != 0) {
        refuse(page, "it has others than asked for");
    } else if (key[n] != '\0' && strlen(key) == len) {
        page->fn(page->arg, &listed);
    }
}

/* The encoding is that of a form, in which a plus is a blank. */
static void object_ends(struct page *page)
{
    size_t len = strlen(page->key);
    char *key;

    page->in_object = false;
    page->is_empty = false;
    if (!page->delivers) {
        return;
    }
    if (!page->is_encoded) {
        deliver(page, page->key, len);
        return;
    }
    key = evhttp_uridecode(page->key, 1, &len);
    if (key == NULL) {
        refuse(page, "out of memory");
        return;
    }
    deliver(page, key, len);
    free(key);
}

static void value_of_object(struct page *page, const char *name)
{
    struct tm tm = {0};

    if (strcmp(name, "Key") == 0) {
        memcpy(page->key, page->text, page->len + 1);
    } else if (strcmp(name, "Size") == 0) {
        page->size = strtoull(page->text, NULL, 10);
    } else if (strcmp(name, "LastModified") == 0 &&
               strptime(page->text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL) {
        page->stored = (int64_t)timegm(&tm);
    }
}

static void on_end(void *arg, const XML_Char *name)
{
    struct page *page = arg;

    page->text[page->len] = '\0';
    if (page->depth == 3 && page->in_object) {
        value_of_object(page, name);
    } else if (page->depth == 2 && page->in_object) {
        object_ends(page);
    } else if (page->depth == 2 && strcmp(name, "EncodingType") == 0) {
        page->is_encoded = strcmp(page->text, "url") == 0;
    } else if (page->depth == 2 && strcmp(name, "IsTruncated") == 0) {
        page->is_truncated = strcmp(page->text, "true") == 0;
    } else if (page->depth == 2 &&
               strcmp(name, "NextContinuationToken") == 0) {
        memcpy(page->next, page->text, page->len + 1);
    }
    page->len = 0;
    page->depth--;
}

/* Reads the answer, which is in a file.  Returns 0, or -1 with the error. */
static int parse(struct page *page, int fd)
{
    enum XML_Status status = XML_STATUS_OK;
    char buf[65536];
    ssize_t n;

    page->parser = XML_ParserCreate(NULL);
    if (page->parser == NULL) {
        snprintf(page->error, page->error_size, "out of memory");
        return -1;
    }
    XML_SetUserData(page->parser, page);
    XML_SetElementHandler(page->parser, on_start, on_end);
    XML_SetCharacterDataHandler(page->parser, on_text);
    XML_SetStartDoctypeDeclHandler(page->parser, on_doctype);
    lseek(fd, 0, SEEK_SET);
    do {
        n = read(fd, buf, sizeof(buf));
        status = XML_Parse(page->parser, buf, n > 0 ? (int)n : 0, n <= 0);
    } while (status == XML_STATUS_OK && n > 0);
    if (status != XML_STATUS_OK && page->error[0] == '\0') {
        snprintf(page->error, page->error_size,
                 "the list of objects: line %lu: %s",
                 (unsigned long)XML_GetCurrentLineNumber(page->parser),
                 XML_ErrorString(XML_GetErrorCode(page->parser)));
    }
    XML_ParserFree(page->parser);
    return page->error[0] == '\0' ? 0 : -1;
}

/* Stores tell behind the objects whether keys are encoded, so the answer is
 * read twice; and none is delivered of one that is cut. */
static int read_page(struct page *page, int fd)
{
    int pass;

    page->is_encoded = false;
    for (pass = 0; pass < 2; pass++) {
        page->delivers = pass == 1;
        page->depth = 0;
        page->len = 0;
        page->in_object = false;
        page->is_truncated = false;
        page->is_empty = true;
        page->next[0] = '\0';
        if (parse(page, fd) != 0) {
            return -1;
        }
    }
    return 0;
}

/* the request -------------------------------------------------------------- */

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0'
                                     : toupper((unsigned char)c) - 'A' + 10;
}

/* The configuration has it encoded, with a slash before it. */
void tier_bucket_prefix(char *buf, size_t size,
                        const struct tier_config *tier)
{
    const char *p = tier->bucket.prefix != NULL ? tier->bucket.prefix : "";
    size_t n = 0;

    for (p += *p == '/'; *p != '\0' && n + 2 < size; p++) {
        if (*p == '%' && isxdigit((unsigned char)p[1]) &&
            isxdigit((unsigned char)p[2])) {
            buf[n++] = (char)(hex(p[1]) << 4 | hex(p[2]));
            p += 2;
        } else {
            buf[n++] = *p;
        }
    }
    if (n > 0) {
        buf[n++] = '/';
    }
    buf[n] = '\0';
}

/* The parameters are in the order that they are signed in.  XML cannot have all
 * the bytes that a key can: so keys are asked for encoded. */
static char *page_url(const struct tier_config *tier, const struct page *page)
{
    char token[3 * TEXT_MAX], prefix[3 * TEXT_MAX], *url;
    size_t base = strlen(tier->url);

    base -= tier->bucket.prefix != NULL ? strlen(tier->bucket.prefix) : 0;
    percent_encode(token, page->next);
    percent_encode(prefix, page->prefix);
    return asprintf(&url, "%.*s/?%s%s%sencoding-type=url&list-type=2&prefix=%s",
                    (int)base, tier->url,
                    token[0] != '\0' ? "continuation-token=" : "", token,
                    token[0] != '\0' ? "&" : "", prefix) < 0
               ? NULL
               : url;
}

static void on_fetched(void *arg, const struct fetch_result *result)
{
    struct page *page = arg;
    char code[TIER_CODE_MAX];

    page->ended = true;
    page->received = result->outcome == SOURCE_FOUND;
    if (!page->received) {
        tier_s3_code(code, result->answer);
        snprintf(page->error, page->error_size,
                 "it cannot be listed: %.200s %s", result->detail, code);
    }
    event_base_loopbreak(page->base);
}

static int fetch_page(struct tiers *tiers, const struct tier_config *tier,
                      struct page *page, int fd)
{
    static const struct limits_config limits = {.connect_time = 10,
                                                .first_byte_time = 60,
                                                .stall_time = 60,
                                                .attempts = 3,
                                                .downloads_per_host = 1};
    static const struct cache_config no_limit; /* it is a temporary file */
    static const struct header_config no_body = {BUCKET_BODY_HEADER,
                                                 BUCKET_BODY_EMPTY};
    struct fetch_request request = {
        .transport = &tier->transport,
        .credentials = true,
        .extra = &no_body,
        .nextra = tier->transport.sigv4 != NULL,
        .limits = &limits,
        .cache = &no_limit,
        .fd = fd,
        .max = PAGE_MAX,
        .seconds = PAGE_SECONDS,
    };
    char *url = page_url(tier, page);

    page->ended = page->received = false;
    request.url = url;
    if (url == NULL || fetch_start(tiers->fetcher, &request, on_fetched,
                                   page) == NULL) {
        free(url);
        snprintf(page->error, page->error_size, "out of memory");
        return -1;
    }
    /* what is removed meanwhile breaks the loop, too */
    while (!page->ended && event_base_dispatch(tiers->base) == 0) {
    }
    free(url);
    return page->received ? 0 : -1;
}

/*
 * Of the tokens one is kept, of the page whose number is the last power of two
 * (Brent): the list comes to it again if it goes in a circle, however long that
 * is and wherever it begins.
 */
static int list_pages(struct tiers *tiers, const struct tier_config *tier,
                      struct page *page, int fd)
{
    char seen[TEXT_MAX] = "";
    unsigned n, empty = 0;

    for (n = 1;; n++) {
        if (fetch_page(tiers, tier, page, fd) != 0 ||
            read_page(page, fd) != 0) {
            return -1;
        }
        if (!page->is_truncated) {
            return 0;
        }
        empty = page->is_empty ? empty + 1 : 0;
        if (page->next[0] == '\0' || strcmp(page->next, seen) == 0) {
            snprintf(page->error, page->error_size,
                     "the list of objects does not go on");
            return -1;
        }
        if (n == PAGES_MAX || empty == EMPTY_MAX) {
            snprintf(page->error, page->error_size,
                     "the list of objects does not end: %u pages, the last "
                     "%u without an object", n, empty);
            return -1;
        }
        if ((n & (n - 1)) == 0) {
            memcpy(seen, page->next, sizeof(seen));
        }
    }
}

int tier_list_s3(struct tiers *tiers, const struct tier_config *tier,
                 tier_listed_fn fn, void *arg, char *error, size_t size)
{
    struct page *page = calloc(1, sizeof(*page));
    char prefix[TEXT_MAX];
    FILE *file;
    int rc = -1;

    if (page == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    tier_bucket_prefix(prefix, sizeof(prefix), tier);
    error[0] = '\0';
    page->base = tiers->base;
    page->prefix = prefix;
    page->fn = fn;
    page->arg = arg;
    page->error = error;
    page->error_size = size;
    file = tmpfile();
    if (file == NULL) {
        snprintf(error, size, "no temporary file: %s", strerror(errno));
    } else {
        rc = list_pages(tiers, tier, page, fileno(file));
        fclose(file);
    }
    free(page);
    return rc;
}
