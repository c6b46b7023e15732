/*
 * Copyright (C) the ngx_symcache authors
 *
 * Frames that are found without CFI: by the frame pointer, or by a word on the
 * stack.
 */
#include "caller.h"

/* A function's frame, at most; of a sample of libraries for x86, 99.5% of the
 * frames were smaller. */
#define FRAME_MAX (128 * 1024)

/* On Windows, the frame pointer of amd64 can be so many bytes away from the
 * place of the saved one: the limit of the frame offset in UNWIND_INFO. */
#define FP_OFFSET_MAX 240

static void set_frame(const struct stackwalk *walk,
                      struct stackwalk_registers *caller, uint64_t pc,
                      uint64_t sp)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];

    caller->known = 0;
    caller_set(caller, cpu->pc, pc);
    caller_set(caller, cpu->sp, sp);
}

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
            set_frame(walk, caller, pc, sp);
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
    set_frame(walk, caller, pc, sp);
    caller_set(caller, cpu->fp, fp);
    return true;
}

/* Could a word of the stack be a return address? */
static bool is_return(struct stackwalk *walk, uint64_t word)
{
    size_t module;
    uint64_t offset;
    struct cficache_row row;
    const struct cficache_reader *cfi;

    if (word <= 1 || !caller_is_canonical(walk->cpu, word)) {
        return false;
    }
    module = stackwalk_module_at(walk, word - 1);
    if (module == STACKWALK_NO_MODULE) {
        return false;
    }
    if (walk->checks >= STACKWALK_CHECKS) {
        return true;
    }
    walk->checks++;
    offset = word - 1 - walk->modules[module].base;
    cfi = walk->symbols->cfi(walk->symbols->context, module);
    if (cfi == NULL || cfi->num_points[CFICACHE_RULES] == 0 ||
        (offset <= UINT32_MAX &&
         cficache_reader_lookup(cfi, (uint32_t)offset, walk->is_corrected,
                                &row))) {
        return true;
    }
    return walk->symbols->has_function(walk->symbols->context, module, offset);
}

/* Finds the frame pointer that the caller had.  It was saved below the return
 * address, or not changed at all. */
static bool find_fp(const struct stackwalk *walk,
                    const struct stackwalk_registers *callee, uint64_t slot,
                    uint64_t *fp)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    uint64_t below = slot - cpu->word, word, last, unused;
    bool is_x86 = walk->cpu == STACKWALK_X86;
    bool is_known = caller_knows(callee, cpu->fp);

    last = caller_get(walk, callee, cpu->fp);
    if ((!is_x86 && !is_known) || !caller_read(walk, below, &word)) {
        return false;
    }
    if ((is_x86 || last == below) && word > slot &&
        word - below <= FRAME_MAX) {
        *fp = word;
        return caller_read(walk, word, &unused);
    }
    *fp = last;
    return is_known && last >= slot + cpu->word &&
           (!is_x86 || caller_read(walk, last, &unused));
}

static unsigned scan_words(const struct stackwalk *walk,
                           const struct stackwalk_frame *callee)
{
    bool is_first = callee->trust == STACKWALK_CONTEXT;

    if (walk->cpu == STACKWALK_MIPS) {
        return is_first ? 256 : 252;
    }
    return is_first ? 160 : 40;
}

bool caller_by_scan(struct stackwalk *walk,
                    const struct stackwalk_frame *callee,
                    struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    uint64_t slot, pc, fp;
    unsigned i, count = scan_words(walk, callee);
    uint64_t max = cpu->word == 4 ? UINT32_MAX : UINT64_MAX;

    if (!caller_knows(&callee->registers, cpu->sp)) {
        return false;
    }
    slot = caller_get(walk, &callee->registers, cpu->sp);
    if (walk->cpu == STACKWALK_MIPS && callee->trust != STACKWALK_CONTEXT) {
        slot += 4 * cpu->word; /* the callee's arguments */
    }
    for (i = 0; i < count; i++, slot += cpu->word) {
        if (slot > max - cpu->word || !caller_read(walk, slot, &pc)) {
            return false;
        }
        if (!is_return(walk, pc)) {
            continue;
        }
        set_frame(walk, caller, pc, slot + cpu->word);
        if (i > 0 &&
            (walk->cpu == STACKWALK_X86 || walk->cpu == STACKWALK_AMD64) &&
            find_fp(walk, &callee->registers, slot, &fp)) {
            caller_set(caller, cpu->fp, fp);
        }
        return true;
    }
    return false;
}
