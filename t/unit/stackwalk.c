/*
 * Copyright (C) the ngx_symcache authors
 *
 * Walks with what is corrected of upstream's, and without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/cfi.h"
#include "debuginfo/format.h"
#include "stackwalk/stackwalk.h"

#define BASE 0x10000
#define FRAMES 32

/* A function a page: the first one moves the stack pointer, the second one
 * returns to x19 without, the third one moves it, the fourth one returns to
 * itself without. */
static const char text[] =
    "MODULE Linux arm64 000000000000000000000000000000000 x\n"
    "STACK CFI INIT 1000 100 .cfa: sp 16 + .ra: x30\n"
    "STACK CFI INIT 2000 100 .cfa: sp 0 + .ra: x19\n"
    "STACK CFI INIT 3000 100 .cfa: sp 16 + .ra: x20\n"
    "STACK CFI INIT 4000 100 .cfa: sp 0 + .ra: x20\n";

struct cache {
    uint8_t data[4096];
    size_t size;
    struct cficache_reader reader;
};

struct found {
    uint64_t addresses[FRAMES];
    size_t count;
};

static int append(void *context, const void *data, size_t size)
{
    struct cache *cache = context;

    assert_true(size <= sizeof(cache->data) - cache->size);
    memcpy(cache->data + cache->size, data, size);
    cache->size += size;
    return 0;
}

static void convert(struct cache *cache, const char *records)
{
    const struct debuginfo_maker *maker = breakpad_format.makes;
    struct symc_sink sink = {append, cache};
    struct debuginfo_result result = {0};
    struct failure failure = {0};
    char error[200];

    while (maker->output != SYMCACHE_KIND_CFICACHE) {
        maker++;
    }
    cache->size = 0;
    assert_int_equal(cfi_convert(maker->read_cfi, false,
                                 (const uint8_t *)records, strlen(records),
                                 &sink, &result, &failure),
                     0);
    assert_int_equal(cficache_reader_open(&cache->reader, cache->data,
                                          cache->size, error, sizeof(error)),
                     SYMC_OPENED);
}

static const struct cficache_reader *find_cfi(void *context, size_t module)
{
    return &((struct cache *)context)->reader;
}

static bool has_no_function(void *context, size_t module, uint64_t offset)
{
    return false;
}

static void on_frame(void *context, const struct stackwalk_frame *frame)
{
    struct found *found = context;

    assert_true(found->count < FRAMES);
    found->addresses[found->count++] = frame->address - BASE;
}

static void set(struct stackwalk_registers *registers, unsigned n,
                uint64_t value)
{
    registers->values[n] = value;
    registers->known |= (uint64_t)1 << n;
}

static void walk(struct cache *cache, bool keeps_sp, struct found *found)
{
    static const uint8_t bytes[64];
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[STACKWALK_ARM64];
    const struct stackwalk_memory stack = {bytes, 0x8000, sizeof(bytes), 0};
    const struct stackwalk_module module = {BASE, 0x10000};
    const struct stackwalk_symbols symbols = {find_cfi, has_no_function, cache};
    struct stackwalk_registers registers = {.known = 0};
    struct stackwalk w = {.cpu = STACKWALK_ARM64,
                          .keeps_sp = keeps_sp,
                          .stack = &stack,
                          .modules = &module,
                          .num_modules = 1,
                          .symbols = &symbols,
                          .max_frames = FRAMES};

    set(&registers, cpu->pc, BASE + 0x1010);
    set(&registers, cpu->sp, 0x8000);
    set(&registers, cpu->lr, BASE + 0x2010);
    set(&registers, 19, BASE + 0x3010);
    set(&registers, 20, BASE + 0x4010);
    memset(found, 0, sizeof(*found));
    assert_true(stackwalk_run(&w, &registers, on_frame, found));
}

static void constant_sp_test(void **state)
{
    struct cache cache;
    struct found found;

    convert(&cache, text);
    walk(&cache, false, &found);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.addresses[1], 0x2010);

    walk(&cache, true, &found);
    assert_int_equal(found.count, 5); /* and not for ever */
    assert_int_equal(found.addresses[2], 0x3010);
    assert_int_equal(found.addresses[3], 0x4010);
    assert_int_equal(found.addresses[4], 0x4010);
}

/* A signal handler with a stack of its own: its caller has saved the stack
 * pointer and the address of what was interrupted. */
static const char signal_text[] =
    "MODULE Linux x86_64 000000000000000000000000000000000 x\n"
    "STACK CFI INIT 1000 100 .cfa: $rsp 0 + ^ .ra: $rsp 8 + ^ .signal: .cfa\n"
    "STACK CFI INIT 2000 100 .cfa: $rsp 16 + .ra: .cfa 8 - ^\n";

static void signal_stack_test(void **state)
{
    static uint64_t handler[2] = {0x4000, BASE + 0x2010};
    static uint64_t thread[4] = {0, BASE + 0x2020, 0, BASE + 0x2030};
    const struct stackwalk_memory memory[] = {
        {(uint8_t *)thread, 0x4000, sizeof(thread), false},
        {(uint8_t *)handler, 0x8000, sizeof(handler), false}};
    const struct stackwalk_module module = {BASE, 0x10000};
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[STACKWALK_AMD64];
    struct cache cache;
    const struct stackwalk_symbols symbols = {find_cfi, has_no_function,
                                              &cache};
    struct stackwalk_registers registers = {.known = 0};
    struct found found;
    struct stackwalk w;
    size_t num_memory;

    convert(&cache, signal_text);
    set(&registers, cpu->pc, BASE + 0x1010);
    set(&registers, cpu->sp, 0x8000);
    for (num_memory = 0; num_memory <= 2; num_memory += 2) {
        w = (struct stackwalk){.cpu = STACKWALK_AMD64,
                               .is_corrected = true,
                               .stack = &memory[1],
                               .memory = memory,
                               .num_memory = num_memory,
                               .modules = &module,
                               .num_modules = 1,
                               .symbols = &symbols,
                               .max_frames = FRAMES};
        memset(&found, 0, sizeof(found));
        assert_true(stackwalk_run(&w, &registers, on_frame, &found));
        assert_int_equal(found.count, 2 + num_memory);
        assert_int_equal(found.addresses[1], 0x2010);
    }
    assert_int_equal(found.addresses[2], 0x2020);
    assert_int_equal(found.addresses[3], 0x2030);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constant_sp_test),
                                       cmocka_unit_test(signal_stack_test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
