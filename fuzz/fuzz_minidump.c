/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a minidump, and the walks of its threads.  In front of it are
 * the size of a Breakpad file in two bytes and that file, whose CFI all modules
 * have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/cfi.h"
#include "reports/minidump/minidump.h"

#define FRAMES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct buffer {
    uint8_t *data;
    size_t size;
};

struct walked {
    const struct minidump *dump;
    unsigned frames;
    uint64_t sp;
};

static int append(void *context, const void *data, size_t size)
{
    struct buffer *b = context;

    b->data = realloc(b->data, b->size + size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}

static const struct cficache_reader *find_cfi(void *context, size_t module)
{
    return context;
}

static bool has_function(void *context, size_t module, uint64_t offset)
{
    return offset % 2 != 0;
}

/* Stack pointers rise; the second frame may have that of the first. */
static void on_frame(void *context, const struct stackwalk_frame *frame)
{
    struct walked *w = context;
    uint64_t sp =
        frame->registers.values[stackwalk_cpus[w->dump->cpu].sp];

    if ((w->frames > 1 && sp <= w->sp) || (w->frames == 1 && sp < w->sp) ||
        ++w->frames > FRAMES ||
        (frame->trust == STACKWALK_CONTEXT) != (w->frames == 1)) {
        abort();
    }
    w->sp = sp;
}

static void check_text(const char *text)
{
    if (text != NULL && utf8_valid(text, strlen(text)) != strlen(text)) {
        abort();
    }
}

static void walk_threads(const struct minidump *dump,
                         struct cficache_reader *cfi)
{
    struct stackwalk_symbols symbols = {find_cfi, has_function, cfi};
    struct stackwalk walk = minidump_walk(dump, &symbols);
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    struct walked walked = {.dump = dump};
    size_t i;

    walk.max_frames = FRAMES;
    for (i = 0; i < dump->num_threads; i++) {
        check_text(dump->threads[i].name);
        if (minidump_thread(dump, i, &registers, &stack)) {
            walk.stack = &stack;
            walked.frames = 0;
            stackwalk_run(&walk, &registers, on_frame, &walked);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer file = {NULL, 0};
    struct symc_sink sink = {append, &file};
    struct failure failure = {0};
    struct debuginfo_result result = {0};
    struct cficache_reader cfi;
    struct minidump dump;
    size_t i, text = size < 2 ? 0 : (size_t)data[0] | (size_t)data[1] << 8;
    bool has_cfi;
    char error[200];

    if (size < 2 || text > size - 2) {
        return 0;
    }
    has_cfi = cfi_convert(breakpad_cfi_read, false, data + 2, text, &sink,
                          &result, &failure) == 0 &&
              cficache_reader_open(&cfi, file.data, file.size, error,
                                   sizeof(error)) == SYMC_OPENED;
    if (minidump_read(&dump, data + 2 + text, size - 2 - text) == NULL) {
        for (i = 0; i < dump.num_modules; i++) {
            check_text(dump.modules[i].code_file);
            check_text(dump.modules[i].debug_file);
        }
        check_text(dump.os_version);
        check_text(dump.os_build);
        walk_threads(&dump, has_cfi ? &cfi : NULL);
    }
    minidump_free(&dump);
    free(file.data);
    return 0;
}
