/*
 * Copyright (C) the ngx_symcache authors
 *
 * What readers of call frame information give it to: a CfiCache, or the text
 * that the "symbolic" library makes of the same file.  The records are those of
 * Breakpad's text, in the library's order; where it is known better than there,
 * corrections are added, which the text does not have.
 *
 * All functions return 0, or -1 with the failure set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/cficache/cficache.h"
#include "failure.h"
#include "format.h"

#define CFI_PIECE 65536 /* bytes of text that are written at a time */

struct cfi {
    struct cficache_identity identity; /* of the module; its reader sets it */
    struct failure *failure;
    struct cficache_writer *writer; /* NULL: text is written */
    const struct symc_sink *sink;
    bool is_in_line;
    bool is_correction; /* the range is one */
    size_t used;
    char text[CFI_PIECE];
};

struct cfi_register {
    char text[16]; /* as in rules: with "$" where that is usual */
    uint8_t size;
    uint8_t name; /* in the CfiCache */
};

/* What is no register: .cfa, and .ra. */
extern const struct cfi_register cfi_cfa, cfi_ra;

/* How a number is used and written. */
enum cfi_form {
    CFI_BARE, /* not at all: it is 0 */
    CFI_PLUS, /* it is added: "-8 +" */
    CFI_MINUS /* it is taken off: "8 -" */
};

/* Makes a CfiCache, or text, of a file. */
int cfi_convert(cfi_read *read, bool is_text, const uint8_t *data, size_t size,
                const struct symc_sink *sink, struct debuginfo_result *result,
                struct failure *failure);

/* Prepares a register for rules. */
int cfi_register(struct cfi *cfi, const char *text, struct cfi_register *reg);

/* Begins a STACK CFI INIT record. */
int cfi_range(struct cfi *cfi, uint64_t start, uint64_t size);

/* Begins a record of the same range.  Its keyword is "STACK CFI ", for one
 * format with more blanks. */
int cfi_row(struct cfi *cfi, const char *keyword, uint64_t address);

/* Adds a rule to the record: base with number, or the word there. */
int cfi_rule(struct cfi *cfi, const struct cfi_register *target,
             const struct cfi_register *base, int64_t number,
             enum cfi_form form, bool is_at);

/* Adds rules as they are. */
int cfi_rules(struct cfi *cfi, const char *text, size_t size);

/* Writes a STACK WIN record of this type: 4 has a program. */
int cfi_win(struct cfi *cfi, uint64_t type, uint64_t start, uint32_t size,
            const struct cficache_win *win, const char *program,
            size_t program_size);

/* Begin a range of corrections, and a row of it.  Text does not have them, nor
 * their rules. */
int cfi_correction(struct cfi *cfi, uint64_t start, uint64_t size);
int cfi_correction_row(struct cfi *cfi, uint64_t address);
