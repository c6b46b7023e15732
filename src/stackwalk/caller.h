/*
 * Copyright (C) the ngx_symcache authors
 *
 * The ways to find the caller of a frame.  Each fills in the caller's registers
 * and returns true, or returns false.
 */
#pragma once

#include "stackwalk.h"

#define NULL_PAGE 4096 /* no code lies below it */

enum caller_by_cfi {
    CALLER_FOUND,
    CALLER_INTERRUPTED, /* the same; a signal interrupted the caller */
    CALLER_UNKNOWN, /* other ways may find it */
    CALLER_NONE     /* there is no caller */
};

/* Reads the word of the processor's size at an address of the stack. */
bool caller_read(const struct stackwalk *walk, uint64_t address,
                 uint64_t *word);

/* By the CFI of the callee's module. */
enum caller_by_cfi caller_by_cfi(const struct stackwalk *walk,
                                 const struct stackwalk_frame *callee,
                                 struct stackwalk_registers *caller);

/* By STACK WIN records, which CFI is tried after. */
bool caller_by_win(const struct stackwalk *walk,
                   const struct stackwalk_frame *callee,
                   const struct cficache_reader *cfi, uint32_t offset,
                   struct stackwalk_registers *caller);

/* By what the system has saved for a signal handler, which returns to the
 * callee; a signal interrupted the caller. */
bool caller_by_signal_frame(const struct stackwalk *walk,
                            const struct stackwalk_frame *callee,
                            struct stackwalk_registers *caller);

/* By the callee's frame pointer. */
bool caller_by_frame_pointer(const struct stackwalk *walk,
                             const struct stackwalk_frame *callee,
                             struct stackwalk_registers *caller);

/* By a scan of the stack, for a word that can be a return address. */
bool caller_by_scan(struct stackwalk *walk,
                    const struct stackwalk_frame *callee,
                    struct stackwalk_registers *caller);

/* May an instruction be at this address, as far as the processor is
 * concerned? */
bool caller_is_canonical(enum stackwalk_cpu cpu, uint64_t address);

/* Removes the signature of an arm64 pointer. */
uint64_t caller_strip(const struct stackwalk *walk, uint64_t pointer);

static inline bool caller_knows(const struct stackwalk_registers *registers,
                                unsigned number)
{
    return (registers->known >> number & 1) != 0;
}

static inline void caller_set(struct stackwalk_registers *registers,
                              unsigned number, uint64_t value)
{
    registers->values[number] = value;
    registers->known |= (uint64_t)1 << number;
}

/* The value of a register, as wide as an address. */
static inline uint64_t caller_get(const struct stackwalk *walk,
                                  const struct stackwalk_registers *registers,
                                  unsigned number)
{
    return stackwalk_cpus[walk->cpu].word == 4
               ? (uint32_t)registers->values[number]
               : registers->values[number];
}

/* The registers of a caller of which only these two are known. */
static inline void caller_set_frame(const struct stackwalk *walk,
                                    struct stackwalk_registers *caller,
                                    uint64_t pc, uint64_t sp)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];

    caller->known = 0;
    caller_set(caller, cpu->pc, pc);
    caller_set(caller, cpu->sp, sp);
}
