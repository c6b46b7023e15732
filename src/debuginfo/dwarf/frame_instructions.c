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

static struct frame_row *top(struct frame_machine *frame)
{
    return &frame->stack[frame->depth - 1];
}

static void frame_copy_row(struct frame_row *to, const struct frame_row *from)
{
    to->cfa = from->cfa;
    to->count = from->count;
    memcpy(to->rules, from->rules, from->count * sizeof(*from->rules));
}

static struct frame_rule *frame_find_rule(struct frame_row *row, uint16_t reg)
{
    unsigned i;

    for (i = 0; i < row->count; i++) {
        if (row->rules[i].reg == reg) {
            return &row->rules[i];
        }
    }
    return NULL;
}

static enum outcome frame_set_rule(struct frame_machine *frame,
                                   const struct frame_rule *rule)
{
    struct frame_row *row = top(frame);
    struct frame_rule *found = frame_find_rule(row, rule->reg);

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

static int64_t factor(const struct frame_machine *frame, uint64_t n)
{
    return (int64_t)(n * (uint64_t)frame->cie->data_align);
}

/* Moves to the next row. */
static enum outcome frame_advance(struct frame_machine *frame, uint64_t delta)
{
    uint64_t most = frame->cie->address_size >= 8
                        ? UINT64_MAX
                        : ((uint64_t)1 << frame->cie->address_size * 8) - 1;

    delta *= frame->cie->code_align;
    if (frame->start > most || delta > most - frame->start) {
        return OUTCOME_DAMAGED;
    }
    frame->next = frame->start + delta;
    return OUTCOME_ROW;
}

static enum outcome frame_restore(struct frame_machine *frame, uint16_t reg)
{
    struct frame_rule *rule;

    if (!frame->has_initial) {
        return OUTCOME_DAMAGED;
    }
    rule = frame_find_rule(&frame->initial, reg);
    if (rule != NULL) {
        return frame_set_rule(frame, rule);
    }
    rule = frame_find_rule(top(frame), reg);
    if (rule != NULL) { /* the last one takes its place */
        *rule = top(frame)->rules[--top(frame)->count];
    }
    return OUTCOME_NONE;
}

static enum outcome frame_remember(struct frame_machine *frame)
{
    if (frame->depth == frame->room) {
        return OUTCOME_DAMAGED;
    }
    frame_copy_row(&frame->stack[frame->depth], top(frame));
    frame->depth++;
    return OUTCOME_NONE;
}

/* The state of a pointer's signature is a rule of a register, too. */
static enum outcome negate_ra_state(struct frame_machine *frame)
{
    struct frame_rule rule = {RA_SIGN_STATE, FRAME_CONSTANT, 0, 1};
    const struct frame_rule *old = frame_find_rule(top(frame), RA_SIGN_STATE);

    if (old != NULL && old->kind != FRAME_CONSTANT) {
        return OUTCOME_DAMAGED;
    }
    rule.number = old != NULL ? old->number ^ 1 : 1;
    return frame_set_rule(frame, &rule);
}

/* Reads an expression into a rule. */
static void read_expression(struct frame_machine *frame,
                            struct frame_rule *rule)
{
    struct cursor *c = &frame->instructions;
    uint64_t size = cursor_uleb(c);

    rule->number = c->at - frame->section;
    rule->size = (uint32_t)size;
    cursor_skip(c, size);
}

/* Runs an instruction that sets the CFA's rule. */
static enum outcome frame_define_cfa(struct frame_machine *frame, uint8_t code)
{
    struct cursor *c = &frame->instructions;
    struct frame_rule *cfa = &top(frame)->cfa;
    struct frame_rule rule = {0, FRAME_VALUE, 0, 0};

    switch (code) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        rule.reg = frame_read_register(c);
        rule.number = code == DW_CFA_def_cfa
                          ? (int64_t)cursor_uleb(c)
                          : factor(frame, (uint64_t)cursor_sleb(c));
        break;
    case DW_CFA_def_cfa_expression:
        rule.kind = FRAME_EXPRESSION;
        read_expression(frame, &rule);
        break;
    default:
        rule = *cfa;
        if (code == DW_CFA_def_cfa_register) {
            rule.reg = frame_read_register(c);
        } else {
            rule.number = code == DW_CFA_def_cfa_offset
                              ? (int64_t)cursor_uleb(c)
                              : factor(frame, (uint64_t)cursor_sleb(c));
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
static enum outcome frame_define(struct frame_machine *frame, uint8_t code)
{
    struct cursor *c = &frame->instructions;
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
        read_expression(frame, &rule);
        break;
    case DW_CFA_val_expression:
        rule.kind = FRAME_EXPRESSION;
        read_expression(frame, &rule);
        break;
    case DW_CFA_offset_extended_sf:
        rule.number = factor(frame, (uint64_t)cursor_sleb(c));
        break;
    case DW_CFA_val_offset:
        rule.kind = FRAME_VALUE;
        rule.number = factor(frame, cursor_uleb(c));
        break;
    case DW_CFA_val_offset_sf:
        rule.kind = FRAME_VALUE;
        rule.number = factor(frame, (uint64_t)cursor_sleb(c));
        break;
    default: /* DW_CFA_offset_extended */
        rule.number = factor(frame, cursor_uleb(c));
        break;
    }
    return c->failed ? OUTCOME_DAMAGED : frame_set_rule(frame, &rule);
}

/* Runs an instruction that has its operand in the rest of its byte. */
static enum outcome run_short_frame(struct frame_machine *frame, uint8_t code)
{
    uint8_t operand = code & 0x3f;
    struct frame_rule rule = {operand, FRAME_AT_OFFSET, 0, 0};

    switch (code & 0xc0) {
    case DW_CFA_advance_loc:
        return frame_advance(frame, operand);
    case DW_CFA_offset:
        rule.number = factor(frame, cursor_uleb(&frame->instructions));
        return frame->instructions.failed ? OUTCOME_DAMAGED
                                          : frame_set_rule(frame, &rule);
    default:
        return frame_restore(frame, operand);
    }
}

static enum outcome frame_set_location(struct frame_machine *frame)
{
    uint64_t address = 0;

    if (!frame->read_address(frame->context, frame->cie, &frame->instructions,
                             &address) ||
        address < frame->start) {
        return OUTCOME_DAMAGED;
    }
    frame->next = address;
    return OUTCOME_ROW;
}

static enum outcome run_state(struct frame_machine *frame, uint8_t code)
{
    struct cursor *c = &frame->instructions;

    switch (code) {
    case DW_CFA_nop:
        return OUTCOME_NONE;
    case DW_CFA_set_loc:
        return frame_set_location(frame);
    case DW_CFA_advance_loc1:
        return frame_advance(frame, cursor_8(c));
    case DW_CFA_advance_loc2:
        return frame_advance(frame, cursor_16(c));
    case DW_CFA_advance_loc4:
        return frame_advance(frame, cursor_32(c));
    case DW_CFA_restore_extended:
        return frame_restore(frame, frame_read_register(c));
    case DW_CFA_remember_state:
        return frame_remember(frame);
    case DW_CFA_restore_state:
        if (frame->depth == 1) {
            return OUTCOME_DAMAGED;
        }
        frame->depth--;
        return OUTCOME_NONE;
    case DW_CFA_GNU_args_size:
        (void)cursor_uleb(c);
        return OUTCOME_NONE;
    case DW_CFA_AARCH64_negate_ra_state:
    case DW_CFA_AARCH64_negate_ra_state_with_pc:
        return frame->is_arm64 ? negate_ra_state(frame) : OUTCOME_UNKNOWN;
    default:
        return OUTCOME_UNKNOWN;
    }
}

static enum outcome run_frame(struct frame_machine *frame)
{
    enum outcome outcome;
    uint8_t code = cursor_8(&frame->instructions);

    switch (code) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_def_cfa_register:
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_def_cfa_expression:
        outcome = frame_define_cfa(frame, code);
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
        outcome = frame_define(frame, code);
        break;
    default:
        outcome = code >= DW_CFA_advance_loc ? run_short_frame(frame, code)
                                             : run_state(frame, code);
        break;
    }
    return frame->instructions.failed ? OUTCOME_DAMAGED : outcome;
}

enum frame_status frame_machine_next(struct frame_machine *frame,
                                     const struct frame_row **row)
{
    enum outcome outcome;

    frame->start = frame->next;
    while (frame->instructions.at < frame->instructions.end) {
        if (*frame->work < 1 + top(frame)->count / 8) {
            return FRAME_WORK;
        }
        *frame->work -= 1 + top(frame)->count / 8;
        outcome = run_frame(frame);
        switch (outcome) {
        case OUTCOME_ROW:
            *row = top(frame);
            return FRAME_ROW;
        case OUTCOME_FULL:
        case OUTCOME_UNKNOWN:
            if (!frame->has_initial) {
                return FRAME_DAMAGED; /* in a CIE */
            }
            if (outcome == OUTCOME_UNKNOWN) {
                frame->instructions.at = frame->instructions.end;
            }
            break;
        case OUTCOME_DAMAGED:
            return FRAME_DAMAGED;
        case OUTCOME_NONE:
            break;
        }
    }
    if (frame->is_last) {
        return FRAME_END;
    }
    frame->is_last = true;
    *row = top(frame);
    return FRAME_ROW;
}

static void start_frame(struct frame_machine *frame,
                        const struct cursor *instructions, uint64_t address)
{
    frame->instructions = *instructions;
    frame->is_last = false;
    frame->next = address;
}

void frame_machine_restart(struct frame_machine *frame,
                           const struct cursor *instructions, uint64_t address)
{
    if (!frame->is_deep) {
        frame->depth = 1;
        frame_copy_row(&frame->stack[0], &frame->initial);
    }
    start_frame(frame, instructions, address);
}

enum frame_status frame_machine_begin(struct frame_machine *frame,
                                      const struct frame_cie *cie)
{
    enum frame_status status;
    const struct frame_row *row;

    frame->cie = cie;
    frame->has_initial = false;
    frame->depth = 1;
    frame->room = FRAME_STACK;
    memset(&frame->stack[0].cfa, 0, sizeof(frame->stack[0].cfa));
    frame->stack[0].cfa.kind = FRAME_VALUE;
    frame->stack[0].count = 0;
    start_frame(frame, &cie->instructions, 0);
    do {
        status = frame_machine_next(frame, &row);
    } while (status == FRAME_ROW);
    if (status != FRAME_END) {
        return status;
    }
    frame_copy_row(&frame->initial, top(frame));
    frame->has_initial = true;
    frame->is_deep = frame->depth > 1;
    if (frame->initial.count > 1) {
        frame->room--; /* the library keeps them on its stack */
    }
    return frame->depth > frame->room ? FRAME_DAMAGED : FRAME_END;
}
