/*
 * Copyright (C) the ngx_symcache authors
 *
 * The registers that DWARF numbers, under the names that the "symbolic" library
 * writes for them.
 */
#pragma once

#include "debuginfo/cfi.h"

#define FRAME_REGISTERS 128 /* numbers of those with names are below */

struct frame_registers {
    struct cfi *cfi;
    unsigned family; /* of the architecture */
    bool is_known[FRAME_REGISTERS];
    struct cfi_register known[FRAME_REGISTERS]; /* size 0: it has no name */
};

/* Prepares the registers of an architecture, as SymCaches number it. */
void frame_registers_init(struct frame_registers *registers, uint32_t arch,
                          struct cfi *cfi);

/* Returns the size of an address in bytes. */
uint8_t frame_registers_address_size(const struct frame_registers *registers);

/* Must the return address have a rule, even if it is where it was?  Not so
 * where it is on the stack. */
bool frame_registers_needs_ra(const struct frame_registers *registers);

/* Is it a processor whose return addresses may be signed? */
bool frame_registers_is_arm64(const struct frame_registers *registers);

/* Are there corrections of what is said of them? */
bool frame_registers_has_corrections(const struct frame_registers *registers);

/* Finds a register.  *found is NULL if it has no name.  Returns 0, or -1 with
 * the failure of cfi set. */
int frame_registers_find(struct frame_registers *registers, uint64_t number,
                         const struct cfi_register **found);
