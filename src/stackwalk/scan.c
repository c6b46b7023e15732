/*
 * Copyright (C) the ngx_symcache authors
 *
 * Callers that are found by a scan of the stack, for a word that can be a
 * return address.
 */
#include "caller.h"

/* A function's frame, at most; of a sample of libraries for x86, 99.5% of the
 * frames were smaller. */
#define FRAME_MAX (128 * 1024)

/* Could a word of the stack be a return address? */
static bool scan_is_return(struct stackwalk *walk, uint64_t word)
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
static bool scan_find_fp(const struct stackwalk *walk,
                         const struct stackwalk_registers *callee,
                         uint64_t slot, uint64_t *fp)
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
        if (!scan_is_return(walk, pc)) {
            continue;
        }
        caller_set_frame(walk, caller, pc, slot + cpu->word);
        if (i > 0 &&
            (walk->cpu == STACKWALK_X86 || walk->cpu == STACKWALK_AMD64) &&
            scan_find_fp(walk, &callee->registers, slot, &fp)) {
            caller_set(caller, cpu->fp, fp);
        }
        return true;
    }
    return false;
}
