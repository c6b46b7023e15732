/*
 * Copyright (C) the ngx_symcache authors
 *
 * Postfix programs: what the expressions of Breakpad's STACK CFI and STACK WIN
 * records, and of DWARF, are compiled to.  Each operation is a byte, which
 * NUMBER follows with 8 bytes and NAME with one.  There are no jumps, so what
 * the stack holds is known before a program runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFICACHE_STACK 64 /* values at most; those of compilers need 5 */
#define CFICACHE_CODE_MAX 65535

/* The purpose of a program. */
enum cficache_program {
    /* leaves one value, of 64 bits; a NAME is the value of a register */
    CFICACHE_PROGRAM_VALUE = 1,
    /* sets variables, of 32 bits; a NAME is a variable, whose value is read
     * when an operation takes it from the stack */
    CFICACHE_PROGRAM_ASSIGNS = 2
};

enum cficache_operation {
    CFICACHE_NUMBER,
    CFICACHE_NAME,
    CFICACHE_PUSH_CFA, /* values only */
    CFICACHE_UNDEFINED, /* assignments only: what removes a variable */
    CFICACHE_ASSIGN,    /* assignments only: a variable, its value, "=" */
    CFICACHE_READ,      /* the word at an address */
    CFICACHE_ADD,       /* this and all that follow take two values */
    CFICACHE_SUBTRACT,
    CFICACHE_MULTIPLY,
    CFICACHE_DIVIDE,    /* unsigned; fails if the divisor is 0 */
    CFICACHE_REMAINDER,
    CFICACHE_ALIGN,     /* down to a power of two; fails for other numbers */
    CFICACHE_BIT_AND,
    CFICACHE_BIT_OR,
    CFICACHE_BIT_XOR,
    CFICACHE_SHIFT_LEFT, /* 0 from 64 bits on */
    CFICACHE_SHIFT_RIGHT,
    CFICACHE_EQUAL,      /* 1 or 0 */
    CFICACHE_NOT_EQUAL,
    CFICACHE_LESS,       /* signed, as are the next ones */
    CFICACHE_LESS_EQUAL,
    CFICACHE_GREATER,
    CFICACHE_GREATER_EQUAL,
    CFICACHE_OPERATIONS
};

/*
 * Checks that a program of this kind has complete operations that always find
 * what they need on the stack, names below num_names, and that it neither needs
 * more than CFICACHE_STACK values nor, if it is a value, leaves more or less
 * than one.  Returns NULL, or a text that says what is wrong.
 */
const char *cficache_program_check(enum cficache_program kind,
                                   const uint8_t *code, size_t size,
                                   unsigned num_names);

/*
 * Computes one of the operations from CFICACHE_ADD on.  Returns false if it
 * fails.
 */
bool cficache_program_compute(enum cficache_operation operation, uint64_t left,
                              uint64_t right, uint64_t *result);
