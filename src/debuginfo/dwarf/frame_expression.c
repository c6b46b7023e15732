/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_expression.h"

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
    DW_OP_and = 0x1a,
    DW_OP_minus = 0x1c,
    DW_OP_mul = 0x1e,
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
    {DW_OP_plus, CFICACHE_ADD},      {DW_OP_shl, CFICACHE_SHIFT_LEFT},
    {DW_OP_shr, CFICACHE_SHIFT_RIGHT}, {DW_OP_xor, CFICACHE_BIT_XOR},
    {DW_OP_eq, CFICACHE_EQUAL},      {DW_OP_ge, CFICACHE_GREATER_EQUAL},
    {DW_OP_gt, CFICACHE_GREATER},    {DW_OP_le, CFICACHE_LESS_EQUAL},
    {DW_OP_lt, CFICACHE_LESS},       {DW_OP_ne, CFICACHE_NOT_EQUAL},
};

struct compiler {
    struct frame_registers *registers;
    struct cficache_code *code;
    struct cursor c;
    unsigned depth;  /* values on the stack */
    bool needs_more; /* it took more of them than there were */
    bool has_failed; /* there is no memory; the failure is set */
};

static void take(struct compiler *s, unsigned count)
{
    s->needs_more |= s->depth < count;
    s->depth -= s->depth < count ? s->depth : count;
}

static void check(struct compiler *s, enum symc_status status)
{
    if (status != SYMC_OK) {
        failure_writer(s->registers->cfi->failure, status);
        s->has_failed = true;
    }
}

static void put_operation(struct compiler *s,
                          enum cficache_operation operation)
{
    take(s, operation == CFICACHE_PUSH_CFA ? 0
            : operation == CFICACHE_READ   ? 1
                                           : 2);
    s->depth++;
    check(s, cficache_code_operation(s->code, operation));
}

static void put_number(struct compiler *s, int64_t number)
{
    s->depth++;
    check(s, cficache_code_number(s->code, number));
}

/* Adds a number to the value on the stack. */
static void put_sum(struct compiler *s, int64_t number)
{
    if (number != 0) {
        put_number(s, number);
        put_operation(s, CFICACHE_ADD);
    }
}

static void put_register(struct compiler *s, uint64_t number)
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
    s->depth++;
    check(s, cficache_code_name(s->code, reg->name));
    put_sum(s, offset);
}

static void compile_other(struct compiler *s, uint8_t code)
{
    size_t i;

    for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++) {
        if (binary[i].from == code) {
            put_operation(s, binary[i].to);
            return;
        }
    }
    s->code->fails = code != DW_OP_nop;
}

static void compile_operation(struct compiler *s)
{
    struct cursor *c = &s->c;
    uint8_t code = cursor_8(c);

    if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
        put_number(s, code - DW_OP_lit0);
        return;
    }
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
        put_register(s, code - DW_OP_breg0);
        return;
    }
    switch (code) {
    case DW_OP_bregx:
        put_register(s, cursor_uleb(c));
        break;
    case DW_OP_deref:
        put_operation(s, CFICACHE_READ);
        break;
    case DW_OP_plus_uconst:
        take(s, 1);
        s->depth++;
        put_sum(s, (int64_t)cursor_uleb(c));
        break;
    case DW_OP_const1u:
        put_number(s, cursor_8(c));
        break;
    case DW_OP_const1s:
        put_number(s, (int8_t)cursor_8(c));
        break;
    case DW_OP_const2u:
        put_number(s, cursor_16(c));
        break;
    case DW_OP_const2s:
        put_number(s, (int16_t)cursor_16(c));
        break;
    case DW_OP_const4u:
        put_number(s, cursor_32(c));
        break;
    case DW_OP_const4s:
        put_number(s, (int32_t)cursor_32(c));
        break;
    case DW_OP_const8u:
    case DW_OP_const8s:
        put_number(s, (int64_t)cursor_64(c));
        break;
    case DW_OP_constu:
        put_number(s, (int64_t)cursor_uleb(c));
        break;
    case DW_OP_consts:
        put_number(s, cursor_sleb(c));
        break;
    default:
        compile_other(s, code);
        break;
    }
}

/* Compiles with or without the CFA at the bottom of the stack. */
static void compile(struct compiler *s, const struct cursor *expression,
                    bool has_cfa)
{
    s->c = *expression;
    s->code->size = 0;
    s->code->fails = false;
    s->depth = 0;
    s->needs_more = false;
    if (has_cfa) {
        put_operation(s, CFICACHE_PUSH_CFA);
    }
    while (s->c.at < s->c.end && !s->has_failed && !s->code->fails) {
        compile_operation(s);
    }
    s->code->fails = s->code->fails || s->c.failed;
}

int frame_expression_compile(struct frame_registers *registers,
                             const struct cursor *expression, bool has_cfa,
                             struct cficache_code *code)
{
    struct compiler s = {.registers = registers, .code = code};

    /* A program leaves nothing but its value, so the CFA is only there for an
     * expression that uses it. */
    compile(&s, expression, false);
    if (s.needs_more && has_cfa && !s.has_failed) {
        compile(&s, expression, true);
    }
    return s.has_failed ? -1 : 0;
}
