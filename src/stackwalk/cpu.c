/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cpu.h"

#define BIT(n) ((uint64_t)1 << (n))
#define BITS(first, last) (BIT((last) + 1) - BIT(first))

const struct stackwalk_cpu_type stackwalk_cpus[STACKWALK_CPUS] = {
    [STACKWALK_X86] =
        {4,
         10,
         {"eip", "esp", "ebp", "ebx", "esi", "edi", "eax", "ecx", "edx",
          "eflags"},
         0,
         1,
         2,
         0,
         BITS(2, 5),
         1},
    [STACKWALK_AMD64] =
        {8,
         17,
         {"rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15", "rax", "rcx",
          "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"},
         0,
         1,
         2,
         0,
         BITS(2, 7),
         1},
    [STACKWALK_ARM] =
        {4,
         16,
         {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10",
          "fp", "r12", "sp", "lr", "pc"},
         15,
         13,
         11,
         14,
         BITS(4, 11),
         2},
    [STACKWALK_ARM64] =
        {8,
         33,
         {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",
          "x9",  "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
          "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
          "x27", "x28", "fp",  "lr",  "sp",  "pc"},
         32,
         31,
         29,
         30,
         BITS(19, 29),
         4},
    [STACKWALK_MIPS] =
        {4,
         13,
         {"pc", "sp", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "gp",
          "fp", "ra"},
         0,
         1,
         0,
         0,
         BITS(1, 11),
         8},
    [STACKWALK_PPC] = {4, 2, {"srr0", "r1"}, 0, 1, 0, 0, 0, 0},
    [STACKWALK_PPC64] = {8, 2, {"srr0", "r1"}, 0, 1, 0, 0, 0, 0},
};
