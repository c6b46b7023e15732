/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions of CIEs and FDEs, and the rows that they make.  Limits, and
 * the order in which a row keeps its rules, are those of the library that the
 * "symbolic" library uses (gimli).
 */
#pragma once

#include "cursor.h"

#define FRAME_RULES 192
#define FRAME_STACK 4

enum frame_rule_kind {
    FRAME_UNDEFINED,
    FRAME_SAME,
    FRAME_AT_OFFSET, /* the word at CFA + number */
    FRAME_VALUE,     /* CFA + number; of the CFA itself register + number */
    FRAME_REGISTER,  /* what another register has */
    FRAME_AT_EXPRESSION, /* the word at what an expression comes to */
    FRAME_EXPRESSION,    /* what an expression comes to */
    FRAME_CONSTANT
};

struct frame_rule {
    uint16_t reg; /* whose rule it is; of the CFA the base */
    uint16_t kind;
    uint32_t size;  /* of an expression */
    int64_t number; /* or the register, or where in the section the expression
                       begins */
};

struct frame_row {
    struct frame_rule cfa;
    unsigned count;
    struct frame_rule rules[FRAME_RULES];
};

/* The data that an FDE takes from its CIE. */
struct frame_cie {
    uint64_t offset; /* in the section; FRAME_NO_CIE: none */
    uint8_t address_size;
    uint64_t code_align;
    int64_t data_align;
    uint16_t ra;
    bool has_augmentation;
    bool has_encoding;
    bool has_lsda;
    bool is_signal; /* a signal handler returns to it */
    uint8_t encoding; /* of addresses */
    uint8_t lsda;
    struct cursor instructions;
};

#define FRAME_NO_CIE UINT64_MAX

enum frame_status {
    FRAME_ROW,     /* there is a row */
    FRAME_END,     /* there is no other one */
    FRAME_DAMAGED, /* what the library does not tolerate */
    FRAME_WORK     /* it is too much */
};

/* Runs instructions.  The first three members are the caller's. */
struct frame_machine {
    /* Reads an address in the encoding of the CIE. */
    bool (*read_address)(const void *context, const struct frame_cie *cie,
                         struct cursor *cursor, uint64_t *address);
    const void *context;
    uint64_t *work; /* steps that are left */
    struct cursor instructions;
    const uint8_t *section; /* where it begins */
    const struct frame_cie *cie;
    bool is_arm64;
    bool is_last;     /* the last row has been returned */
    bool has_initial; /* rules that the CIE made are known */
    bool is_deep;     /* it remembered a row, and is run again for each FDE */
    uint64_t start;   /* of the row */
    uint64_t next;    /* of the next one */
    unsigned depth;   /* of the stack, at least 1 */
    unsigned room;    /* for that */
    struct frame_row initial;
    struct frame_row stack[FRAME_STACK];
};

/* Runs the instructions of a CIE, whose rules become the initial ones. Returns
 * FRAME_END, or a failure. */
enum frame_status frame_machine_begin(struct frame_machine *machine,
                                      const struct frame_cie *cie);

/* Begins with the instructions of an FDE of that CIE, for addresses from start
 * on. */
void frame_machine_restart(struct frame_machine *machine,
                           const struct cursor *instructions, uint64_t start);

/* Runs to the end of the next row.  It is valid until the next call. */
enum frame_status frame_machine_next(struct frame_machine *machine,
                                     const struct frame_row **row);
