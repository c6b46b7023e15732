/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a source bundle; or, if it begins as no archive does, the
 * manifest of one, and its only file behind a NUL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcebundle/sourcebundle.h"
#include "derived/sourcecache/sourcecache.h"
#include "symbolication/symbolication.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    uint8_t *data;
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct bytes *bytes = context;

    bytes->data = realloc(bytes->data, bytes->size + size + 1);
    if (bytes->data == NULL) {
        abort();
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

static void number(struct bytes *to, uint32_t value, size_t size)
{
    uint8_t p[4];

    le32_store(p, value);
    append(to, p, size);
}

/* Adds a stored member, and its entry to the directory. */
static void add(struct bytes *zip, struct bytes *directory, const char *name,
                const uint8_t *data, size_t size)
{
    struct bytes head = {NULL, 0};
    uint32_t at = (uint32_t)zip->size;

    number(&head, 20, 2); /* version, flags, method, time and date */
    number(&head, 0, 4);
    number(&head, 0, 4);
    number(&head, (uint32_t)crc32(0, data, (uInt)size), 4);
    number(&head, (uint32_t)size, 4);
    number(&head, (uint32_t)size, 4);
    number(&head, (uint32_t)strlen(name), 2);
    number(&head, 0, 2);
    append(zip, "PK\3\4", 4);
    append(zip, head.data, head.size);
    append(zip, name, strlen(name));
    append(zip, data, size);
    append(directory, "PK\1\2\24\0", 6);
    append(directory, head.data, head.size);
    number(directory, 0, 4); /* comment, disk, attributes */
    number(directory, 0, 4);
    number(directory, 0, 2);
    number(directory, at, 4);
    append(directory, name, strlen(name));
    free(head.data);
}

static struct bytes make(const uint8_t *data, size_t size)
{
    struct bytes zip = {NULL, 0}, directory = {NULL, 0};
    size_t n = strnlen((const char *)data, size);
    uint32_t at;

    append(&zip, "SYSB\2\0\0\0", 8);
    add(&zip, &directory, "f", data + n, size - n);
    add(&zip, &directory, "manifest.json", data, n);
    at = (uint32_t)zip.size;
    append(&zip, directory.data, directory.size);
    append(&zip, "PK\5\6\0\0\0\0\2\0\2\0", 12);
    number(&zip, (uint32_t)directory.size, 4);
    number(&zip, at, 4);
    number(&zip, 0, 2);
    free(directory.data);
    return zip;
}

/* Every file is found by what it has, unless a later one has the same, and all
 * its lines are there. */
static void use(const struct sourcecache_reader *r)
{
    struct sourcecache_entry entry, found;
    struct source_context context;
    char url[64];
    struct text_lines known = {0};
    uint32_t i, line;

    for (i = 0; sourcecache_reader_entry(r, i, &entry); i++) {
        if (entry.path.size > 0 &&
            !sourcecache_find_path(r, entry.path.data, entry.path.size,
                                   &found)) {
            abort();
        }
        if (entry.url.size > 0 &&
            !sourcecache_find_url(r, entry.url.data, entry.url.size, &found)) {
            abort();
        }
        for (line = 1; line <= entry.lines && line < 100; line++) {
            if (!source_context_read(&context, &known, r, &entry, line)) {
                abort();
            }
        }
        (void)sourcecache_link(r, entry.path.data, entry.path.size, url,
                               sizeof(url));
    }
    text_lines_free(&known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bundle = {NULL, 0}, cache = {NULL, 0};
    struct symc_sink sink = {append, &cache};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct sourcecache_reader reader;
    char error[200];

    if (sourcebundle_sniff(data, size)) {
        append(&bundle, data, size);
    } else {
        bundle = make(data, size);
    }
    if (sourcebundle_format.makes[0].convert(bundle.data, bundle.size, &sink,
                                             &result, &failure) != 0) {
        if (failure.text[0] == '\0') {
            abort();
        }
    } else if (sourcecache_reader_open(&reader, cache.data, cache.size, error,
                                       sizeof(error)) != SYMC_OPENED ||
               sourcecache_verify(&reader, error, sizeof(error)) !=
                   SYMC_SOUND) {
        fprintf(stderr, "%s\n", error);
        abort();
    } else {
        use(&reader);
    }
    (void)sourcebundle_scripts_check(bundle.data, bundle.size, error,
                                     sizeof(error));
    free(bundle.data);
    free(cache.data);
    return 0;
}
