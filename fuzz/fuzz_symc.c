/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the SymCache reader and symc_verify().
 */
#include <stdlib.h>
#include <string.h>

#include "derived/symcache/segments.h"
#include "derived/symcache/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct symc_reader *reader, uint64_t address)
{
    uint32_t n;
    struct symc_frame frame;
    struct symc_frames frames;
    struct symc_file_parts file;

    symc_reader_lookup(reader, address, &frames);
    for (n = 0; symc_reader_next(&frames, &frame); n++) {
        if (n > reader->num_locations) {
            abort(); /* the chain of callers is a loop */
        }
        symc_reader_file(reader, frame.location.file, &file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t i, start;
    char error[200];
    struct symc_reader reader;
    struct symc_segments segments;

    error[0] = '\0';
    if (symc_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    for (i = 0; i < reader.num_ranges && i < 32; i++) {
        start = symc_reader_range(&reader, i);
        look_up(&reader, start);
        look_up(&reader, (uint64_t)start + 1);
    }
    symc_segments_read(&segments, &reader);
    for (i = 0; i < segments.n; i++) {
        look_up(&reader, symc_segments_address(&segments,
                                               segments.list[i].offset));
    }
    look_up(&reader, 0);
    look_up(&reader, UINT64_MAX);
    error[0] = '\0';
    if (symc_verify(&reader, error, sizeof(error)) == SYMC_VIOLATED &&
        error[0] == '\0') {
        abort();
    }
    return 0;
}
