/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_expression.h"

#include <string.h>

/* Operations on the stack copy code.  Compilers need less than 100 bytes. */
#define COPIED_MAX 1000

enum {
    DW_OP_deref = 0x06,
    DW_OP_const1u = 0x08,
    DW_OP_const1s = 0x09,
    DW_OP_const2u = 0x0a,
    DW_OP_const2s = 0x0b,
    DW_OP_const4u = 0x0c,
    DW_OP_const4s = 0x0d,
    DW_OP_const8u = 0x0e,
    DW_OP_const8s = 0x0f,
    DW_OP_constu = 0x10,
    DW_OP_consts = 0x11,
    DW_OP_dup = 0x12,
    DW_OP_drop = 0x13,
    DW_OP_over = 0x14,
    DW_OP_pick = 0x15,
    DW_OP_swap = 0x16,
    DW_OP_rot = 0x17,
    DW_OP_and = 0x1a,
    DW_OP_minus = 0x1c,
    DW_OP_mod = 0x1d,
    DW_OP_mul = 0x1e,
    DW_OP_neg = 0x1f,
    DW_OP_not = 0x20,
    DW_OP_or = 0x21,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_shl = 0x24,
    DW_OP_shr = 0x25,
    DW_OP_xor = 0x27,
    DW_OP_eq = 0x29,
    DW_OP_ge = 0x2a,
    DW_OP_gt = 0x2b,
    DW_OP_le = 0x2c,
    DW_OP_lt = 0x2d,
    DW_OP_ne = 0x2e,
    DW_OP_lit0 = 0x30,
    DW_OP_lit31 = 0x4f,
    DW_OP_breg0 = 0x70,
    DW_OP_breg31 = 0x8f,
    DW_OP_bregx = 0x92,
    DW_OP_nop = 0x96
};

/* Operations that take two values and need nothing else. */
static const struct {
    uint8_t from;
    uint8_t to;
} binary[] = {
    {DW_OP_and, CFICACHE_BIT_AND},   {DW_OP_minus, CFICACHE_SUBTRACT},
    {DW_OP_mul, CFICACHE_MULTIPLY},  {DW_OP_or, CFICACHE_BIT_OR},
    {DW_OP_mod, CFICACHE_REMAINDER},
    {DW_OP_plus, CFICACHE_ADD},      {DW_OP_shl, CFICACHE_SHIFT_LEFT},
    {DW_OP_shr, CFICACHE_SHIFT_RIGHT}, {DW_OP_xor, CFICACHE_BIT_XOR},
    {DW_OP_eq, CFICACHE_EQUAL},      {DW_OP_ge, CFICACHE_GREATER_EQUAL},
    {DW_OP_gt, CFICACHE_GREATER},    {DW_OP_le, CFICACHE_LESS_EQUAL},
    {DW_OP_lt, CFICACHE_LESS},       {DW_OP_ne, CFICACHE_NOT_EQUAL},
};

struct expression_compiler {
    struct frame_registers *registers;
    struct cficache_code *code;
    struct cursor c;
    unsigned depth; /* values on the stack; the code of each is in one piece */
    size_t starts[CFICACHE_STACK];
    size_t copied;   /* bytes of code */
    bool needs_more; /* it took more of them than there were */
    bool has_failed; /* there is no memory; the failure is set */
};

/* Takes values whose code is followed by that of one new value. */
static void expression_take(struct expression_compiler *s, unsigned count)
{
    s->needs_more |= s->depth < count;
    s->depth -= s->depth < count ? s->depth : count;
}

/* What follows makes a value.  Returns false if there are too many. */
static bool expression_begin_value(struct expression_compiler *s)
{
    if (s->depth == CFICACHE_STACK) {
        s->code->fails = true;
        return false;
    }
    s->starts[s->depth++] = s->code->size;
    return true;
}

static void check(struct expression_compiler *s, enum symc_status status)
{
    if (status != SYMC_OK) {
        failure_writer(s->registers->cfi->failure, status);
        s->has_failed = true;
    }
}

static void expression_put_operation(struct expression_compiler *s,
                                     enum cficache_operation operation)
{
    unsigned count = operation == CFICACHE_PUSH_CFA ? 0
                     : operation == CFICACHE_READ   ? 1
                                                    : 2;

    expression_take(s, count);
    if (count > 0) {
        s->depth++; /* it begins where the first of them did */
    } else if (!expression_begin_value(s)) {
        return;
    }
    check(s, cficache_code_operation(s->code, operation));
}

static void expression_put_number(struct expression_compiler *s,
                                  int64_t number)
{
    if (expression_begin_value(s)) {
        check(s, cficache_code_number(s->code, number));
    }
}

/* Adds a number to the value on the stack. */
static void put_sum(struct expression_compiler *s, int64_t number)
{
    if (number != 0) {
        expression_put_number(s, number);
        expression_put_operation(s, CFICACHE_ADD);
    }
}

static void expression_put_register(struct expression_compiler *s,
                                    uint64_t number)
{
    int64_t offset = cursor_sleb(&s->c);
    const struct cfi_register *reg;

    if (frame_registers_find(s->registers, number, &reg) != 0) {
        s->has_failed = true;
        return;
    }
    if (reg == NULL) {
        s->code->fails = true;
        return;
    }
    if (expression_begin_value(s)) {
        check(s, cficache_code_name(s->code, reg->name));
        put_sum(s, offset);
    }
}

/* Puts a copy of a value, of those below the last one by its number, on top of
 * the stack. */
static void expression_copy_value(struct expression_compiler *s,
                                  unsigned below)
{
    size_t start, size;

    if (s->depth <= below) {
        s->needs_more = true;
        return;
    }
    start = s->starts[s->depth - 1 - below];
    size = (below > 0 ? s->starts[s->depth - below] : s->code->size) - start;
    s->copied += s->code->size - start;
    if (s->copied > COPIED_MAX) {
        s->code->fails = true;
    } else if (expression_begin_value(s)) {
        check(s, cficache_code_copy(s->code, start, size));
    }
}

/* Moves a value to the top of the stack. */
static void expression_move_value(struct expression_compiler *s,
                                  unsigned below)
{
    unsigned i;
    size_t start, size;
    struct cficache_code *code = s->code;

    expression_copy_value(s, below);
    if (s->needs_more || s->has_failed || code->fails) {
        return;
    }
    i = s->depth - 2 - below;
    start = s->starts[i];
    size = s->starts[i + 1] - start;
    memmove(code->data + start, code->data + start + size,
            code->size - start - size);
    code->size -= size;
    for (s->depth--; i < s->depth; i++) {
        s->starts[i] = s->starts[i + 1] - size;
    }
}

static void expression_drop_value(struct expression_compiler *s)
{
    expression_take(s, 1);
    if (!s->needs_more) {
        s->code->size = s->starts[s->depth];
    }
}

/* Compiles an operation on the stack; returns false if it is none. */
static bool compile_stack(struct expression_compiler *s, uint8_t code)
{
    switch (code) {
    case DW_OP_dup:
        expression_copy_value(s, 0);
        return true;
    case DW_OP_drop:
        expression_drop_value(s);
        return true;
    case DW_OP_over:
        expression_copy_value(s, 1);
        return true;
    case DW_OP_pick:
        expression_copy_value(s, cursor_8(&s->c));
        return true;
    case DW_OP_swap:
        expression_move_value(s, 1);
        return true;
    case DW_OP_rot: /* the last one goes below two others */
        expression_move_value(s, 2);
        expression_move_value(s, 2);
        return true;
    case DW_OP_neg:
        expression_put_number(s, 0);
        expression_move_value(s, 1);
        expression_put_operation(s, CFICACHE_SUBTRACT);
        return true;
    case DW_OP_not:
        expression_put_number(s, -1);
        expression_put_operation(s, CFICACHE_BIT_XOR);
        return true;
    default:
        return false;
    }
}

static void compile_other(struct expression_compiler *s, uint8_t code)
{
    size_t i;

    for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++) {
        if (binary[i].from == code) {
            expression_put_operation(s, binary[i].to);
            return;
        }
    }
    if (!compile_stack(s, code) && code != DW_OP_nop) {
        s->code->fails = true;
    }
}

static void compile_operation(struct expression_compiler *s)
{
    struct cursor *c = &s->c;
    uint8_t code = cursor_8(c);

    if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
        expression_put_number(s, code - DW_OP_lit0);
        return;
    }
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
        expression_put_register(s, code - DW_OP_breg0);
        return;
    }
    switch (code) {
    case DW_OP_bregx:
        expression_put_register(s, cursor_uleb(c));
        break;
    case DW_OP_deref:
        expression_put_operation(s, CFICACHE_READ);
        break;
    case DW_OP_plus_uconst:
        expression_take(s, 1);
        s->depth++;
        put_sum(s, (int64_t)cursor_uleb(c));
        break;
    case DW_OP_const1u:
        expression_put_number(s, cursor_8(c));
        break;
    case DW_OP_const1s:
        expression_put_number(s, (int8_t)cursor_8(c));
        break;
    case DW_OP_const2u:
        expression_put_number(s, cursor_16(c));
        break;
    case DW_OP_const2s:
        expression_put_number(s, (int16_t)cursor_16(c));
        break;
    case DW_OP_const4u:
        expression_put_number(s, cursor_32(c));
        break;
    case DW_OP_const4s:
        expression_put_number(s, (int32_t)cursor_32(c));
        break;
    case DW_OP_const8u:
    case DW_OP_const8s:
        expression_put_number(s, (int64_t)cursor_64(c));
        break;
    case DW_OP_constu:
        expression_put_number(s, (int64_t)cursor_uleb(c));
        break;
    case DW_OP_consts:
        expression_put_number(s, cursor_sleb(c));
        break;
    default:
        compile_other(s, code);
        break;
    }
}

/* Compiles with or without the CFA at the bottom of the stack. */
static void compile(struct expression_compiler *s,
                    const struct cursor *expression, bool has_cfa)
{
    s->c = *expression;
    s->code->size = 0;
    s->code->fails = false;
    s->depth = 0;
    s->copied = 0;
    s->needs_more = false;
    if (has_cfa) {
        expression_put_operation(s, CFICACHE_PUSH_CFA);
    }
    while (s->c.at < s->c.end && !s->has_failed && !s->code->fails &&
           !s->needs_more) {
        compile_operation(s);
    }
    s->code->fails = s->code->fails || s->c.failed || s->needs_more;
}

int frame_expression_compile(struct frame_registers *registers,
                             const struct cursor *expression, bool has_cfa,
                             struct cficache_code *code)
{
    struct expression_compiler s = {.registers = registers, .code = code};

    /* A program leaves nothing but its value, so the CFA is only there for an
     * expression that uses it. */
    compile(&s, expression, false);
    if (s.needs_more && has_cfa && !s.has_failed) {
        compile(&s, expression, true);
    }
    return s.has_failed ? -1 : 0;
}
