/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "caller.h"

#define NO_REGISTER UINT8_MAX
#define SIGNAL_MARK (UINT8_MAX - 1)

/* Registers with two names, of which the second one is ours. */
static const struct {
    enum stackwalk_cpu cpu;
    char name[4];
    uint8_t number;
} aliases[] = {
    {STACKWALK_ARM, "r11", 11},   {STACKWALK_ARM, "r13", 13},
    {STACKWALK_ARM, "r14", 14},   {STACKWALK_ARM, "r15", 15},
    {STACKWALK_ARM64, "x29", 29}, {STACKWALK_ARM64, "x30", 30},
};

/* Names of a CfiCache, and the registers that they mean. */
struct reg_names {
    unsigned count;
    struct symc_string texts[CFICACHE_NAMES];
    uint8_t registers[CFICACHE_NAMES];
    bool is_alias[CFICACHE_NAMES];
};

struct run {
    const struct stackwalk *walk;
    const struct cficache_reader *cfi;
    struct reg_names names;
    struct cficache_registers registers;
    struct cficache_memory memory;
};

/* A name as a number, as each frame compares some hundreds of them.  0: it is
 * too long to be a register's. */
static uint64_t packed(const char *name, size_t size)
{
    uint64_t value = 0;

    if (size < STACKWALK_NAME) {
        memcpy(&value, name, size);
    }
    return value;
}

static void cfi_find_register(struct reg_names *names, unsigned n,
                              enum stackwalk_cpu cpu)
{
    const struct stackwalk_cpu_type *type = &stackwalk_cpus[cpu];
    uint64_t name = packed(names->texts[n].data, names->texts[n].size), other;
    unsigned i;

    names->registers[n] =
        name == packed(CFICACHE_SIGNAL, sizeof(CFICACHE_SIGNAL) - 1)
            ? SIGNAL_MARK
            : NO_REGISTER;
    names->is_alias[n] = false;
    for (i = 0; i < type->num_registers && name != 0; i++) {
        memcpy(&other, type->names[i], sizeof(other));
        if (name == other) {
            names->registers[n] = (uint8_t)i;
            return;
        }
    }
    for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (aliases[i].cpu == cpu &&
            name == packed(aliases[i].name, sizeof(aliases[i].name) - 1)) {
            names->registers[n] = aliases[i].number;
            names->is_alias[n] = true;
        }
    }
}

static bool cfi_read_stack(void *context, uint64_t address, uint64_t *word)
{
    return caller_read(context, address, word);
}

/* Gives the registers of the callee their names in the CfiCache. */
static void cfi_begin_rules(struct run *run, const struct stackwalk *walk,
                            const struct cficache_reader *cfi,
                            const struct stackwalk_registers *callee)
{
    unsigned n;
    uint8_t number;

    run->walk = walk;
    run->cfi = cfi;
    run->memory.read = cfi_read_stack;
    run->memory.context = (void *)(uintptr_t)walk;
    run->registers.has_cfa = false;
    memset(run->registers.is_valid, 0, sizeof(run->registers.is_valid));
    run->names.count = cficache_reader_names(cfi, run->names.texts);
    for (n = 0; n < run->names.count; n++) {
        cfi_find_register(&run->names, n, walk->cpu);
        number = run->names.registers[n];
        if (number < SIGNAL_MARK && caller_knows(callee, number)) {
            run->registers.values[n] = caller_get(walk, callee, number);
            run->registers.is_valid[n] = true;
        }
    }
}

static bool cfi_evaluate_rule(const struct run *run,
                              const struct cficache_rule *rule,
                              uint64_t *value)
{
    return cficache_evaluate(run->cfi, rule, &run->registers, &run->memory,
                             value);
}

static bool fits_pointer(const struct run *run, uint64_t value)
{
    return stackwalk_cpus[run->walk->cpu].word == 8 || value <= UINT32_MAX;
}

static bool is_signal_mark(const struct run *run,
                           const struct cficache_rule *rule)
{
    return run->walk->is_corrected && rule->target < run->names.count &&
           run->names.registers[rule->target] == SIGNAL_MARK;
}

/* Sets another register than the first two.  One whose rule fails is not known
 * afterwards, unless the rule has the other one of its names. */
static void cfi_restore_register(const struct run *run,
                                 const struct cficache_rule *rule,
                                 struct stackwalk_registers *caller)
{
    uint64_t value;
    uint8_t number;

    if (rule->target >= run->names.count) {
        return;
    }
    number = run->names.registers[rule->target];
    if (number >= SIGNAL_MARK) {
        return;
    }
    if (!cfi_evaluate_rule(run, rule, &value)) {
        if (!run->names.is_alias[rule->target]) {
            caller->known &= ~((uint64_t)1 << number);
        }
    } else if (fits_pointer(run, value)) {
        caller_set(caller, number, value);
    }
}

static enum caller_by_cfi by_rules(struct run *run,
                                   const struct cficache_row *row,
                                   struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[run->walk->cpu];
    enum caller_by_cfi found = CALLER_FOUND;
    uint64_t ra;
    uint32_t i;
    struct cficache_rule rule;

    rule = cficache_reader_rule(run->cfi, row, 0);
    if (!cfi_evaluate_rule(run, &rule, &run->registers.cfa)) {
        return CALLER_UNKNOWN;
    }
    run->registers.has_cfa = true;
    rule = cficache_reader_rule(run->cfi, row, 1);
    if (rule.kind == CFICACHE_END) {
        return CALLER_NONE;
    }
    if (!cfi_evaluate_rule(run, &rule, &ra) ||
        !fits_pointer(run, run->registers.cfa) || !fits_pointer(run, ra)) {
        return CALLER_UNKNOWN;
    }
    caller_set(caller, cpu->sp, run->registers.cfa);
    caller_set(caller, cpu->pc, ra);
    for (i = 2; i < row->count; i++) {
        rule = cficache_reader_rule(run->cfi, row, i);
        cfi_restore_register(run, &rule, caller);
        if (is_signal_mark(run, &rule)) {
            found = CALLER_INTERRUPTED;
        }
    }
    return found;
}

static void strip_pointers(const struct stackwalk *walk,
                           struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    const uint8_t registers[] = {cpu->pc, cpu->fp, cpu->lr};
    unsigned i;

    for (i = 0; walk->cpu == STACKWALK_ARM64 && i < 3; i++) {
        if (caller_knows(caller, registers[i])) {
            caller->values[registers[i]] =
                caller_strip(walk, caller->values[registers[i]]);
        }
    }
}

enum caller_by_cfi caller_by_cfi(const struct stackwalk *walk,
                                 const struct stackwalk_frame *callee,
                                 struct stackwalk_registers *caller)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[walk->cpu];
    const struct cficache_reader *cfi;
    enum caller_by_cfi found;
    uint64_t offset;
    struct cficache_row row;
    struct run run;

    if (callee->module == STACKWALK_NO_MODULE ||
        !caller_knows(&callee->registers, cpu->sp)) {
        return CALLER_UNKNOWN;
    }
    cfi = walk->symbols->cfi(walk->symbols->context, callee->module);
    offset = callee->lookup - walk->modules[callee->module].base;
    if (cfi == NULL || offset > UINT32_MAX) {
        return CALLER_UNKNOWN;
    }
    *caller = callee->registers;
    caller->known &= cpu->kept;
    if (walk->cpu == STACKWALK_X86 &&
        caller_by_win(walk, callee, cfi, (uint32_t)offset, caller)) {
        return CALLER_FOUND;
    }
    if (!cficache_reader_lookup(cfi, (uint32_t)offset, walk->is_corrected,
                                &row) ||
        row.count < 2) {
        return CALLER_UNKNOWN;
    }
    cfi_begin_rules(&run, walk, cfi, &callee->registers);
    found = by_rules(&run, &row, caller);
    strip_pointers(walk, caller);
    return found;
}
