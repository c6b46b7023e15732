/*
 * Copyright (C) the ngx_symcache authors
 *
 * Compiles the expressions of Breakpad's text.  What is no valid expression
 * compiles as well, to one that fails: readers of the text do not look at an
 * expression before they need it.
 */
#pragma once

#include "base/hash_table.h"
#include "program.h"
#include "reader.h"

/* The names of registers and variables.  Must be all zero at the beginning. */
struct cficache_names {
    struct table table; /* number + 1 */
    unsigned count;
    uint8_t sizes[CFICACHE_NAMES];
    char texts[CFICACHE_NAMES][255];
};

/* The program that is being compiled.  Must be all zero at the beginning. */
struct cficache_code {
    uint8_t *data;
    size_t size;
    size_t room;
    bool fails; /* it has a name that there is no number for */
};

/* Finds the number of a name, which it gets unless it has one.  Returns false
 * if there are too many names, or it is too long; *out_of_memory is set when
 * memory ran out. */
bool cficache_name(struct cficache_names *names, const char *text, size_t size,
                   uint8_t *name, bool *out_of_memory);

/* Appends an operation, with its operand. */
enum symc_status cficache_code_operation(struct cficache_code *code,
                                         enum cficache_operation operation);
enum symc_status cficache_code_number(struct cficache_code *code,
                                      int64_t number);
enum symc_status cficache_code_name(struct cficache_code *code, uint8_t name);
/* ... or what some of the code does once more. */
enum symc_status cficache_code_copy(struct cficache_code *code, size_t start,
                                    size_t size);

/* Compiles the expression of a register's rule, or the program of a STACK WIN
 * record, into code, which is emptied first. */
enum symc_status cficache_compile_value(struct cficache_names *names,
                                        struct cficache_code *code,
                                        const char *text, size_t size);
enum symc_status cficache_compile_win(struct cficache_names *names,
                                      struct cficache_code *code,
                                      const char *text, size_t size);

/* Makes a rule without a program of the code of a value, if there is one: kind,
 * base and number are set.  Returns false if it needs its program. */
bool cficache_simplify(const struct cficache_code *code, unsigned num_names,
                       struct cficache_rule *rule);

/* Takes the next word of a text, as blanks separate them.  Returns false at the
 * end. */
bool cficache_word(const char **text, size_t *size, const char **word,
                   size_t *word_size);
