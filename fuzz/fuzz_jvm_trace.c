/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a stack trace of the JVM as text, behind the mapping by which
 * it gets its names and a NUL.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/proguard/proguard.h"
#include "symbolication/jvm/jvm.h"

#define ROOM ((size_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct output {
    size_t size;
    uint8_t data[ROOM];
};

static struct output cache;

static int append(void *context, const void *data, size_t size)
{
    struct output *output = context;

    if (size > ROOM - output->size) {
        return -1;
    }
    memcpy(output->data + output->size, data, size);
    output->size += size;
    return 0;
}

static void count(void *context, const char *data, size_t size)
{
    size_t *lines = context;

    for (; size > 0; size--) {
        *lines += *data++ == '\n';
    }
}

/* Each part of the first line lies in it, in order. */
static void check_line(const char *text, size_t size)
{
    const char *lf = size > 0 ? memchr(text, '\n', size) : NULL;
    const char *end = lf != NULL ? lf : text + size;
    struct jvm_line line;

    jvm_line_read(&line, (struct symc_string){text, (size_t)(end - text)});
    if (line.kind == JVM_LINE_OTHER) {
        return;
    }
    if (line.before.data != text ||
        line.class.data != text + line.before.size || line.class.size == 0 ||
        line.behind.data < line.class.data + line.class.size ||
        line.behind.data + line.behind.size != end ||
        (line.kind == JVM_LINE_FRAME &&
         line.method.data + line.method.size > line.behind.data)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t mapping = nul != NULL ? (size_t)(nul - data) : 0, lines = 0;
    const char *text = (const char *)data + mapping + (nul != NULL);
    size_t n = size - mapping - (nul != NULL);
    const struct symc_sink sink = {append, &cache};
    const struct jvm_output_text to = {count, &lines};
    struct proguardcache_reader reader;
    struct failure failure = {FAILURE_NONE, ""};
    char error[200];

    check_line(text, n);
    (void)jvm_is_trace(text, n);
    cache.size = 0;
    if (proguard_convert(data, mapping, &sink, &failure) != 0) {
        return 0;
    }
    if (proguardcache_reader_open(&reader, cache.data, cache.size, error,
                                  sizeof(error)) != SYMC_OPENED ||
        jvm_retrace(&reader, text, n, &to) == JVM_RETRACED_NO_MEMORY) {
        abort();
    }
    return 0;
}
