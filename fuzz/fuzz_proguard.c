/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a mapping of ProGuard or R8, and frames by it: those of its own
 * classes, and a stack trace, which is the mapping once more.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/proguard/proguard.h"
#include "symbolication/jvm/jvm.h"

#define ROOM (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct made {
    uint8_t *data;
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct made *made = context;

    if (size > ROOM - made->size) {
        return -1;
    }
    memcpy(made->data + made->size, data, size);
    made->size += size;
    return 0;
}

static void drop(void *context, const char *data, size_t size)
{
    size_t *total = context;

    *total += size + (data == NULL);
}

static void ask(const struct proguardcache_reader *reader)
{
    static struct jvm_mapped_frames frames;
    static struct jvm_alternatives alternatives;
    static const struct symc_string thrown = {
        "Ljava/lang/NullPointerException;", 32};
    struct jvm_mapping mapping = {.reader = reader};
    struct proguardcache_class class;
    struct proguardcache_member m;
    struct jvm_frame frame = {.line = 0};
    uint64_t work = 100000;
    uint32_t i, k;

    for (i = 0; i < 16 && proguardcache_reader_class(reader, i, &class); i++) {
        for (k = 0; k < class.count && k < 16; k++) {
            if (!proguardcache_reader_member(reader, class.first + k, &m)) {
                abort();
            }
            frame.class = class.renamed;
            frame.method = m.renamed;
            frame.line = k % 3 == 0 ? 0 : m.lines[k & 1];
            frame.parameters = m.arguments;
            frame.parameters.data = k % 4 == 0 ? m.arguments.data : NULL;
            if (jvm_remap_frame(&mapping, &frame, k & 1 ? &thrown : NULL,
                                &work, &frames) == JVM_UNKNOWN) {
                abort(); /* it is in the mapping */
            }
            if (frames.count > JVM_FRAMES_MAX) {
                abort();
            }
            frame.parameters.data = NULL;
            (void)jvm_find_alternatives(&mapping, &frame,
                                        k & 1 ? &thrown : NULL, &work,
                                        &alternatives);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t room[ROOM];
    struct made made = {room, 0};
    const struct symc_sink sink = {append, &made};
    struct failure failure = {FAILURE_NONE, ""};
    struct proguardcache_reader reader;
    struct jvm_signature signature = {0};
    size_t total = 0;
    const struct jvm_output_text output = {drop, &total};
    char error[200] = "";

    if (size > 65536) {
        return 0;
    }
    if (proguard_convert(data, size, &sink, &failure) != 0) {
        abort(); /* whatever the text is, a cache is made of it */
    }
    if (proguardcache_reader_open(&reader, room, made.size, error,
                                  sizeof(error)) != SYMC_OPENED ||
        proguardcache_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        abort();
    }
    ask(&reader);
    (void)jvm_retrace(&reader, (const char *)data, size, &output);
    (void)jvm_signature_read(
        &signature, &reader, (struct symc_string){(const char *)data, size});
    jvm_signature_free(&signature);
    return 0;
}
