/*
 * Copyright (C) the ngx_symcache authors
 *
 * Abbreviation tables (DWARF 5, section 7.5.3): the tag and the attributes of
 * debugging information entries, which name them by a code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attribute_form.h"

struct dwarf_attribute {
    uint16_t name;
    uint16_t form;
    uint32_t constant; /* of DW_FORM_implicit_const: index in constants */
    uint8_t size;      /* of the values, or DWARF_VARIABLE */
    uint8_t kind;      /* enum dwarf_value_kind, of values with a size */
    /* how many that say nothing about a function can be skipped together from
     * this one on, and their size; 0, if this one does, or has no size */
    uint8_t unused;
    uint8_t unused_size;
};

#define DWARF_VARIABLE 255

struct dwarf_abbrev {
    uint64_t code;
    uint32_t first_attribute;
    uint32_t num_attributes;
    uint32_t steps; /* how to skip the attributes; see abbrev.c */
    uint16_t size;  /* of all attributes, or DWARF_MANY */
    uint16_t tag;
    bool has_children;
    bool is_empty; /* it has no code, and reading it cannot fail otherwise than
                    * skipping it */
    uint8_t skips; /* where its entries mean nothing */
};

/* Places of an entry: inside of a function that has code, or outside. */
enum {
    DWARF_INSIDE = 1,
    DWARF_OUTSIDE = 2
};

#define DWARF_MANY UINT16_MAX

#define DWARF_FORMS (DW_FORM_addrx4 + 1)

/* All tables that have been read.  They share a few arrays. */
struct dwarf_abbrevs {
    struct dwarf_encoding encoding; /* of the table that was read last, */
    struct {
        uint8_t size; /* or DWARF_VARIABLE */
        uint8_t kind;
    } forms[DWARF_FORMS]; /* and what forms mean in it */
    struct dwarf_abbrev *list;
    size_t count;
    size_t room;
    struct dwarf_attribute *attributes;
    size_t num_attributes;
    size_t attribute_room;
    int64_t *constants;
    size_t num_constants;
    size_t constant_room;
    uint8_t *steps;
    size_t num_steps;
    size_t step_room;
};

/* A table, as units of one encoding use it. */
struct dwarf_abbrev_table {
    uint32_t age; /* of struct dwarf_reader, when it was read */
    size_t first; /* index in the list */
    size_t count;
    size_t num_dense; /* the first ones, whose codes are 1, 2, 3, … */
};

enum dwarf_abbrevs_status {
    DWARF_ABBREVS_OK,
    DWARF_ABBREVS_DAMAGED,
    DWARF_ABBREVS_NO_MEMORY
};

/*
 * Reads a table, which begins at the cursor and ends with a 0 or where the
 * section does.  It moves what dwarf_abbrevs_get() has returned.
 */
enum dwarf_abbrevs_status
dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, struct cursor *c,
                   const struct dwarf_encoding *encoding,
                   struct dwarf_abbrev_table *table);

/* Forgets what all tables hold, and keeps the memory for others. */
void dwarf_abbrevs_forget(struct dwarf_abbrevs *abbrevs);

void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs);

/* The rare part of dwarf_abbrevs_get(). */
const struct dwarf_abbrev *
dwarf_abbrevs_search(const struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_abbrev_table *table, uint64_t code);

/* Returns what a code stands for, or NULL. */
static inline const struct dwarf_abbrev *
dwarf_abbrevs_get(const struct dwarf_abbrevs *abbrevs,
                  const struct dwarf_abbrev_table *table, uint64_t code)
{
    return code - 1 < table->num_dense
               ? &abbrevs->list[table->first + code - 1]
               : dwarf_abbrevs_search(abbrevs, table, code);
}

/* Reads the value of an attribute.  The cursor fails where it is cut off, or
 * has an unknown form. */
static inline struct dwarf_value
dwarf_attribute_read(const struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_attribute *a,
                     const struct dwarf_encoding *encoding, struct cursor *c)
{
    struct dwarf_value v = {(enum dwarf_value_kind)a->kind, 0, NULL};

    if (a->size == DWARF_VARIABLE) {
        return dwarf_value_read(c, encoding, a->name, a->form,
                                a->form == DW_FORM_implicit_const
                                    ? abbrevs->constants[a->constant]
                                    : 0);
    }
    if (v.kind == DWARF_OTHER) {
        cursor_skip(c, a->size);
    } else {
        v.number = cursor_number(c, a->size);
    }
    return v;
}

/* The rare part of dwarf_abbrevs_skip(). */
void dwarf_abbrevs_skip_steps(const struct dwarf_abbrevs *abbrevs,
                              const struct dwarf_abbrev *abbrev,
                              const struct dwarf_encoding *encoding,
                              struct cursor *c);

/* Skips the attributes of an entry.  The cursor fails where they are cut off,
 * or have an unknown form. */
static inline void dwarf_abbrevs_skip(const struct dwarf_abbrevs *abbrevs,
                                      const struct dwarf_abbrev *abbrev,
                                      const struct dwarf_encoding *encoding,
                                      struct cursor *c)
{
    if (abbrev->size != DWARF_MANY) {
        cursor_skip(c, abbrev->size);
    } else {
        dwarf_abbrevs_skip_steps(abbrevs, abbrev, encoding, c);
    }
}
