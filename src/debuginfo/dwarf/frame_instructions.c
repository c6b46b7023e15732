/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_instructions.h"

#define RA_SIGN_STATE 34 /* of ARM64: is the return address signed? */

enum {
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
    DW_CFA_AARCH64_negate_ra_state = 0x2d,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_advance_loc = 0x40, /* the first with an operand in it */
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0
};

/* The outcome of an instruction. */
enum outcome {
    OUTCOME_NONE,
    OUTCOME_ROW,     /* a row ends */
    OUTCOME_FULL,    /* there are too many rules: this row is passed over */
    OUTCOME_UNKNOWN, /* the instructions end here for the library */
    OUTCOME_DAMAGED
};

static struct frame_row *top(struct frame_machine *m)
{
    return &m->stack[m->depth - 1];
}

static void copy_row(struct frame_row *to, const struct frame_row *from)
{
    to->cfa = from->cfa;
    to->count = from->count;
    memcpy(to->rules, from->rules, from->count * sizeof(*from->rules));
}

static struct frame_rule *find_rule(struct frame_row *row, uint16_t reg)
{
    unsigned i;

    for (i = 0; i < row->count; i++) {
        if (row->rules[i].reg == reg) {
            return &row->rules[i];
        }
    }
    return NULL;
}

static enum outcome set_rule(struct frame_machine *m,
                             const struct frame_rule *rule)
{
    struct frame_row *row = top(m);
    struct frame_rule *found = find_rule(row, rule->reg);

    if (found == NULL) {
        if (row->count == FRAME_RULES) {
            return OUTCOME_FULL;
        }
        found = &row->rules[row->count++];
    }
    *found = *rule;
    return OUTCOME_NONE;
}

static uint16_t frame_read_register(struct cursor *c)
{
    uint64_t reg = cursor_uleb(c);

    if (reg > UINT16_MAX) {
        cursor_fail(c);
    }
    return (uint16_t)reg;
}

static int64_t factor(const struct frame_machine *m, uint64_t n)
{
    return (int64_t)(n * (uint64_t)m->cie->data_align);
}

/* Moves to the next row. */
static enum outcome advance(struct frame_machine *m, uint64_t delta)
{
    uint64_t most = m->cie->address_size >= 8
                        ? UINT64_MAX
                        : ((uint64_t)1 << m->cie->address_size * 8) - 1;

    delta *= m->cie->code_align;
    if (m->start > most || delta > most - m->start) {
        return OUTCOME_DAMAGED;
    }
    m->next = m->start + delta;
    return OUTCOME_ROW;
}

static enum outcome restore(struct frame_machine *m, uint16_t reg)
{
    struct frame_rule *rule;

    if (!m->has_initial) {
        return OUTCOME_DAMAGED;
    }
    rule = find_rule(&m->initial, reg);
    if (rule != NULL) {
        return set_rule(m, rule);
    }
    rule = find_rule(top(m), reg);
    if (rule != NULL) { /* the last one takes its place */
        *rule = top(m)->rules[--top(m)->count];
    }
    return OUTCOME_NONE;
}

static enum outcome remember(struct frame_machine *m)
{
    if (m->depth == m->room) {
        return OUTCOME_DAMAGED;
    }
    copy_row(&m->stack[m->depth], top(m));
    m->depth++;
    return OUTCOME_NONE;
}

/* The state of a pointer's signature is a rule of a register, too. */
static enum outcome negate_ra_state(struct frame_machine *m)
{
    struct frame_rule rule = {RA_SIGN_STATE, FRAME_CONSTANT, 0, 1};
    const struct frame_rule *old = find_rule(top(m), RA_SIGN_STATE);

    if (old != NULL && old->kind != FRAME_CONSTANT) {
        return OUTCOME_DAMAGED;
    }
    rule.number = old != NULL ? old->number ^ 1 : 1;
    return set_rule(m, &rule);
}

/* Reads an expression into a rule. */
static void read_expression(struct frame_machine *m, struct frame_rule *rule)
{
    struct cursor *c = &m->instructions;
    uint64_t size = cursor_uleb(c);

    rule->number = c->at - m->section;
    rule->size = (uint32_t)size;
    cursor_skip(c, size);
}

/* Runs an instruction that sets the CFA's rule. */
static enum outcome define_cfa(struct frame_machine *m, uint8_t code)
{
    struct cursor *c = &m->instructions;
    struct frame_rule *cfa = &top(m)->cfa;
    struct frame_rule rule = {0, FRAME_VALUE, 0, 0};

    switch (code) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        rule.reg = frame_read_register(c);
        rule.number = code == DW_CFA_def_cfa
                          ? (int64_t)cursor_uleb(c)
                          : factor(m, (uint64_t)cursor_sleb(c));
        break;
    case DW_CFA_def_cfa_expression:
        rule.kind = FRAME_EXPRESSION;
        read_expression(m, &rule);
        break;
    default:
        rule = *cfa;
        if (code == DW_CFA_def_cfa_register) {
            rule.reg = frame_read_register(c);
        } else {
            rule.number = code == DW_CFA_def_cfa_offset
                              ? (int64_t)cursor_uleb(c)
                              : factor(m, (uint64_t)cursor_sleb(c));
        }
        if (cfa->kind != FRAME_VALUE && code == DW_CFA_def_cfa_register) {
            return OUTCOME_DAMAGED;
        }
        if (cfa->kind != FRAME_VALUE) { /* GCC says so in functions with SVE */
            return OUTCOME_NONE;
        }
        break;
    }
    if (!c->failed) {
        *cfa = rule;
    }
    return OUTCOME_NONE;
}

/* Runs an instruction that sets a register's rule. */
static enum outcome define(struct frame_machine *m, uint8_t code)
{
    struct cursor *c = &m->instructions;
    struct frame_rule rule = {frame_read_register(c), FRAME_AT_OFFSET, 0, 0};

    switch (code) {
    case DW_CFA_undefined:
        rule.kind = FRAME_UNDEFINED;
        break;
    case DW_CFA_same_value:
        rule.kind = FRAME_SAME;
        break;
    case DW_CFA_register:
        rule.kind = FRAME_REGISTER;
        rule.number = frame_read_register(c);
        break;
    case DW_CFA_expression:
        rule.kind = FRAME_AT_EXPRESSION;
        read_expression(m, &rule);
        break;
    case DW_CFA_val_expression:
        rule.kind = FRAME_EXPRESSION;
        read_expression(m, &rule);
        break;
    case DW_CFA_offset_extended_sf:
        rule.number = factor(m, (uint64_t)cursor_sleb(c));
        break;
    case DW_CFA_val_offset:
        rule.kind = FRAME_VALUE;
        rule.number = factor(m, cursor_uleb(c));
        break;
    case DW_CFA_val_offset_sf:
        rule.kind = FRAME_VALUE;
        rule.number = factor(m, (uint64_t)cursor_sleb(c));
        break;
    default: /* DW_CFA_offset_extended */
        rule.number = factor(m, cursor_uleb(c));
        break;
    }
    return c->failed ? OUTCOME_DAMAGED : set_rule(m, &rule);
}

/* Runs an instruction that has its operand in the rest of its byte. */
static enum outcome run_short(struct frame_machine *m, uint8_t code)
{
    uint8_t operand = code & 0x3f;
    struct frame_rule rule = {operand, FRAME_AT_OFFSET, 0, 0};

    switch (code & 0xc0) {
    case DW_CFA_advance_loc:
        return advance(m, operand);
    case DW_CFA_offset:
        rule.number = factor(m, cursor_uleb(&m->instructions));
        return m->instructions.failed ? OUTCOME_DAMAGED : set_rule(m, &rule);
    default:
        return restore(m, operand);
    }
}

static enum outcome set_location(struct frame_machine *m)
{
    uint64_t address = 0;

    if (!m->read_address(m->context, m->cie, &m->instructions, &address) ||
        address < m->start) {
        return OUTCOME_DAMAGED;
    }
    m->next = address;
    return OUTCOME_ROW;
}

static enum outcome run_state(struct frame_machine *m, uint8_t code)
{
    struct cursor *c = &m->instructions;

    switch (code) {
    case DW_CFA_nop:
        return OUTCOME_NONE;
    case DW_CFA_set_loc:
        return set_location(m);
    case DW_CFA_advance_loc1:
        return advance(m, cursor_8(c));
    case DW_CFA_advance_loc2:
        return advance(m, cursor_16(c));
    case DW_CFA_advance_loc4:
        return advance(m, cursor_32(c));
    case DW_CFA_restore_extended:
        return restore(m, frame_read_register(c));
    case DW_CFA_remember_state:
        return remember(m);
    case DW_CFA_restore_state:
        if (m->depth == 1) {
            return OUTCOME_DAMAGED;
        }
        m->depth--;
        return OUTCOME_NONE;
    case DW_CFA_GNU_args_size:
        (void)cursor_uleb(c);
        return OUTCOME_NONE;
    case DW_CFA_AARCH64_negate_ra_state:
    case DW_CFA_AARCH64_negate_ra_state_with_pc:
        return m->is_arm64 ? negate_ra_state(m) : OUTCOME_UNKNOWN;
    default:
        return OUTCOME_UNKNOWN;
    }
}

static enum outcome run(struct frame_machine *m)
{
    enum outcome outcome;
    uint8_t code = cursor_8(&m->instructions);

    switch (code) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_def_cfa_register:
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_def_cfa_expression:
        outcome = define_cfa(m, code);
        break;
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_register:
    case DW_CFA_expression:
    case DW_CFA_val_expression:
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        outcome = define(m, code);
        break;
    default:
        outcome = code >= DW_CFA_advance_loc ? run_short(m, code)
                                             : run_state(m, code);
        break;
    }
    return m->instructions.failed ? OUTCOME_DAMAGED : outcome;
}

enum frame_status frame_machine_next(struct frame_machine *m,
                                     const struct frame_row **row)
{
    enum outcome outcome;

    m->start = m->next;
    while (m->instructions.at < m->instructions.end) {
        if (*m->work < 1 + top(m)->count / 8) {
            return FRAME_WORK;
        }
        *m->work -= 1 + top(m)->count / 8;
        outcome = run(m);
        switch (outcome) {
        case OUTCOME_ROW:
            *row = top(m);
            return FRAME_ROW;
        case OUTCOME_FULL:
        case OUTCOME_UNKNOWN:
            if (!m->has_initial) {
                return FRAME_DAMAGED; /* in a CIE */
            }
            if (outcome == OUTCOME_UNKNOWN) {
                m->instructions.at = m->instructions.end;
            }
            break;
        case OUTCOME_DAMAGED:
            return FRAME_DAMAGED;
        case OUTCOME_NONE:
            break;
        }
    }
    if (m->is_last) {
        return FRAME_END;
    }
    m->is_last = true;
    *row = top(m);
    return FRAME_ROW;
}

static void start(struct frame_machine *m, const struct cursor *instructions,
                  uint64_t address)
{
    m->instructions = *instructions;
    m->is_last = false;
    m->next = address;
}

void frame_machine_restart(struct frame_machine *m,
                           const struct cursor *instructions, uint64_t address)
{
    if (!m->is_deep) {
        m->depth = 1;
        copy_row(&m->stack[0], &m->initial);
    }
    start(m, instructions, address);
}

enum frame_status frame_machine_begin(struct frame_machine *m,
                                      const struct frame_cie *cie)
{
    enum frame_status status;
    const struct frame_row *row;

    m->cie = cie;
    m->has_initial = false;
    m->depth = 1;
    m->room = FRAME_STACK;
    memset(&m->stack[0].cfa, 0, sizeof(m->stack[0].cfa));
    m->stack[0].cfa.kind = FRAME_VALUE;
    m->stack[0].count = 0;
    start(m, &cie->instructions, 0);
    do {
        status = frame_machine_next(m, &row);
    } while (status == FRAME_ROW);
    if (status != FRAME_END) {
        return status;
    }
    copy_row(&m->initial, top(m));
    m->has_initial = true;
    m->is_deep = m->depth > 1;
    if (m->initial.count > 1) {
        m->room--; /* the library keeps them on its stack */
    }
    return m->depth > m->room ? FRAME_DAMAGED : FRAME_END;
}
