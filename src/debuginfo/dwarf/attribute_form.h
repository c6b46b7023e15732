/*
 * Copyright (C) the ngx_symcache authors
 *
 * Values of attributes, in the forms of DWARF 5, section 7.5.5, and those that
 * GNU tools used before.
 */
#pragma once

#include <stdint.h>

#include "constants.h"
#include "cursor.h"

/* How the numbers of a unit are stored. */
struct dwarf_encoding {
    uint8_t version;
    uint8_t address_size; /* 1, 2, 4 or 8 */
    uint8_t offset_size;  /* 4 or 8 */
};

enum dwarf_value_kind {
    DWARF_NO_VALUE,
    DWARF_ADDRESS,
    DWARF_ADDRESS_INDEX,
    DWARF_UNSIGNED,     /* a constant that is not negative */
    DWARF_OFFSET,       /* in a section that the attribute implies */
    DWARF_UNIT_REF,     /* offset from the start of the unit */
    DWARF_INFO_REF,     /* offset in .debug_info */
    DWARF_TEXT,         /* a string in place */
    DWARF_STR_REF,      /* offset in .debug_str */
    DWARF_LINE_STR_REF, /* offset in .debug_line_str */
    DWARF_SUP_REF,      /* offset in .debug_info of the supplementary file */
    DWARF_SUP_STR_REF,  /* offset in its .debug_str */
    DWARF_STR_INDEX,    /* in .debug_str_offsets */
    DWARF_RANGES_INDEX, /* in the offsets of .debug_rnglists */
    DWARF_OTHER         /* of no use here */
};

struct dwarf_value {
    enum dwarf_value_kind kind;
    uint64_t number;
    const char *text; /* and number is its size */
};

/*
 * Reads a value.  The constant is what DW_FORM_implicit_const stands for.  An
 * unknown form fails the cursor.
 */
struct dwarf_value dwarf_value_read(struct cursor *c,
                                    const struct dwarf_encoding *encoding,
                                    unsigned attribute, unsigned form,
                                    int64_t constant);

/* Sets the kind and the size of values of a form, of DW_FORM_implicit_const
 * without the constant.  Returns false if their size differs, or the form is
 * unknown. */
bool dwarf_form_is_fixed(const struct dwarf_encoding *encoding,
                         unsigned attribute, unsigned form,
                         enum dwarf_value_kind *kind, unsigned *size);

/* Skips a value of a form without a size. */
void dwarf_value_skip(struct cursor *c, const struct dwarf_encoding *encoding,
                      unsigned form);

/* The rare part of dwarf_code_read(). */
uint16_t dwarf_long_code_read(struct cursor *c);

/* Reads a LEB128 number of at most 16 bits and three bytes, which is how tags
 * and the names and forms of attributes are stored. */
static inline uint16_t dwarf_code_read(struct cursor *c)
{
    return c->at < c->end && *c->at < 0x80 ? *c->at++
                                           : dwarf_long_code_read(c);
}
