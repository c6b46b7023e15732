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

static bool push(struct cficache_machine *m, enum slot slot, uint64_t value)
{
    if (m->depth == CFICACHE_STACK) {
        return false;
    }
    m->slots[m->depth] = (uint8_t)slot;
    m->stack[m->depth++] = value;
    return true;
}

/* Variables have 32 bits, and so has what is computed from them. */
static bool push_value(struct cficache_machine *m, uint64_t value)
{
    return push(m, SLOT_VALUE,
                m->variables != NULL ? (uint32_t)value : value);
}

static bool pop(struct cficache_machine *m, uint64_t *value)
{
    if (m->depth == 0) {
        return false;
    }
    m->depth--;
    *value = m->stack[m->depth];
    if (m->slots[m->depth] == SLOT_NAME) { /* below CFICACHE_NAMES */
        if (!m->variables->is_set[*value]) {
            return false;
        }
        *value = m->variables->values[*value];
    }
    return m->slots[m->depth] != SLOT_UNDEFINED;
}

static bool push_name(struct cficache_machine *m, uint8_t name)
{
    if (name >= CFICACHE_NAMES) {
        return false;
    }
    if (m->variables != NULL) {
        return push(m, SLOT_NAME, name);
    }
    return m->registers->is_valid[name] &&
           push(m, SLOT_VALUE, m->registers->values[name]);
}

static bool assign(struct cficache_machine *m)
{
    uint64_t value, name;

    if (m->variables == NULL || m->depth < 2 ||
        m->slots[m->depth - 2] != SLOT_NAME) {
        return false;
    }
    name = m->stack[m->depth - 2];
    if (m->slots[m->depth - 1] == SLOT_UNDEFINED) {
        m->variables->is_set[name] = false;
    } else if (pop(m, &value)) {
        m->variables->values[name] = (uint32_t)value;
        m->variables->is_set[name] = true;
        m->depth++;
    } else {
        return false;
    }
    m->depth -= 2;
    return true;
}

static bool operate(struct cficache_machine *m,
                    enum cficache_operation operation)
{
    uint64_t left, right;

    switch (operation) {
    case CFICACHE_PUSH_CFA:
        return m->variables == NULL && m->registers->has_cfa &&
               push(m, SLOT_VALUE, m->registers->cfa);
    case CFICACHE_UNDEFINED:
        return m->variables != NULL && push(m, SLOT_UNDEFINED, 0);
    case CFICACHE_ASSIGN:
        return assign(m);
    case CFICACHE_READ:
        return pop(m, &left) &&
               m->memory->read(m->memory->context, left, &right) &&
               push_value(m, right);
    default:
        return pop(m, &right) && pop(m, &left) &&
               cficache_program_compute(operation, left, right, &right) &&
               push_value(m, right);
    }
}

static bool run(struct cficache_machine *m, const uint8_t *code, size_t size)
{
    size_t at;
    bool is_good = code != NULL;

    for (at = 0; is_good && at < size; at++) {
        if (code[at] == CFICACHE_NUMBER) {
            is_good = size - at > 8 && push_value(m, le64(code + at + 1));
            at += 8;
        } else if (code[at] == CFICACHE_NAME) {
            is_good = size - at > 1 && push_name(m, code[at + 1]);
            at++;
        } else {
            is_good = operate(m, code[at]);
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
    struct cficache_machine m;

    if (rule->kind == CFICACHE_PROGRAM) {
        m.registers = registers;
        m.variables = NULL;
        m.memory = memory;
        m.depth = 0;
        code = cficache_reader_program(reader, (uint32_t)rule->number,
                                       CFICACHE_PROGRAM_VALUE, &size);
        return run(&m, code, size) && m.depth == 1 && pop(&m, value);
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
    struct cficache_machine m;

    if (win->program == 0) {
        return false;
    }
    m.registers = NULL;
    m.variables = variables;
    m.memory = memory;
    m.depth = 0;
    code = cficache_reader_program(reader, win->program - 1,
                                   CFICACHE_PROGRAM_ASSIGNS, &size);
    return run(&m, code, size);
}
