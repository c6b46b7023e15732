/*
 * Copyright (C) the ngx_symcache authors
 *
 * Callers that a signal interrupted, by what the system has saved of them for
 * the signal's handler.
 */
#include "caller.h"

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
    return !is_arm64 || (caller_read(walk, record, &fp) &&
                         caller_read(walk, record + 8, &lr) &&
                         caller->values[cpu->fp] == fp &&
                         caller->values[cpu->lr] == lr);
}
