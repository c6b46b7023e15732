/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a stack and a CfiCache, which need not be sound.  The input is
 * the processor in a byte, the size of the CfiCache in two, 16 numbers of the
 * registers in a byte each, the CfiCache, and the stack.
 */
#include <stdlib.h>

#include "stackwalk/stackwalk.h"

#define HEADER 19
#define STACK 0x10000u
#define CODE 0x400000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct cficache_reader *find_cfi(void *context, size_t module)
{
    return module == 0 ? context : NULL;
}

static bool has_function(void *context, size_t module, uint64_t offset)
{
    return offset % 3 != 0;
}

static void on_frame(void *context, const struct stackwalk_frame *frame)
{
    unsigned *count = context;

    if (++*count > STACKWALK_FRAMES ||
        (frame->module != STACKWALK_NO_MODULE && frame->module > 1)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct stackwalk_module modules[] = {{CODE, 0x10000},
                                                      {2 * CODE, 0x10000}};
    struct stackwalk_symbols symbols = {find_cfi, has_function, NULL};
    struct stackwalk_memory stack = {.start = STACK};
    struct stackwalk walk = {.stack = &stack,
                             .modules = modules,
                             .num_modules = 2,
                             .symbols = &symbols};
    struct stackwalk_registers registers = {.known = UINT64_MAX};
    struct cficache_reader cfi;
    const struct stackwalk_cpu_type *cpu;
    unsigned i, count = 0;
    size_t cache = size < HEADER ? 0 : (size_t)data[1] | (size_t)data[2] << 8;
    char error[200];

    if (size < HEADER || cache > size - HEADER) {
        return 0;
    }
    walk.cpu = 1 + (data[0] & 0x0f) % (STACKWALK_CPUS - 1);
    walk.is_windows = (data[0] & 0x10) != 0;
    walk.is_ios = (data[0] & 0x20) != 0;
    walk.is_corrected = (data[0] & 0x40) != 0;
    stack.is_big_endian = (data[0] & 0x80) != 0;
    cpu = &stackwalk_cpus[walk.cpu];
    for (i = 0; i < cpu->num_registers; i++) {
        registers.values[i] = STACK + data[3 + i % 16] * 8u;
    }
    registers.values[cpu->pc] = CODE + data[3 + cpu->pc % 16];
    stack.data = data + HEADER + cache;
    stack.size = size - HEADER - cache;
    if (cficache_reader_open(&cfi, data + HEADER, cache, error,
                             sizeof(error)) == SYMC_OPENED) {
        symbols.context = &cfi;
    }
    stackwalk_run(&walk, &registers, on_frame, &count);
    return 0;
}
