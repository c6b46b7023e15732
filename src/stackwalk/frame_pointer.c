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
static bool frame_read_pair(const struct stackwalk *walk, uint64_t at,
                            uint64_t *fp, uint64_t *pc)
{
    return caller_read(walk, at + stackwalk_cpus[walk->cpu].word, pc) &&
           caller_read(walk, at, fp);
}

static bool frame_by_rbp(const struct stackwalk *walk, uint64_t last_fp,
                         uint64_t last_sp, struct stackwalk_registers *caller)
{
    uint64_t at, fp, pc, sp, word;
    unsigned offset;

    for (offset = 0; offset <= (walk->is_windows ? FP_OFFSET_MAX : 0);
         offset += 16) {
        at = last_fp + offset;
        sp = at + 16;
        if (!frame_read_pair(walk, at, &fp, &pc)) {
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
        return frame_by_rbp(walk, last_fp, last_sp, caller);
    }
    if (last_fp != 0 || walk->cpu == STACKWALK_X86) {
        sp = last_fp + 2 * cpu->word;
        if (!frame_read_pair(walk, last_fp, &fp, &pc)) {
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
