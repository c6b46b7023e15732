/*
 * Copyright (C) the ngx_symcache authors
 */
#include "program.h"

/* The contents of the stack during a check. */
enum slot { SLOT_VALUE, SLOT_NAME, SLOT_UNDEFINED };

struct cficache_check {
    enum cficache_program kind;
    unsigned depth;
    uint8_t slots[CFICACHE_STACK];
};

static const char *program_push(struct cficache_check *check, enum slot slot)
{
    if (check->depth == CFICACHE_STACK) {
        return "needs too large a stack";
    }
    check->slots[check->depth++] = (uint8_t)slot;
    return NULL;
}

/* Takes n values that are to be computed with. */
static const char *program_pop(struct cficache_check *check, unsigned n)
{
    for (; n > 0; n--) {
        if (check->depth == 0) {
            return "takes more from the stack than there is";
        }
        if (check->slots[--check->depth] == SLOT_UNDEFINED) {
            return "computes with what is undefined";
        }
    }
    return NULL;
}

static const char *program_check_assign(struct cficache_check *check)
{
    if (check->depth < 2) {
        return "takes more from the stack than there is";
    }
    check->depth -= 2;
    return check->slots[check->depth] == SLOT_NAME
               ? NULL
               : "assigns to something that is not a variable";
}

static const char *program_check_operation(struct cficache_check *check,
                                           enum cficache_operation operation)
{
    const char *fault;
    bool assigns = check->kind == CFICACHE_PROGRAM_ASSIGNS;

    switch (operation) {
    case CFICACHE_NUMBER:
        return program_push(check, SLOT_VALUE);
    case CFICACHE_NAME:
        return program_push(check, assigns ? SLOT_NAME : SLOT_VALUE);
    case CFICACHE_PUSH_CFA:
        return assigns ? "has no CFA" : program_push(check, SLOT_VALUE);
    case CFICACHE_UNDEFINED:
        return assigns ? program_push(check, SLOT_UNDEFINED) : "is undefined";
    case CFICACHE_ASSIGN:
        return assigns ? program_check_assign(check) : "has no variables";
    default:
        break;
    }
    fault = program_pop(check, operation == CFICACHE_READ ? 1 : 2);
    return fault != NULL ? fault : program_push(check, SLOT_VALUE);
}

const char *cficache_program_check(enum cficache_program kind,
                                   const uint8_t *code, size_t size,
                                   unsigned num_names)
{
    size_t at = 0, operand;
    const char *fault = NULL;
    struct cficache_check check = {kind, 0, {0}};

    while (at < size && fault == NULL) {
        if (code[at] >= CFICACHE_OPERATIONS) {
            return "has an unknown operation";
        }
        operand = code[at] == CFICACHE_NUMBER ? 8 : code[at] == CFICACHE_NAME;
        if (operand > size - at - 1) {
            return "ends in an operation";
        }
        if (code[at] == CFICACHE_NAME && code[at + 1] >= num_names) {
            return "uses a name that does not exist";
        }
        fault = program_check_operation(&check, code[at]);
        at += 1 + operand;
    }
    if (fault == NULL && kind == CFICACHE_PROGRAM_VALUE && check.depth != 1) {
        return "does not leave one value";
    }
    return fault;
}

bool cficache_program_compute(enum cficache_operation operation, uint64_t left,
                              uint64_t right, uint64_t *result)
{
    switch (operation) {
    case CFICACHE_ADD:
        *result = left + right;
        return true;
    case CFICACHE_SUBTRACT:
        *result = left - right;
        return true;
    case CFICACHE_MULTIPLY:
        *result = left * right;
        return true;
    case CFICACHE_DIVIDE:
        *result = right == 0 ? 0 : left / right;
        return right != 0;
    case CFICACHE_REMAINDER:
        *result = right == 0 ? 0 : left % right;
        return right != 0;
    case CFICACHE_ALIGN:
        *result = left & -right;
        return right != 0 && (right & (right - 1)) == 0;
    case CFICACHE_BIT_AND:
        *result = left & right;
        return true;
    case CFICACHE_BIT_OR:
        *result = left | right;
        return true;
    case CFICACHE_BIT_XOR:
        *result = left ^ right;
        return true;
    case CFICACHE_SHIFT_LEFT:
        *result = right < 64 ? left << right : 0;
        return true;
    case CFICACHE_SHIFT_RIGHT:
        *result = right < 64 ? left >> right : 0;
        return true;
    case CFICACHE_EQUAL:
        *result = left == right;
        return true;
    case CFICACHE_NOT_EQUAL:
        *result = left != right;
        return true;
    case CFICACHE_LESS:
        *result = (int64_t)left < (int64_t)right;
        return true;
    case CFICACHE_LESS_EQUAL:
        *result = (int64_t)left <= (int64_t)right;
        return true;
    case CFICACHE_GREATER:
        *result = (int64_t)left > (int64_t)right;
        return true;
    case CFICACHE_GREATER_EQUAL:
        *result = (int64_t)left >= (int64_t)right;
        return true;
    default:
        return false;
    }
}
