/*
 * Copyright (C) the ngx_symcache authors
 *
 * Processors whose stacks are walked, and their registers.
 */
#pragma once

#include <stdint.h>

enum stackwalk_cpu {
    STACKWALK_UNKNOWN, /* no stack of it is walked */
    STACKWALK_X86,
    STACKWALK_AMD64,
    STACKWALK_ARM,
    STACKWALK_ARM64,
    STACKWALK_MIPS,
    STACKWALK_PPC, /* this one and the next have frames of contexts alone */
    STACKWALK_PPC64,
    STACKWALK_CPUS
};

#define STACKWALK_REGISTERS 33 /* of a processor, at most */
#define STACKWALK_NAME 8       /* bytes of a name, with NULs at its end */

/* Registers by their numbers in struct stackwalk_cpu_type.  Those that are not
 * known still have the callee's values. */
struct stackwalk_registers {
    uint64_t values[STACKWALK_REGISTERS];
    uint64_t known; /* a bit each */
};

struct stackwalk_cpu_type {
    unsigned word; /* bytes of an address */
    unsigned num_registers;
    char names[STACKWALK_REGISTERS][STACKWALK_NAME];
    /* numbers of the instruction pointer, the stack pointer, the frame pointer
     * and the register with the return address; 0: there is none */
    uint8_t pc, sp, fp, lr;
    /* registers that functions leave as they were, a bit each */
    uint64_t kept;
    /* A return address minus this is in the instruction that called. */
    unsigned back;
};

extern const struct stackwalk_cpu_type stackwalk_cpus[STACKWALK_CPUS];
