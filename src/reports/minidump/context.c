/*
 * Copyright (C) the ngx_symcache authors
 *
 * Contexts: the registers of a thread, in a layout for each processor.
 */
#include "bytes.h"

/* Bits of the flags that tell the processor of a context. */
#define CPU_BITS                                                              \
    (0x10000u | 0x20000u | 0x40000u | 0x80000u | 0x100000u | 0x400000u |      \
     0x1000000u | 0x10000000u | 0x20000000u | 0x40000000u | 0x80000000u)

/* A run of registers of one size, with consecutive numbers. */
struct context_run {
    uint16_t offset;
    uint8_t first;
    uint8_t count;
    uint8_t size;
};

struct context_layout {
    uint16_t arch;
    uint16_t size;
    uint16_t flags; /* offset */
    uint8_t flags_size;
    uint32_t bits;
    struct context_run runs[14]; /* up to one of none */
};

static const struct context_layout layouts[] = {
    {0,
     716,
     0,
     4,
     0x10000,
     {{0xb8, 0, 1, 4},
      {0xc4, 1, 1, 4},
      {0xb4, 2, 1, 4},
      {0xa4, 3, 1, 4},
      {0xa0, 4, 1, 4},
      {0x9c, 5, 1, 4},
      {0xb0, 6, 1, 4},
      {0xac, 7, 1, 4},
      {0xa8, 8, 1, 4},
      {0xc0, 9, 1, 4}}},
    {9,
     1232,
     0x30,
     4,
     0x100000,
     {{0xf8, 0, 1, 8},
      {0x98, 1, 1, 8},
      {0xa0, 2, 1, 8},
      {0x90, 3, 1, 8},
      {0xd8, 4, 4, 8},
      {0x78, 8, 3, 8},
      {0xa8, 11, 2, 8},
      {0xb8, 13, 4, 8}}},
    {5, 368, 0, 4, 0x40000000, {{4, 0, 16, 4}}},
    {12, 912, 0, 4, 0x400000, {{8, 0, 33, 8}}},
    {0x8003, 796, 0, 8, 0x80000000, {{8, 0, 33, 8}}},
    {1,
     600,
     0,
     4,
     0x40000,
     {{0x138, 0, 1, 8},
      {8 + 29 * 8, 1, 1, 8},
      {8 + 16 * 8, 2, 8, 8},
      {8 + 28 * 8, 10, 1, 8},
      {8 + 30 * 8, 11, 2, 8}}},
    {3, 1004, 0, 4, 0x20000000, {{4, 0, 1, 4}, {16, 1, 1, 4}}},
    {0x8002, 1160, 0, 8, 0x01000000, {{8, 0, 1, 8}, {32, 1, 1, 8}}},
};

static const struct context_layout *find_context(uint16_t arch)
{
    size_t i;

    if (arch == 10) { /* x86 on 64-bit Windows */
        arch = 0;
    }
    for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i].arch == arch) {
            return &layouts[i];
        }
    }
    return NULL;
}

/* Reads the registers of a context.  Returns false if it is of another
 * processor, or too short. */
static bool read_context(const struct minidump *dump,
                         const struct minidump_bytes *context,
                         struct stackwalk_registers *registers)
{
    const struct context_layout *layout = find_context(dump->arch);
    const struct context_run *run;
    const uint8_t *p;
    uint64_t flags;
    unsigned i;

    if (layout == NULL || context->data == NULL ||
        context->size < layout->size) {
        return false;
    }
    p = context->data + layout->flags;
    flags = layout->flags_size == 8 ? get64(dump, p) : get32(dump, p);
    if (((uint32_t)flags & CPU_BITS) != layout->bits) {
        return false;
    }
    registers->known =
        ((uint64_t)1 << stackwalk_cpus[dump->cpu].num_registers) - 1;
    for (run = layout->runs; run->count > 0; run++) {
        p = context->data + run->offset;
        for (i = 0; i < run->count; i++, p += run->size) {
            registers->values[run->first + i] =
                run->size == 8 ? get64(dump, p) : get32(dump, p);
        }
    }
    return true;
}

/* The crate tests whether a stack has the stack pointer by reading 8 bytes,
 * whatever the processor is. */
static bool context_has_word(const struct stackwalk_memory *memory,
                             uint64_t address)
{
    return memory->data != NULL && address >= memory->start &&
           memory->size >= 8 && address - memory->start <= memory->size - 8;
}

bool minidump_thread(const struct minidump *dump, size_t thread,
                     struct stackwalk_registers *registers,
                     struct stackwalk_memory *stack)
{
    const struct minidump_thread *t = &dump->threads[thread];
    const struct stackwalk_memory *memory = NULL;
    uint64_t sp;

    if (t->is_writer) {
        return false;
    }
    if (!(thread == dump->requesting && dump->has_exception &&
          read_context(dump, &dump->exception.context, registers)) &&
        !read_context(dump, &t->context, registers)) {
        return false;
    }
    stack->data = NULL;
    stack->size = 0;
    stack->start = t->stack_start;
    stack->is_big_endian = dump->is_big_endian;
    if (t->stack.data != NULL) {
        stack->data = t->stack.data;
        stack->size = t->stack.size;
    } else {
        memory = memory_at(dump, t->stack_start);
    }
    if (memory != NULL) {
        *stack = *memory;
    }
    sp = registers->values[stackwalk_cpus[dump->cpu].sp];
    if (!context_has_word(stack, sp)) {
        memory = memory_at(dump, sp);
        if (memory != NULL) {
            *stack = *memory;
        }
    }
    if (stack->size == 0 || stack->start + (stack->size - 1) < stack->start) {
        stack->data = NULL;
        stack->size = 0;
    }
    return true;
}
