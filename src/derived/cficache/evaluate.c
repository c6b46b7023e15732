/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evaluate.h"

#include "base/le.h"
#include "program.h"

enum slot { SLOT_VALUE, SLOT_NAME, SLOT_UNDEFINED };

struct cficache_machine {
    const struct cficache_registers *registers; /* of a value */
    struct cficache_variables *variables;       /* of assignments */
    const struct cficache_memory *memory;
    unsigned depth;
    uint8_t slots[CFICACHE_STACK];
    uint64_t stack[CFICACHE_STACK]; /* values, and the numbers of names */
};

static bool evaluate_push(struct cficache_machine *machine, enum slot slot,
                          uint64_t value)
{
    if (machine->depth == CFICACHE_STACK) {
        return false;
    }
    machine->slots[machine->depth] = (uint8_t)slot;
    machine->stack[machine->depth++] = value;
    return true;
}

/* Variables have 32 bits, and so has what is computed from them. */
static bool evaluate_push_value(struct cficache_machine *machine,
                                uint64_t value)
{
    return evaluate_push(machine, SLOT_VALUE,
                         machine->variables != NULL ? (uint32_t)value : value);
}

static bool evaluate_pop(struct cficache_machine *machine, uint64_t *value)
{
    if (machine->depth == 0) {
        return false;
    }
    machine->depth--;
    *value = machine->stack[machine->depth];
    if (machine->slots[machine->depth] ==
        SLOT_NAME) { /* below CFICACHE_NAMES */
        if (!machine->variables->is_set[*value]) {
            return false;
        }
        *value = machine->variables->values[*value];
    }
    return machine->slots[machine->depth] != SLOT_UNDEFINED;
}

static bool evaluate_push_name(struct cficache_machine *machine, uint8_t name)
{
    if (name >= CFICACHE_NAMES) {
        return false;
    }
    if (machine->variables != NULL) {
        return evaluate_push(machine, SLOT_NAME, name);
    }
    return machine->registers->is_valid[name] &&
           evaluate_push(machine, SLOT_VALUE,
                         machine->registers->values[name]);
}

static bool evaluate_assign(struct cficache_machine *machine)
{
    uint64_t value, name;

    if (machine->variables == NULL || machine->depth < 2 ||
        machine->slots[machine->depth - 2] != SLOT_NAME) {
        return false;
    }
    name = machine->stack[machine->depth - 2];
    if (machine->slots[machine->depth - 1] == SLOT_UNDEFINED) {
        machine->variables->is_set[name] = false;
    } else if (evaluate_pop(machine, &value)) {
        machine->variables->values[name] = (uint32_t)value;
        machine->variables->is_set[name] = true;
        machine->depth++;
    } else {
        return false;
    }
    machine->depth -= 2;
    return true;
}

static bool evaluate_operate(struct cficache_machine *machine,
                             enum cficache_operation operation)
{
    uint64_t left, right;

    switch (operation) {
    case CFICACHE_PUSH_CFA:
        return machine->variables == NULL && machine->registers->has_cfa &&
               evaluate_push(machine, SLOT_VALUE, machine->registers->cfa);
    case CFICACHE_UNDEFINED:
        return machine->variables != NULL &&
               evaluate_push(machine, SLOT_UNDEFINED, 0);
    case CFICACHE_ASSIGN:
        return evaluate_assign(machine);
    case CFICACHE_READ:
        return evaluate_pop(machine, &left) &&
               machine->memory->read(machine->memory->context, left, &right) &&
               evaluate_push_value(machine, right);
    default:
        return evaluate_pop(machine, &right) && evaluate_pop(machine, &left) &&
               cficache_program_compute(operation, left, right, &right) &&
               evaluate_push_value(machine, right);
    }
}

static bool evaluate_run(struct cficache_machine *machine, const uint8_t *code,
                         size_t size)
{
    size_t at;
    bool is_good = code != NULL;

    for (at = 0; is_good && at < size; at++) {
        if (code[at] == CFICACHE_NUMBER) {
            is_good = size - at > 8 &&
                      evaluate_push_value(machine, le64(code + at + 1));
            at += 8;
        } else if (code[at] == CFICACHE_NAME) {
            is_good =
                size - at > 1 && evaluate_push_name(machine, code[at + 1]);
            at++;
        } else {
            is_good = evaluate_operate(machine, code[at]);
        }
    }
    return is_good;
}

bool cficache_evaluate(const struct cficache_reader *reader,
                       const struct cficache_rule *rule,
                       const struct cficache_registers *registers,
                       const struct cficache_memory *memory, uint64_t *value)
{
    size_t size = 0;
    const uint8_t *code;
    struct cficache_machine machine;

    if (rule->kind == CFICACHE_PROGRAM) {
        machine.registers = registers;
        machine.variables = NULL;
        machine.memory = memory;
        machine.depth = 0;
        code = cficache_reader_program(reader, (uint32_t)rule->number,
                                       CFICACHE_PROGRAM_VALUE, &size);
        return evaluate_run(&machine, code, size) && machine.depth == 1 &&
               evaluate_pop(&machine, value);
    }
    if (rule->kind != CFICACHE_VALUE && rule->kind != CFICACHE_AT) {
        return false;
    }
    if (rule->base == CFICACHE_CFA) {
        if (!registers->has_cfa) {
            return false;
        }
        *value = registers->cfa;
    } else {
        if (rule->base >= CFICACHE_NAMES || !registers->is_valid[rule->base]) {
            return false;
        }
        *value = registers->values[rule->base];
    }
    *value += (uint64_t)(int64_t)rule->number;
    return rule->kind == CFICACHE_VALUE ||
           memory->read(memory->context, *value, value);
}

bool cficache_run(const struct cficache_reader *reader,
                  const struct cficache_win *win,
                  struct cficache_variables *variables,
                  const struct cficache_memory *memory)
{
    size_t size = 0;
    const uint8_t *code;
    struct cficache_machine machine;

    if (win->program == 0) {
        return false;
    }
    machine.registers = NULL;
    machine.variables = variables;
    machine.memory = memory;
    machine.depth = 0;
    code = cficache_reader_program(reader, win->program - 1,
                                   CFICACHE_PROGRAM_ASSIGNS, &size);
    return evaluate_run(&machine, code, size);
}
