/*
 * Copyright (C) the ngx_symcache authors
 *
 * STACK WIN records, which are those of MSVC for x86.
 */
#include <string.h>

#include "caller.h"

enum { EIP, ESP, EBP, EBX, ESI, EDI, OUTPUTS }; /* as in cpu.c */

/* Variables of a program that are not registers. */
enum { PARAMS, CALLEE_PARAMS, SAVED, LOCALS, SEARCH, SEARCH_START, INPUTS };

static const char *const outputs[OUTPUTS] = {"$eip", "$esp", "$ebp",
                                             "$ebx", "$esi", "$edi"};
static const char *const inputs[INPUTS] = {
    ".cbParams", ".cbCalleeParams", ".cbSavedRegs",
    ".cbLocals", ".raSearch",       ".raSearchStart"};

static bool read_stack(void *context, uint64_t address, uint64_t *word)
{
    return caller_read(context, address, word);
}

/* Returns the number of a name, or CFICACHE_NAMES. */
static unsigned stack_win_find_name(const struct symc_string *names,
                                    unsigned count, const char *name)
{
    unsigned n;

    for (n = 0; n < count; n++) {
        if (names[n].size == strlen(name) &&
            memcmp(names[n].data, name, names[n].size) == 0) {
            return n;
        }
    }
    return CFICACHE_NAMES;
}

static void stack_win_set_variable(struct cficache_variables *variables,
                                   unsigned n, uint32_t value)
{
    if (n != CFICACHE_NAMES) {
        variables->values[n] = value;
        variables->is_set[n] = true;
    }
}

/*
 * The stack of the callee ends with its locals and saved registers.  Sizes of
 * parameters are not known, as they are not in SymCaches.
 */
static uint32_t stack_win_frame_size(const struct cficache_win *win)
{
    return win->locals + win->saved_registers;
}

static void stack_win_set_inputs(struct cficache_variables *variables,
                                 const struct symc_string *names,
                                 unsigned count,
                                 const struct cficache_win *win,
                                 uint32_t start)
{
    const uint32_t values[INPUTS] = {
        win->params, 0, win->saved_registers, win->locals, start, start};
    unsigned i;

    for (i = 0; i < INPUTS; i++) {
        stack_win_set_variable(variables,
                               stack_win_find_name(names, count, inputs[i]),
                               values[i]);
    }
}

static bool stack_win_by_program(const struct stackwalk *walk,
                                 const struct stackwalk_registers *callee,
                                 const struct cficache_reader *cfi,
                                 const struct cficache_win *win,
                                 struct stackwalk_registers *caller)
{
    struct symc_string names[CFICACHE_NAMES];
    struct cficache_variables variables;
    const struct cficache_memory memory = {read_stack,
                                           (void *)(uintptr_t)walk};
    uint64_t start;
    unsigned i, n, count = cficache_reader_names(cfi, names);

    if (!caller_knows(callee, EBP)) {
        return false;
    }
    start = win->aligns ? callee->values[EBP] + 4
                        : callee->values[ESP] + stack_win_frame_size(win);
    if (start > UINT32_MAX) {
        return false;
    }
    memset(variables.is_set, 0, sizeof(variables.is_set));
    for (i = ESP; i <= EBX; i++) {
        if (caller_knows(callee, i)) {
            stack_win_set_variable(
                &variables, stack_win_find_name(names, count, outputs[i]),
                (uint32_t)callee->values[i]);
        }
    }
    stack_win_set_inputs(&variables, names, count, win, (uint32_t)start);
    if (!cficache_evaluate_win(cfi, win, &variables, &memory)) {
        return false;
    }
    for (i = 0; i < OUTPUTS; i++) {
        n = stack_win_find_name(names, count, outputs[i]);
        if (n != CFICACHE_NAMES && variables.is_set[n]) {
            caller_set(caller, i, variables.values[n]);
        }
    }
    return true;
}

static bool stack_win_by_sizes(const struct stackwalk *walk,
                               const struct stackwalk_frame *frame,
                               const struct cficache_win *win,
                               struct stackwalk_registers *caller)
{
    const struct stackwalk_registers *callee = &frame->registers;
    uint64_t eip, ebp, slot = callee->values[ESP] + stack_win_frame_size(win);

    if (!caller_read(walk, slot, &eip)) {
        return false;
    }
    if (frame->trust == STACKWALK_CONTEXT && eip == callee->values[EIP]) {
        slot += 4;
        if (!caller_read(walk, slot, &eip)) {
            return false;
        }
    }
    if (win->allocates_base_pointer) {
        if (!caller_read(walk,
                         callee->values[ESP] + win->saved_registers - 8,
                         &ebp)) {
            return false;
        }
    } else if (caller_knows(callee, EBP)) {
        ebp = callee->values[EBP];
    } else {
        return false;
    }
    if (slot + 4 > UINT32_MAX) {
        return false;
    }
    caller_set(caller, EIP, eip);
    caller_set(caller, ESP, slot + 4);
    caller_set(caller, EBP, ebp);
    return true;
}

bool caller_by_win(const struct stackwalk *walk,
                   const struct stackwalk_frame *callee,
                   const struct cficache_reader *cfi, uint32_t offset,
                   struct stackwalk_registers *caller)
{
    struct cficache_win win;

    if (!cficache_reader_win(cfi, offset, &win)) {
        return false;
    }
    return win.has_program ? stack_win_by_program(walk, &callee->registers,
                                                  cfi, &win, caller)
                           : stack_win_by_sizes(walk, callee, &win, caller);
}
