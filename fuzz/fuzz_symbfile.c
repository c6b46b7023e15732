/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a symbfile, its conversion to a SymCache and lookups in it.
 * Input without the magic is taken for records behind a sound header.  What is
 * made of the SymCache must be a symbfile again, and what is joined of several.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/symbfile/symbfile.h"
#include "image.h"

#define BEGIN "symbfile\0\1"
#define BEGIN_SIZE 10
#define ROOM 0x10000
#define ADDRESSES 64

struct bytes {
    size_t size;
    uint8_t data[1 << 22];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int write_bytes(void *context, const void *data, size_t size)
{
    struct bytes *b = context;

    if (size > sizeof(b->data) - b->size) {
        return -1;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}

/* Looks up the addresses where the first records begin.  Returns 0, or -1 if
 * the file is refused. */
static int look_up(const uint8_t *data, size_t size)
{
    size_t i;
    int rc;
    struct symbfile_search search;
    struct failure failure = {FAILURE_NONE, ""};
    const struct symbfile_frame *frames;

    rc = symbfile_search_open(&search, data, size, &failure);
    if ((rc != 0) != (failure.code != FAILURE_NONE)) {
        abort();
    }
    for (i = 0; rc == 0 && i < search.num_entries && i < ADDRESSES; i++) {
        (void)symbfile_search_at(&search, search.entries[i].record.address,
                                 &frames);
    }
    symbfile_search_free(&search);
    return rc;
}

/* What several files in a row are joined to must be one. */
static void join(const uint8_t *data, size_t size)
{
    char error[200];
    static struct bytes made;
    const struct symc_sink sink = {write_bytes, &made};

    made.size = 0;
    if (symbfile_join_parts(data, size, &sink, error, sizeof(error)) == 0 &&
        look_up(made.data, made.size) != 0) {
        abort();
    }
}

/* Makes a symbfile of a sound SymCache, which must be one. */
static void make(const struct bytes *symcache)
{
    char error[200];
    static struct bytes made;
    const struct symc_sink sink = {write_bytes, &made};
    struct symc_reader reader;
    struct failure failure = {FAILURE_NONE, ""};

    made.size = 0;
    if (symc_reader_open(&reader, symcache->data, symcache->size, error,
                         sizeof(error)) != SYMC_OPENED ||
        (symbfile_ranges_from_symcache(&reader, 0, &sink, &failure) == 0 &&
         look_up(made.data, made.size) != 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[BEGIN_SIZE + ROOM];
    static struct bytes symcache;
    const struct symc_sink sink = {write_bytes, &symcache};
    struct failure failure = {FAILURE_NONE, ""};
    struct debuginfo_result result = {0};
    int rc;

    if (size > ROOM) {
        return 0;
    }
    if (!symbfile_sniff(data, size)) {
        memcpy(file, BEGIN, BEGIN_SIZE);
        if (size > 0) {
            memcpy(file + BEGIN_SIZE, data, size);
        }
        data = file;
        size += BEGIN_SIZE;
    }
    join(data, size);
    rc = look_up(data, size);
    if (image_check(symbfile_format.makes, data, size, &result) != 0) {
        return 0;
    }
    symcache.size = 0;
    if (rc != 0 || symbfile_format.makes->convert(data, size, &sink, &result,
                                                  &failure) != 0) {
        abort();
    }
    make(&symcache);
    return 0;
}
