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

void dwarf_abbrevs_free(struct dwarf_abbrevs *t)
{
    free(t->list);
    free(t->attributes);
    free(t->constants);
    free(t->steps);
    memset(t, 0, sizeof(*t));
}

void dwarf_abbrevs_forget(struct dwarf_abbrevs *t)
{
    t->count = t->num_attributes = t->num_constants = t->num_steps = 0;
}

static int add_step(struct dwarf_abbrevs *t, uint8_t step)
{
    if (t->num_steps >= UINT32_MAX ||
        array_need(&t->steps, &t->step_room, t->num_steps + 1, 1) != 0) {
        return -1;
    }
    t->steps[t->num_steps++] = step;
    return 0;
}

static int add_bytes(struct dwarf_abbrevs *t, unsigned *bytes)
{
    int rc = 0;
    unsigned n;

    for (; rc == 0 && *bytes > 0; *bytes -= n) {
        n = *bytes < STEP_MOST ? *bytes : STEP_MOST;
        rc = add_step(t, (uint8_t)n);
    }
    return rc;
}

static int add_form(struct dwarf_abbrevs *t, unsigned form)
{
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
        return add_step(t, STEP_LEB);
    case DW_FORM_exprloc:
    case DW_FORM_block:
        return add_step(t, STEP_EXPRLOC);
    default:
        return add_step(t, STEP_FORM) != 0 ||
                       add_step(t, (uint8_t)form) != 0 ||
                       add_step(t, (uint8_t)(form >> 8)) != 0
                   ? -1
                   : 0;
    }
}

/* Adds the steps for an attribute.  *bytes are skipped before it, and are not
 * in the steps yet. */
static int add_attribute(struct dwarf_abbrevs *t,
                         const struct dwarf_attribute *a, unsigned *bytes)
{
    if (a->size != DWARF_VARIABLE) {
        *bytes += a->size;
        return *bytes > STEP_MOST ? add_bytes(t, bytes) : 0;
    }
    return a->form != DW_FORM_implicit_const &&
                   (add_bytes(t, bytes) != 0 || add_form(t, a->form) != 0)
               ? -1
               : 0;
}

static int end_steps(struct dwarf_abbrevs *t, struct dwarf_abbrev *a,
                     unsigned bytes)
{
    if (t->num_steps == a->steps) {
        a->size = (uint16_t)bytes; /* which needs no steps */
        return 0;
    }
    a->size = DWARF_MANY;
    return add_bytes(t, &bytes) != 0 ? -1 : add_step(t, STEPS_END);
}

void dwarf_abbrevs_skip_steps(const struct dwarf_abbrevs *t,
                              const struct dwarf_abbrev *a,
                              const struct dwarf_encoding *encoding,
                              struct cursor *c)
{
    const uint8_t *step;

    for (step = t->steps + a->steps; *step != STEPS_END; step++) {
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

static unsigned use_of(unsigned name)
{
    return name < sizeof(uses)                ? uses[name]
           : name == DW_AT_MIPS_linkage_name ? FOR_NAMES
                                             : 0;
}

static int add_constant(struct dwarf_abbrevs *t, struct cursor *c,
                        struct dwarf_attribute *a)
{
    if (t->num_constants >= UINT32_MAX ||
        array_need(&t->constants, &t->constant_room, t->num_constants + 1,
                   sizeof(*t->constants)) != 0) {
        return -1;
    }
    a->constant = (uint32_t)t->num_constants;
    t->constants[t->num_constants++] = cursor_sleb(c);
    return 0;
}

/* Remembers the forms of an encoding: most tables are of the same. */
static void learn_forms(struct dwarf_abbrevs *t,
                        const struct dwarf_encoding *encoding)
{
    unsigned form, size;
    enum dwarf_value_kind kind;

    if (memcmp(&t->encoding, encoding, sizeof(*encoding)) == 0) {
        return;
    }
    t->encoding = *encoding;
    for (form = 0; form < DWARF_FORMS; form++) {
        t->forms[form].size =
            dwarf_form_is_fixed(encoding, 0, form, &kind, &size)
                ? (uint8_t)size
                : DWARF_VARIABLE;
        t->forms[form].kind = (uint8_t)kind;
    }
}

/* Finds size and kind of an attribute, of any form but
 * DW_FORM_implicit_const. */
static inline void learn_form(const struct dwarf_abbrevs *t,
                              struct dwarf_attribute *a)
{
    unsigned size;
    enum dwarf_value_kind kind;

    if (a->form < DWARF_FORMS && a->form != DW_FORM_data4 &&
        a->form != DW_FORM_data8) {
        a->size = t->forms[a->form].size;
        a->kind = t->forms[a->form].kind;
    } else if (dwarf_form_is_fixed(&t->encoding, a->name, a->form, &kind,
                                   &size)) {
        a->size = (uint8_t)size;
        a->kind = (uint8_t)kind;
    }
}

/* Reads one attribute.  Returns 1, 0 at the end of the list, or -1 if memory
 * runs out. */
static int read_attribute(struct dwarf_abbrevs *t, struct cursor *c,
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
    if (t->num_attributes >= UINT32_MAX ||
        array_need(&t->attributes, &t->attribute_room, t->num_attributes + 1,
                   sizeof(*t->attributes)) != 0) {
        return -1;
    }
    a = &t->attributes[t->num_attributes++];
    memset(a, 0, sizeof(*a));
    a->name = (uint16_t)name;
    a->form = (uint16_t)form;
    a->size = DWARF_VARIABLE;
    use = use_of(name);
    a->unused = use == 0;
    if (form == DW_FORM_implicit_const) {
        *is_empty &= use != FOR_CODE;
        return add_constant(t, c, a) != 0 ? -1 : 1;
    }
    learn_form(t, a);
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
static uint8_t skips_of(const struct dwarf_abbrev *a)
{
    bool is_call = a->tag == DW_TAG_inlined_subroutine;

    if (a->tag == DW_TAG_label && !a->is_empty) {
        return DWARF_INSIDE;
    }
    if (a->tag != DW_TAG_subprogram && !is_call) {
        return DWARF_INSIDE | DWARF_OUTSIDE;
    }
    return (uint8_t)((is_call || a->is_empty ? DWARF_OUTSIDE : 0) |
                     (a->is_empty && !a->has_children ? DWARF_INSIDE : 0));
}

/* Lets attributes that are not used be skipped together, where entries are
 * read by the million. */
static void join_unused(struct dwarf_attribute *list, size_t n)
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
static int read_abbrev(struct dwarf_abbrevs *t, struct cursor *c)
{
    int rc;
    uint8_t children;
    unsigned bytes = 0;
    struct dwarf_abbrev *a;

    if (array_need(&t->list, &t->room, t->count + 1, sizeof(*t->list)) != 0) {
        return -1;
    }
    a = &t->list[t->count];
    a->code = c->at < c->end ? cursor_uleb(c) : 0;
    if (a->code == 0) {
        return 0;
    }
    a->tag = dwarf_code_read(c);
    children = cursor_8(c);
    if (a->tag == 0 || children > 1) {
        cursor_fail(c);
        return 0;
    }
    a->has_children = children != 0;
    a->first_attribute = (uint32_t)t->num_attributes;
    a->steps = (uint32_t)t->num_steps;
    a->is_empty = true;
    while ((rc = read_attribute(t, c, &a->is_empty)) > 0) {
        if (add_attribute(t, &t->attributes[t->num_attributes - 1], &bytes) !=
            0) {
            return -1;
        }
    }
    a->num_attributes = (uint32_t)t->num_attributes - a->first_attribute;
    a->skips = skips_of(a);
    if (rc < 0 || end_steps(t, a, bytes) != 0) {
        return -1;
    }
    if (a->skips != (DWARF_INSIDE | DWARF_OUTSIDE) && a->num_attributes > 0) {
        join_unused(t->attributes + a->first_attribute, a->num_attributes);
    }
    t->count++;
    return !c->failed;
}

static int compare(const void *left, const void *right)
{
    const struct dwarf_abbrev *a = left, *b = right;

    return a->code < b->code ? -1 : a->code > b->code;
}

/* Sorts the abbreviations after the dense ones.  Returns false if a code has
 * two meanings. */
static bool sort(struct dwarf_abbrev *list, struct dwarf_abbrev_table *t)
{
    size_t i;

    for (i = 0; i < t->count && list[i].code == i + 1; i++) {
    }
    t->num_dense = i;
    if (i < t->count) {
        qsort(list + i, t->count - i, sizeof(*list), compare);
    }
    for (; i < t->count; i++) {
        if (list[i].code <= t->num_dense ||
            (i > t->num_dense && list[i].code == list[i - 1].code)) {
            return false;
        }
    }
    return true;
}

enum dwarf_abbrevs_status
dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, struct cursor *c,
                   const struct dwarf_encoding *encoding,
                   struct dwarf_abbrev_table *t)
{
    int rc;

    t->first = abbrevs->count;
    learn_forms(abbrevs, encoding);
    while ((rc = read_abbrev(abbrevs, c)) > 0) {
    }
    t->count = abbrevs->count - t->first;
    if (rc < 0) {
        return DWARF_ABBREVS_NO_MEMORY;
    }
    return c->failed || !sort(abbrevs->list + t->first, t)
               ? DWARF_ABBREVS_DAMAGED
               : DWARF_ABBREVS_OK;
}

const struct dwarf_abbrev *
dwarf_abbrevs_search(const struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_abbrev_table *t, uint64_t code)
{
    struct dwarf_abbrev key = {.code = code};

    return t->count == t->num_dense
               ? NULL
               : bsearch(&key, abbrevs->list + t->first + t->num_dense,
                         t->count - t->num_dense, sizeof(key), compare);
}
