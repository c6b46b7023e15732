/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the source server stream, for SymCaches and for SourceCaches.
 */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "debuginfo/pdb/pdb.h"
#include "derived/sourcecache/sourcecache.h"
#include "derived/symcache/symcache.h"

#define ROOM (8u << 20)

struct output {
    uint8_t data[ROOM];
    size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *context, const void *data, size_t size)
{
    struct output *to = context;

    if (size > ROOM - to->size) {
        return -1;
    }
    memcpy(to->data + to->size, data, size);
    to->size += size;
    return 0;
}

/* Every file is found by its path, and leads to a URL. */
static void use(const struct sourcecache_reader *r)
{
    struct sourcecache_entry entry, found;
    uint32_t i;

    for (i = 0; sourcecache_reader_entry(r, i, &entry); i++) {
        if (entry.status != SOURCECACHE_LINKED ||
            strncasecmp(entry.url.data, "http", 4) != 0 ||
            (entry.path.size > 0 &&
             !sourcecache_find_path(r, entry.path.data, entry.path.size,
                                    &found))) {
            abort();
        }
    }
}

static void convert_sources(const uint8_t *data, size_t size)
{
    static struct output output;
    struct symc_sink sink = {append, &output};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct sourcecache_reader reader;
    char error[200];

    output.size = 0;
    if (pdb_convert_sources(data, size, &sink, &result, &failure) != 0) {
        if (failure.text[0] == '\0') {
            abort();
        }
        return;
    }
    if (sourcecache_reader_open(&reader, output.data, output.size, error,
                                sizeof(error)) != SYMC_OPENED ||
        sourcecache_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    use(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;
    const uint8_t *file;
    size_t file_size;

    image_convert_part(IMAGE_SRCSRV, data, size);
    if (size <= UINT16_MAX) {
        image_init(&image);
        image.parts[IMAGE_SRCSRV].data = data;
        image.parts[IMAGE_SRCSRV].size = (uint32_t)size;
        file = image_build(&image, &file_size);
        convert_sources(file, file_size);
    }
    return 0;
}
