/*
 * Copyright (C) the ngx_symcache authors
 *
 * Callers that are found by the frame pointer.
 */
#include "caller.h"

/* On Windows, the frame pointer of amd64 can be so many bytes away from the
 * place of the saved one: the limit of the frame offset in UNWIND_INFO. */
#define FP_OFFSET_MAX 240

/* Reads the saved frame pointer, and the return address above it. */
static bool read_pair(const struct stackwalk *walk, uint64_t at, uint64_t *fp,
                      uint64_t *pc)
{
    return caller_read(walk, at + stackwalk_cpus[walk->cpu].word, pc) &&
           caller_read(walk, at, fp);
}

static bool by_rbp(const struct stackwalk *walk, uint64_t last_fp,
                   uint64_t last_sp, struct stackwalk_registers *caller)
{
    uint64_t at, fp, pc, sp, word;
    unsigned offset;

    for (offset = 0; offset <= (walk->is_windows ? FP_OFFSET_MAX : 0);
         offset += 16) {
        at = last_fp + offset;
        sp = at + 16;
        if (!read_pair(walk, at, &fp, &pc)) {
            return false;
        }
        if (sp <= last_fp || fp < sp) {
            continue;
        }
        if (!caller_read(walk, fp, &word)) {
            return false;
        }
        if (caller_is_canonical(walk->cpu, pc) && sp > last_sp &&
            caller_read(walk, sp, &word)) {
            caller_set_frame(walk, caller, pc, sp);
            caller_set(caller, stackwalk_cpus[walk->cpu].fp, fp);
            return true;
        }
    }
    return false;
}

/*
 * What Linux puts on the stack of a signal handler has the registers of the
 * code that was interrupted.  On amd64, it begins at the stack pointer of what
 * the handler returns to, and the segments of code and stack are known.  On
 * arm64, the registers of floating point begin with a magic number and their
 * size; last is a frame record with two of the registers, to which the frame
 * pointer of what the handler returns to leads.
 */
#define AMD64_SEGMENTS 184
#define AMD64_SEGMENTS_VALUE 0x2b000000000033
#define ARM64_REGISTERS 312 /* x0 to x30, sp, pc */
#define ARM64_FLOATS 592
#define ARM64_FLOATS_VALUE 0x21046508001
#define ARM64_RECORD 4688

/* In the order of stackwalk_cpus. */
static const uint8_t amd64_registers[] = {168, 160, 120, 128, 72, 80,
                                          88,  96,  144, 152, 136, 112,
                                          104, 40,  48,  56,  64};

bool caller_by_signal_frame(const struct stackwalk *walk,
                            const struct stackwalk_frame *callee,
                            struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    bool is_arm64 = walk->cpu == STACKWALK_ARM64;
    uint64_t record = callee->registers.values[cpu->fp], fp, lr, word;
    uint64_t sp = callee->registers.values[cpu->sp];
    uint64_t start = is_arm64 ? record - ARM64_RECORD : sp;
    unsigned i;

    if (!walk->is_corrected || (!is_arm64 && walk->cpu != STACKWALK_AMD64) ||
        !caller_knows(&callee->registers, is_arm64 ? cpu->fp : cpu->sp) ||
        start < sp || start > UINT64_MAX - ARM64_RECORD ||
        !caller_read(walk, start + (is_arm64 ? ARM64_FLOATS : AMD64_SEGMENTS),
                     &word) ||
        word != (is_arm64 ? ARM64_FLOATS_VALUE : AMD64_SEGMENTS_VALUE)) {
        return false;
    }
    caller->known = 0;
    for (i = 0; i < cpu->num_registers; i++) {
        if (!caller_read(walk,
                         start + (is_arm64 ? ARM64_REGISTERS + 8 * i
                                           : amd64_registers[i]),
                         &word)) {
            return false;
        }
        caller_set(caller, i, word);
    }
    return !is_arm64 || (read_pair(walk, record, &fp, &lr) &&
                         caller->values[cpu->fp] == fp &&
                         caller->values[cpu->lr] == lr);
}

bool caller_by_frame_pointer(const struct stackwalk *walk,
                             const struct stackwalk_frame *callee,
                             struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    uint64_t last_fp, last_sp, fp = 0, pc = 0, sp;
    uint64_t max = cpu->word == 4 ? UINT32_MAX : UINT64_MAX;

    if (cpu->fp == 0 || (walk->cpu == STACKWALK_ARM && !walk->is_ios) ||
        !caller_knows(&callee->registers, cpu->fp) ||
        !caller_knows(&callee->registers, cpu->sp)) {
        return false;
    }
    last_fp = caller_get(walk, &callee->registers, cpu->fp);
    last_sp = sp = caller_get(walk, &callee->registers, cpu->sp);
    if (last_fp >= max - 2 * cpu->word) {
        return false;
    }
    if (walk->cpu == STACKWALK_AMD64) {
        return by_rbp(walk, last_fp, last_sp, caller);
    }
    if (last_fp != 0 || walk->cpu == STACKWALK_X86) {
        sp = last_fp + 2 * cpu->word;
        if (!read_pair(walk, last_fp, &fp, &pc)) {
            return false;
        }
    }
    if (walk->cpu == STACKWALK_ARM64) {
        fp = caller_strip(walk, fp);
        pc = caller_strip(walk, pc);
        if (!caller_is_canonical(walk->cpu, pc)) {
            return false;
        }
    }
    caller_set_frame(walk, caller, pc, sp);
    caller_set(caller, cpu->fp, fp);
    return true;
}
