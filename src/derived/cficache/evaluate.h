/*
 * Copyright (C) the ngx_symcache authors
 *
 * Computes what rules and programs come to.  They are checked again while they
 * run: a file that was not verified can make them fail and nothing else.
 */
#pragma once

#include "reader.h"

/* Reads the word of the processor's size at an address of the stack.  Returns
 * false if it is not known. */
struct cficache_memory {
    bool (*read)(void *context, uint64_t address, uint64_t *word);
    void *context;
};

/* The registers of a frame by the numbers of their names, and its CFA, once it
 * is known. */
struct cficache_registers {
    uint64_t values[CFICACHE_NAMES];
    bool is_valid[CFICACHE_NAMES];
    uint64_t cfa;
    bool has_cfa;
};

/* The variables of STACK WIN programs, by the numbers of their names. */
struct cficache_variables {
    uint32_t values[CFICACHE_NAMES];
    bool is_set[CFICACHE_NAMES];
};

/* Computes a rule's value.  Returns false if it fails, or is CFICACHE_END. */
bool cficache_evaluate(const struct cficache_reader *reader,
                       const struct cficache_rule *rule,
                       const struct cficache_registers *registers,
                       const struct cficache_memory *memory, uint64_t *value);

/* Runs the program of a STACK WIN record.  Returns false if there is none or it
 * fails; then the variables are worthless. */
bool cficache_evaluate_win(const struct cficache_reader *reader,
                           const struct cficache_win *win,
                           struct cficache_variables *variables,
                           const struct cficache_memory *memory);
