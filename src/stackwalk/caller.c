/*
 * Copyright (C) the ngx_symcache authors
 */
#include "caller.h"

#include "base/byte_order.h"

bool caller_read(const struct stackwalk *walk, uint64_t address,
                 uint64_t *word)
{
    const struct stackwalk_memory *m = walk->stack;
    unsigned size = stackwalk_cpus[walk->cpu].word;
    const uint8_t *p;

    if (address < m->start || m->size < size ||
        address - m->start > m->size - size) {
        return false;
    }
    p = m->data + (address - m->start);
    *word = size == 4 ? byte_order_32(p, m->is_big_endian)
                      : byte_order_64(p, m->is_big_endian);
    return true;
}

bool caller_is_canonical(enum stackwalk_cpu cpu, uint64_t address)
{
    switch (cpu) {
    case STACKWALK_AMD64: /* bits 47 to 63 are equal */
        return address <= 0x7fffffffffff || address >= 0xffff800000000000;
    case STACKWALK_ARM64:
        return address >= 0x1000 && address <= 0xfffffffffffff;
    case STACKWALK_MIPS:
        return address >= NULL_PAGE;
    default:
        return true;
    }
}

uint64_t caller_strip(const struct stackwalk *walk, uint64_t pointer)
{
    uint64_t mask = ((uint64_t)1 << 47) - 1, last;
    const struct stackwalk_module *m;

    if (walk->num_modules > 0) {
        m = &walk->modules[walk->num_modules - 1];
        last = m->base + m->size;
        last = last < m->base ? UINT64_MAX : last;
        while (mask != UINT64_MAX && last > mask + 1) {
            mask = mask << 1 | 1;
        }
    }
    return pointer & mask;
}
