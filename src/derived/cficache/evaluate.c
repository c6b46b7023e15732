/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evaluate.h"

#include "base/le.h"
#include "program.h"

enum slot { SLOT_VALUE, SLOT_NAME, SLOT_UNDEFINED };

struct cficache_evaluator {
    const struct cficache_registers *registers; /* of a value */
    struct cficache_variables *variables;       /* of assignments */
    const struct cficache_memory *memory;
    unsigned depth;
    uint8_t slots[CFICACHE_STACK];
    uint64_t stack[CFICACHE_STACK]; /* values, and the numbers of names */
};

static bool evaluate_push(struct cficache_evaluator *evaluator, enum slot slot,
                          uint64_t value)
{
    if (evaluator->depth == CFICACHE_STACK) {
        return false;
    }
    evaluator->slots[evaluator->depth] = (uint8_t)slot;
    evaluator->stack[evaluator->depth++] = value;
    return true;
}

/* Variables have 32 bits, and so has what is computed from them. */
static bool evaluate_push_value(struct cficache_evaluator *evaluator,
                                uint64_t value)
{
    return evaluate_push(evaluator, SLOT_VALUE,
                         evaluator->variables != NULL ? (uint32_t)value
                                                      : value);
}

static bool evaluate_pop(struct cficache_evaluator *evaluator, uint64_t *value)
{
    if (evaluator->depth == 0) {
        return false;
    }
    evaluator->depth--;
    *value = evaluator->stack[evaluator->depth];
    if (evaluator->slots[evaluator->depth] ==
        SLOT_NAME) { /* below CFICACHE_NAMES */
        if (!evaluator->variables->is_set[*value]) {
            return false;
        }
        *value = evaluator->variables->values[*value];
    }
    return evaluator->slots[evaluator->depth] != SLOT_UNDEFINED;
}

static bool evaluate_push_name(struct cficache_evaluator *evaluator,
                               uint8_t name)
{
    if (name >= CFICACHE_NAMES) {
        return false;
    }
    if (evaluator->variables != NULL) {
        return evaluate_push(evaluator, SLOT_NAME, name);
    }
    return evaluator->registers->is_valid[name] &&
           evaluate_push(evaluator, SLOT_VALUE,
                         evaluator->registers->values[name]);
}

static bool evaluate_assign(struct cficache_evaluator *evaluator)
{
    uint64_t value, name;

    if (evaluator->variables == NULL || evaluator->depth < 2 ||
        evaluator->slots[evaluator->depth - 2] != SLOT_NAME) {
        return false;
    }
    name = evaluator->stack[evaluator->depth - 2];
    if (evaluator->slots[evaluator->depth - 1] == SLOT_UNDEFINED) {
        evaluator->variables->is_set[name] = false;
    } else if (evaluate_pop(evaluator, &value)) {
        evaluator->variables->values[name] = (uint32_t)value;
        evaluator->variables->is_set[name] = true;
        evaluator->depth++;
    } else {
        return false;
    }
    evaluator->depth -= 2;
    return true;
}

static bool evaluate_operate(struct cficache_evaluator *evaluator,
                             enum cficache_operation operation)
{
    uint64_t left, right;

    switch (operation) {
    case CFICACHE_PUSH_CFA:
        return evaluator->variables == NULL && evaluator->registers->has_cfa &&
               evaluate_push(evaluator, SLOT_VALUE, evaluator->registers->cfa);
    case CFICACHE_UNDEFINED:
        return evaluator->variables != NULL &&
               evaluate_push(evaluator, SLOT_UNDEFINED, 0);
    case CFICACHE_ASSIGN:
        return evaluate_assign(evaluator);
    case CFICACHE_READ:
        return evaluate_pop(evaluator, &left) &&
               evaluator->memory->read(evaluator->memory->context, left,
                                       &right) &&
               evaluate_push_value(evaluator, right);
    default:
        return evaluate_pop(evaluator, &right) &&
               evaluate_pop(evaluator, &left) &&
               cficache_program_compute(operation, left, right, &right) &&
               evaluate_push_value(evaluator, right);
    }
}

static bool evaluate_run(struct cficache_evaluator *evaluator,
                         const uint8_t *code, size_t size)
{
    size_t at;
    bool is_good = code != NULL;

    for (at = 0; is_good && at < size; at++) {
        if (code[at] == CFICACHE_NUMBER) {
            is_good = size - at > 8 &&
                      evaluate_push_value(evaluator, le64(code + at + 1));
            at += 8;
        } else if (code[at] == CFICACHE_NAME) {
            is_good =
                size - at > 1 && evaluate_push_name(evaluator, code[at + 1]);
            at++;
        } else {
            is_good = evaluate_operate(evaluator, code[at]);
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
    struct cficache_evaluator evaluator;

    if (rule->kind == CFICACHE_PROGRAM) {
        evaluator.registers = registers;
        evaluator.variables = NULL;
        evaluator.memory = memory;
        evaluator.depth = 0;
        code = cficache_reader_program(reader, (uint32_t)rule->number,
                                       CFICACHE_PROGRAM_VALUE, &size);
        return evaluate_run(&evaluator, code, size) && evaluator.depth == 1 &&
               evaluate_pop(&evaluator, value);
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

bool cficache_evaluate_win(const struct cficache_reader *reader,
                           const struct cficache_win *win,
                           struct cficache_variables *variables,
                           const struct cficache_memory *memory)
{
    size_t size = 0;
    const uint8_t *code;
    struct cficache_evaluator evaluator;

    if (win->program == 0) {
        return false;
    }
    evaluator.registers = NULL;
    evaluator.variables = variables;
    evaluator.memory = memory;
    evaluator.depth = 0;
    code = cficache_reader_program(reader, win->program - 1,
                                   CFICACHE_PROGRAM_ASSIGNS, &size);
    return evaluate_run(&evaluator, code, size);
}
