/*
 * Copyright (C) the ngx_symcache authors
 */
#include "stackwalk.h"

#include "caller.h"

size_t stackwalk_module_at(const struct stackwalk *walk, uint64_t address)
{
    size_t half, base = 0, count = walk->num_modules;

    if (count == 0) {
        return STACKWALK_NO_MODULE;
    }
    while (count > 1) {
        half = count / 2;
        base += walk->modules[base + half].base <= address ? half : 0;
        count -= half;
    }
    return walk->modules[base].base <= address &&
                   address - walk->modules[base].base <
                       walk->modules[base].size
               ? base
               : STACKWALK_NO_MODULE;
}

const struct stackwalk_memory *
stackwalk_memory_at(const struct stackwalk_memory *memory, size_t count,
                    uint64_t address)
{
    size_t half, base = 0;

    if (count == 0) {
        return NULL;
    }
    while (count > 1) {
        half = count / 2;
        base += memory[base + half].start <= address ? half : 0;
        count -= half;
    }
    return memory[base].start <= address &&
                   address - memory[base].start < memory[base].size
               ? &memory[base]
               : NULL;
}

/* The tests that end a walk.  A handler may have a stack of its own, which can
 * be above that of the code that it interrupts. */
static bool is_caller(const struct stackwalk *walk,
                      const struct stackwalk_frame *callee,
                      const struct stackwalk_registers *caller,
                      enum stackwalk_trust trust, bool is_interrupted)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    uint64_t sp = caller->values[cpu->sp];
    uint64_t last = callee->registers.values[cpu->sp];

    if (is_interrupted) {
        return true;
    }
    if (caller->values[cpu->pc] < NULL_PAGE) {
        return false;
    }
    /* leaf functions of these processors need no stack */
    return sp > last ||
           (sp == last &&
            (callee->trust == STACKWALK_CONTEXT || callee->is_interrupted ||
             (walk->keeps_sp && trust == STACKWALK_CFI &&
              !callee->has_kept_sp)) &&
            walk->cpu != STACKWALK_X86 && walk->cpu != STACKWALK_AMD64);
}

/* The handler of a signal may have a stack of its own. */
static void find_stack(struct stackwalk *walk, uint64_t sp)
{
    const struct stackwalk_memory *stack;
    uint64_t word;

    if (!caller_read(walk, sp, &word)) {
        stack = stackwalk_memory_at(walk->memory, walk->num_memory, sp);
        walk->stack = stack != NULL ? stack : walk->stack;
    }
}

static bool find_caller(struct stackwalk *walk, struct stackwalk_frame *frame)
{
    struct stackwalk_registers caller;
    enum stackwalk_trust trust = STACKWALK_CFI;
    bool is_interrupted = false;

    switch (caller_by_cfi(walk, frame, &caller)) {
    case CALLER_FOUND:
        break;
    case CALLER_INTERRUPTED:
        is_interrupted = true;
        break;
    case CALLER_NONE:
        return false;
    case CALLER_UNKNOWN:
        trust = STACKWALK_FP;
        is_interrupted = caller_by_signal_frame(walk, frame, &caller);
        if (!is_interrupted &&
            !caller_by_frame_pointer(walk, frame, &caller)) {
            trust = STACKWALK_SCAN;
            if (!caller_by_scan(walk, frame, &caller)) {
                return false;
            }
        }
        break;
    }
    if (!is_caller(walk, frame, &caller, trust, is_interrupted)) {
        return false;
    }
    frame->has_kept_sp = caller.values[stackwalk_cpus[walk->cpu].sp] ==
                         frame->registers.values[stackwalk_cpus[walk->cpu].sp];
    frame->trust = trust;
    frame->is_interrupted = is_interrupted;
    frame->registers = caller;
    if (is_interrupted) {
        find_stack(walk, caller.values[stackwalk_cpus[walk->cpu].sp]);
    }
    return true;
}

bool stackwalk_run(struct stackwalk *walk,
                   const struct stackwalk_registers *registers,
                   void (*found)(void *context,
                                 const struct stackwalk_frame *frame),
                   void *context)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    struct stackwalk_frame frame = {.trust = STACKWALK_CONTEXT,
                                    .registers = *registers};
    unsigned n, max = walk->max_frames != 0 ? walk->max_frames
                                            : STACKWALK_FRAMES;

    for (n = 0; n < max; n++) {
        frame.address = frame.registers.values[cpu->pc];
        frame.lookup = frame.address -
                       (n == 0 || frame.is_interrupted ? 0 : cpu->back);
        frame.module = stackwalk_module_at(walk, frame.lookup);
        found(context, &frame);
        if (walk->stack == NULL || walk->stack->size == 0 || cpu->back == 0 ||
            !find_caller(walk, &frame)) {
            return true;
        }
    }
    return false;
}
