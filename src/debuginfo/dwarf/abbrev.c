/*
 * Copyright (C) the ngx_symcache authors
 */
#include "abbrev.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Most entries are only skipped, and most of their attributes have a fixed
 * size.  So the steps of skipping are prepared: a number is one of bytes to
 * skip, other steps are for the form that follows them in two bytes.
 */
#define STEPS_END 0
#define STEP_MOST 0xF0 /* bytes */
#define STEP_LEB 0xFD
#define STEP_EXPRLOC 0xFE
#define STEP_FORM 0xFF

void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
    free(abbrevs->list);
    free(abbrevs->attributes);
    free(abbrevs->constants);
    free(abbrevs->steps);
    memset(abbrevs, 0, sizeof(*abbrevs));
}

void dwarf_abbrevs_forget(struct dwarf_abbrevs *abbrevs)
{
    abbrevs->count = abbrevs->num_attributes = abbrevs->num_constants =
        abbrevs->num_steps = 0;
}

static int add_step(struct dwarf_abbrevs *abbrevs, uint8_t step)
{
    if (abbrevs->num_steps >= UINT32_MAX ||
        array_need(&abbrevs->steps, &abbrevs->step_room,
                   abbrevs->num_steps + 1, 1) != 0) {
        return -1;
    }
    abbrevs->steps[abbrevs->num_steps++] = step;
    return 0;
}

static int add_bytes(struct dwarf_abbrevs *abbrevs, unsigned *bytes)
{
    int rc = 0;
    unsigned n;

    for (; rc == 0 && *bytes > 0; *bytes -= n) {
        n = *bytes < STEP_MOST ? *bytes : STEP_MOST;
        rc = add_step(abbrevs, (uint8_t)n);
    }
    return rc;
}

static int abbrev_add_form(struct dwarf_abbrevs *abbrevs, unsigned form)
{
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
        return add_step(abbrevs, STEP_LEB);
    case DW_FORM_exprloc:
    case DW_FORM_block:
        return add_step(abbrevs, STEP_EXPRLOC);
    default:
        return add_step(abbrevs, STEP_FORM) != 0 ||
                       add_step(abbrevs, (uint8_t)form) != 0 ||
                       add_step(abbrevs, (uint8_t)(form >> 8)) != 0
                   ? -1
                   : 0;
    }
}

/* Adds the steps for an attribute.  *bytes are skipped before it, and are not
 * in the steps yet. */
static int abbrev_add_attribute(struct dwarf_abbrevs *abbrevs,
                                const struct dwarf_attribute *a,
                                unsigned *bytes)
{
    if (a->size != DWARF_VARIABLE) {
        *bytes += a->size;
        return *bytes > STEP_MOST ? add_bytes(abbrevs, bytes) : 0;
    }
    return a->form != DW_FORM_implicit_const &&
                   (add_bytes(abbrevs, bytes) != 0 ||
                    abbrev_add_form(abbrevs, a->form) != 0)
               ? -1
               : 0;
}

static int end_steps(struct dwarf_abbrevs *abbrevs,
                     struct dwarf_abbrev *abbrev, unsigned bytes)
{
    if (abbrevs->num_steps == abbrev->steps) {
        abbrev->size = (uint16_t)bytes; /* which needs no steps */
        return 0;
    }
    abbrev->size = DWARF_MANY;
    return add_bytes(abbrevs, &bytes) != 0 ? -1 : add_step(abbrevs, STEPS_END);
}

void dwarf_abbrevs_skip_steps(const struct dwarf_abbrevs *abbrevs,
                              const struct dwarf_abbrev *abbrev,
                              const struct dwarf_encoding *encoding,
                              struct cursor *c)
{
    const uint8_t *step;

    for (step = abbrevs->steps + abbrev->steps; *step != STEPS_END; step++) {
        switch (*step) {
        case STEP_LEB:
            cursor_skip_leb(c);
            break;
        case STEP_EXPRLOC:
            cursor_skip(c, cursor_uleb(c));
            break;
        case STEP_FORM:
            dwarf_value_skip(c, encoding, step[1] | step[2] << 8);
            step += 2;
            break;
        default:
            cursor_skip(c, *step);
        }
    }
}

/* The purposes of attributes. */
enum {
    FOR_NAMES = 1,
    FOR_CODE = 2 /* or an entry can be refused for their values */
};

/* The attributes that dwarf_entry_read() takes. */
static const uint8_t uses[] = {
    [DW_AT_name] = FOR_NAMES,
    [DW_AT_linkage_name] = FOR_NAMES,
    [DW_AT_abstract_origin] = FOR_NAMES,
    [DW_AT_specification] = FOR_NAMES,
    [DW_AT_low_pc] = FOR_CODE,
    [DW_AT_high_pc] = FOR_CODE,
    [DW_AT_ranges] = FOR_CODE,
    [DW_AT_start_scope] = FOR_CODE,
    [DW_AT_rnglists_base] = FOR_CODE,
    [DW_AT_call_file] = FOR_CODE,
    [DW_AT_call_line] = FOR_CODE,
};

static unsigned abbrev_use_of(unsigned name)
{
    return name < sizeof(uses)                ? uses[name]
           : name == DW_AT_MIPS_linkage_name ? FOR_NAMES
                                             : 0;
}

static int add_constant(struct dwarf_abbrevs *abbrevs, struct cursor *c,
                        struct dwarf_attribute *a)
{
    if (abbrevs->num_constants >= UINT32_MAX ||
        array_need(&abbrevs->constants, &abbrevs->constant_room,
                   abbrevs->num_constants + 1,
                   sizeof(*abbrevs->constants)) != 0) {
        return -1;
    }
    a->constant = (uint32_t)abbrevs->num_constants;
    abbrevs->constants[abbrevs->num_constants++] = cursor_sleb(c);
    return 0;
}

/* Remembers the forms of an encoding: most tables are of the same. */
static void learn_forms(struct dwarf_abbrevs *abbrevs,
                        const struct dwarf_encoding *encoding)
{
    unsigned form, size;
    enum dwarf_value_kind kind;

    if (memcmp(&abbrevs->encoding, encoding, sizeof(*encoding)) == 0) {
        return;
    }
    abbrevs->encoding = *encoding;
    for (form = 0; form < DWARF_FORMS; form++) {
        abbrevs->forms[form].size =
            dwarf_form_is_fixed(encoding, 0, form, &kind, &size)
                ? (uint8_t)size
                : DWARF_VARIABLE;
        abbrevs->forms[form].kind = (uint8_t)kind;
    }
}

/* Finds size and kind of an attribute, of any form but
 * DW_FORM_implicit_const. */
static inline void learn_form(const struct dwarf_abbrevs *abbrevs,
                              struct dwarf_attribute *a)
{
    unsigned size;
    enum dwarf_value_kind kind;

    if (a->form < DWARF_FORMS && a->form != DW_FORM_data4 &&
        a->form != DW_FORM_data8) {
        a->size = abbrevs->forms[a->form].size;
        a->kind = abbrevs->forms[a->form].kind;
    } else if (dwarf_form_is_fixed(&abbrevs->encoding, a->name, a->form, &kind,
                                   &size)) {
        a->size = (uint8_t)size;
        a->kind = (uint8_t)kind;
    }
}

/* Reads one attribute.  Returns 1, 0 at the end of the list, or -1 if memory
 * runs out. */
static int read_attribute(struct dwarf_abbrevs *abbrevs, struct cursor *c,
                          bool *is_empty)
{
    unsigned name, form, use;
    struct dwarf_attribute *a;

    if (c->end - c->at > 1 && (c->at[0] | c->at[1]) < 0x80) {
        name = *c->at++;
        form = *c->at++;
    } else {
        name = dwarf_code_read(c);
        form = dwarf_code_read(c);
    }
    if (name == 0 || form == 0) {
        if (name != form) {
            cursor_fail(c);
        }
        return 0;
    }
    if (abbrevs->num_attributes >= UINT32_MAX ||
        array_need(&abbrevs->attributes, &abbrevs->attribute_room,
                   abbrevs->num_attributes + 1,
                   sizeof(*abbrevs->attributes)) != 0) {
        return -1;
    }
    a = &abbrevs->attributes[abbrevs->num_attributes++];
    memset(a, 0, sizeof(*a));
    a->name = (uint16_t)name;
    a->form = (uint16_t)form;
    a->size = DWARF_VARIABLE;
    use = abbrev_use_of(name);
    a->unused = use == 0;
    if (form == DW_FORM_implicit_const) {
        *is_empty &= use != FOR_CODE;
        return add_constant(abbrevs, c, a) != 0 ? -1 : 1;
    }
    learn_form(abbrevs, a);
    if (a->size != DWARF_VARIABLE) {
        a->unused_size = a->size;
        *is_empty &= use != FOR_CODE;
    } else {
        a->unused = 0;
        *is_empty = false;
    }
    return 1;
}

/* Tells where entries can be skipped.  Those with children that are empty,
 * such as functions that were inlined everywhere, hide the calls in them from
 * the function around them. */
static uint8_t skips_of(const struct dwarf_abbrev *abbrev)
{
    bool is_call = abbrev->tag == DW_TAG_inlined_subroutine;

    if (abbrev->tag == DW_TAG_label && !abbrev->is_empty) {
        return DWARF_INSIDE;
    }
    if (abbrev->tag != DW_TAG_subprogram && !is_call) {
        return DWARF_INSIDE | DWARF_OUTSIDE;
    }
    return (uint8_t)((is_call || abbrev->is_empty ? DWARF_OUTSIDE : 0) |
                     (abbrev->is_empty && !abbrev->has_children ? DWARF_INSIDE
                                                                : 0));
}

/* Lets attributes that are not used be skipped together, where entries are
 * read by the million. */
static void abbrev_join_unused(struct dwarf_attribute *list, size_t n)
{
    size_t i;

    for (i = n; i > 1; i--) {
        if (list[i - 2].unused > 0 && list[i - 1].unused > 0 &&
            list[i - 1].unused < UINT8_MAX &&
            list[i - 2].unused_size <= UINT8_MAX - list[i - 1].unused_size) {
            list[i - 2].unused += list[i - 1].unused;
            list[i - 2].unused_size += list[i - 1].unused_size;
        }
    }
}

/* Reads one abbreviation.  Returns as read_attribute(). */
static int read_abbrev(struct dwarf_abbrevs *abbrevs, struct cursor *c)
{
    int rc;
    uint8_t children;
    unsigned bytes = 0;
    struct dwarf_abbrev *abbrev;

    if (array_need(&abbrevs->list, &abbrevs->room, abbrevs->count + 1,
                   sizeof(*abbrevs->list)) != 0) {
        return -1;
    }
    abbrev = &abbrevs->list[abbrevs->count];
    abbrev->code = c->at < c->end ? cursor_uleb(c) : 0;
    if (abbrev->code == 0) {
        return 0;
    }
    abbrev->tag = dwarf_code_read(c);
    children = cursor_8(c);
    if (abbrev->tag == 0 || children > 1) {
        cursor_fail(c);
        return 0;
    }
    abbrev->has_children = children != 0;
    abbrev->first_attribute = (uint32_t)abbrevs->num_attributes;
    abbrev->steps = (uint32_t)abbrevs->num_steps;
    abbrev->is_empty = true;
    while ((rc = read_attribute(abbrevs, c, &abbrev->is_empty)) > 0) {
        if (abbrev_add_attribute(
                abbrevs, &abbrevs->attributes[abbrevs->num_attributes - 1],
                &bytes) != 0) {
            return -1;
        }
    }
    abbrev->num_attributes =
        (uint32_t)abbrevs->num_attributes - abbrev->first_attribute;
    abbrev->skips = skips_of(abbrev);
    if (rc < 0 || end_steps(abbrevs, abbrev, bytes) != 0) {
        return -1;
    }
    if (abbrev->skips != (DWARF_INSIDE | DWARF_OUTSIDE) &&
        abbrev->num_attributes > 0) {
        abbrev_join_unused(abbrevs->attributes + abbrev->first_attribute,
                           abbrev->num_attributes);
    }
    abbrevs->count++;
    return !c->failed;
}

static int abbrev_compare(const void *left, const void *right)
{
    const struct dwarf_abbrev *abbrev = left, *b = right;

    return abbrev->code < b->code ? -1 : abbrev->code > b->code;
}

/* Sorts the abbreviations after the dense ones.  Returns false if a code has
 * two meanings. */
static bool sort(struct dwarf_abbrev *list, struct dwarf_abbrev_table *table)
{
    size_t i;

    for (i = 0; i < table->count && list[i].code == i + 1; i++) {
    }
    table->num_dense = i;
    if (i < table->count) {
        qsort(list + i, table->count - i, sizeof(*list), abbrev_compare);
    }
    for (; i < table->count; i++) {
        if (list[i].code <= table->num_dense ||
            (i > table->num_dense && list[i].code == list[i - 1].code)) {
            return false;
        }
    }
    return true;
}

enum dwarf_abbrevs_status
dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, struct cursor *c,
                   const struct dwarf_encoding *encoding,
                   struct dwarf_abbrev_table *table)
{
    int rc;

    table->first = abbrevs->count;
    learn_forms(abbrevs, encoding);
    while ((rc = read_abbrev(abbrevs, c)) > 0) {
    }
    table->count = abbrevs->count - table->first;
    if (rc < 0) {
        return DWARF_ABBREVS_NO_MEMORY;
    }
    return c->failed || !sort(abbrevs->list + table->first, table)
               ? DWARF_ABBREVS_DAMAGED
               : DWARF_ABBREVS_OK;
}

const struct dwarf_abbrev *
dwarf_abbrevs_search(const struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_abbrev_table *table, uint64_t code)
{
    struct dwarf_abbrev key = {.code = code};

    return table->count == table->num_dense
               ? NULL
               : bsearch(&key, abbrevs->list + table->first + table->num_dense,
                         table->count - table->num_dense, sizeof(key),
                         abbrev_compare);
}
