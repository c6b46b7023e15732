/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a ProguardCache, its verification and lookups in it.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolication/jvm/jvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct jvm_mapped_frames frames;
    struct proguardcache_reader reader;
    struct jvm_mapping mapping = {.reader = &reader};
    struct proguardcache_class class;
    struct proguardcache_member m;
    struct jvm_frame frame = {.line = 0};
    uint64_t work = 100000;
    char error[200] = "";
    bool is_sound;
    uint32_t i;

    if (proguardcache_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    is_sound =
        proguardcache_verify(&reader, error, sizeof(error)) == SYMC_SOUND;
    if (!is_sound && error[0] == '\0') {
        abort();
    }
    for (i = 0; i < 32 && proguardcache_reader_class(&reader, i, &class); i++) {
        frame.class = class.renamed;
        if (is_sound && !proguardcache_reader_find(&reader, class.renamed.data,
                                                   class.renamed.size,
                                                   &class)) {
            abort();
        }
        if (!proguardcache_reader_member(&reader, class.first, &m)) {
            continue;
        }
        frame.method = m.renamed;
        frame.parameters.data = NULL;
        for (frame.line = 0; frame.line < 3; frame.line++) {
            (void)jvm_remap_frame(&mapping, &frame, &m.file, &work, &frames);
        }
        frame.parameters = m.arguments;
        (void)jvm_remap_frame(&mapping, &frame, NULL, &work, &frames);
    }
    return 0;
}
