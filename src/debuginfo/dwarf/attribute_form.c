/*
 * Copyright (C) the ngx_symcache authors
 */
#include "attribute_form.h"

uint16_t dwarf_long_code_read(struct cursor *c)
{
    uint8_t byte;
    unsigned i;
    uint32_t value = 0;

    for (i = 0; i < 3; i++) {
        byte = cursor_8(c);
        value |= (uint32_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            break;
        }
    }
    if (i == 3 || value > UINT16_MAX) {
        cursor_fail(c);
        return 0;
    }
    return (uint16_t)value;
}

/* Sizes that depend on the encoding, or on the value. */
enum { SIZE_ADDRESS = 100, SIZE_OFFSET, SIZE_REF_ADDR, SIZE_VARIABLE };

/* DW_FORM_GNU_ref_alt, which has no equal in DWARF 5.  No file has this
 * number. */
#define FORM_REF_SUP (DW_FORM_addrx4 + 1)

/* The meaning of a form: a kind of value, and its size in bytes.  A form
 * without a name here is unknown. */
struct form {
    bool is_known;
    uint8_t kind;
    uint8_t size;
};

static const struct form forms[] = {
    [DW_FORM_addr] = {true, DWARF_ADDRESS, SIZE_ADDRESS},
    [DW_FORM_block2] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_block4] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_data2] = {true, DWARF_UNSIGNED, 2},
    [DW_FORM_data4] = {true, DWARF_UNSIGNED, 4},
    [DW_FORM_data8] = {true, DWARF_UNSIGNED, 8},
    [DW_FORM_string] = {true, DWARF_TEXT, SIZE_VARIABLE},
    [DW_FORM_block] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_block1] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_data1] = {true, DWARF_UNSIGNED, 1},
    [DW_FORM_flag] = {true, DWARF_OTHER, 1},
    [DW_FORM_sdata] = {true, DWARF_UNSIGNED, SIZE_VARIABLE},
    [DW_FORM_strp] = {true, DWARF_STR_REF, SIZE_OFFSET},
    [DW_FORM_udata] = {true, DWARF_UNSIGNED, SIZE_VARIABLE},
    [DW_FORM_ref_addr] = {true, DWARF_INFO_REF, SIZE_REF_ADDR},
    [DW_FORM_ref1] = {true, DWARF_UNIT_REF, 1},
    [DW_FORM_ref2] = {true, DWARF_UNIT_REF, 2},
    [DW_FORM_ref4] = {true, DWARF_UNIT_REF, 4},
    [DW_FORM_ref8] = {true, DWARF_UNIT_REF, 8},
    [DW_FORM_ref_udata] = {true, DWARF_UNIT_REF, SIZE_VARIABLE},
    [DW_FORM_indirect] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_sec_offset] = {true, DWARF_OFFSET, SIZE_OFFSET},
    [DW_FORM_exprloc] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_flag_present] = {true, DWARF_OTHER, 0},
    [DW_FORM_strx] = {true, DWARF_STR_INDEX, SIZE_VARIABLE},
    [DW_FORM_addrx] = {true, DWARF_ADDRESS_INDEX, SIZE_VARIABLE},
    [DW_FORM_ref_sup4] = {true, DWARF_SUP_REF, 4},
    [DW_FORM_strp_sup] = {true, DWARF_SUP_STR_REF, SIZE_OFFSET},
    [DW_FORM_data16] = {true, DWARF_OTHER, 16},
    [DW_FORM_line_strp] = {true, DWARF_LINE_STR_REF, SIZE_OFFSET},
    [DW_FORM_ref_sig8] = {true, DWARF_OTHER, 8},
    [DW_FORM_implicit_const] = {true, DWARF_UNSIGNED, 0},
    [DW_FORM_loclistx] = {true, DWARF_OTHER, SIZE_VARIABLE},
    [DW_FORM_rnglistx] = {true, DWARF_RANGES_INDEX, SIZE_VARIABLE},
    [DW_FORM_ref_sup8] = {true, DWARF_SUP_REF, 8},
    [DW_FORM_strx1] = {true, DWARF_STR_INDEX, 1},
    [DW_FORM_strx2] = {true, DWARF_STR_INDEX, 2},
    [DW_FORM_strx3] = {true, DWARF_STR_INDEX, 3},
    [DW_FORM_strx4] = {true, DWARF_STR_INDEX, 4},
    [DW_FORM_addrx1] = {true, DWARF_ADDRESS_INDEX, 1},
    [DW_FORM_addrx2] = {true, DWARF_ADDRESS_INDEX, 2},
    [DW_FORM_addrx3] = {true, DWARF_ADDRESS_INDEX, 3},
    [DW_FORM_addrx4] = {true, DWARF_ADDRESS_INDEX, 4},
    [FORM_REF_SUP] = {true, DWARF_SUP_REF, SIZE_OFFSET},
};

/* Forms of GNU tools have the meaning of one of DWARF 5. */
static unsigned standard_form(unsigned form)
{
    if (form < FORM_REF_SUP) {
        return form;
    }
    switch (form) {
    case DW_FORM_GNU_addr_index:
        return DW_FORM_addrx;
    case DW_FORM_GNU_str_index:
        return DW_FORM_strx;
    case DW_FORM_GNU_ref_alt:
        return FORM_REF_SUP;
    case DW_FORM_GNU_strp_alt:
        return DW_FORM_strp_sup;
    default:
        return 0;
    }
}

void dwarf_value_skip(struct cursor *c, const struct dwarf_encoding *encoding,
                      unsigned form)
{
    unsigned size;
    size_t length;
    enum dwarf_value_kind kind;

    while (form == DW_FORM_indirect && !c->failed) {
        form = dwarf_code_read(c);
    }
    switch (form) {
    case DW_FORM_block1:
        cursor_skip(c, cursor_8(c));
        return;
    case DW_FORM_block2:
        cursor_skip(c, cursor_16(c));
        return;
    case DW_FORM_block4:
        cursor_skip(c, cursor_32(c));
        return;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        cursor_skip(c, cursor_uleb(c));
        return;
    case DW_FORM_string:
        (void)cursor_string(c, &length);
        return;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
        cursor_skip_leb(c);
        return;
    default:
        if (dwarf_form_is_fixed(encoding, 0, form, &kind, &size)) {
            cursor_skip(c, size);
        } else {
            cursor_fail(c);
        }
    }
}

/* In these attributes, a constant of the size of an offset is an offset.
 * Before DWARF 4 offsets had no form of their own. */
static bool may_be_offset(unsigned attribute, unsigned version)
{
    switch (attribute) {
    case DW_AT_location:
    case DW_AT_stmt_list:
    case DW_AT_string_length:
    case DW_AT_return_addr:
    case DW_AT_start_scope:
    case DW_AT_frame_base:
    case DW_AT_macro_info:
    case DW_AT_macros:
    case DW_AT_segment:
    case DW_AT_static_link:
    case DW_AT_use_location:
    case DW_AT_vtable_elem_location:
    case DW_AT_ranges:
        return true;
    case DW_AT_data_member_location:
        return version < 4;
    default:
        return false;
    }
}

bool dwarf_form_is_fixed(const struct dwarf_encoding *encoding,
                         unsigned attribute, unsigned form,
                         enum dwarf_value_kind *kind, unsigned *size)
{
    const struct form *f = &forms[standard_form(form)];

    *kind = (enum dwarf_value_kind)f->kind;
    *size = f->size;
    switch (f->size) {
    case SIZE_ADDRESS:
        *size = encoding->address_size;
        break;
    case SIZE_OFFSET:
        *size = encoding->offset_size;
        break;
    case SIZE_REF_ADDR:
        *size = encoding->version == 2 ? encoding->address_size
                                       : encoding->offset_size;
        break;
    case SIZE_VARIABLE:
        return false;
    default:
        if ((form == DW_FORM_data4 || form == DW_FORM_data8) &&
            f->size == encoding->offset_size &&
            may_be_offset(attribute, encoding->version)) {
            *kind = DWARF_OFFSET;
        }
    }
    return f->is_known;
}

static struct dwarf_value constant_value(int64_t number)
{
    struct dwarf_value value = {number < 0 ? DWARF_OTHER : DWARF_UNSIGNED,
                                (uint64_t)number, NULL};

    return value;
}

/* Reads a value of a size that is not fixed. */
static struct dwarf_value read_variable(struct cursor *c,
                                        const struct dwarf_encoding *encoding,
                                        unsigned form)
{
    size_t size;
    struct dwarf_value value = {(enum dwarf_value_kind)forms[form].kind, 0,
                                NULL};

    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
        value.number = cursor_uleb(c);
        return value;
    case DW_FORM_sdata:
        return constant_value(cursor_sleb(c));
    case DW_FORM_string:
        value.text = cursor_string(c, &size);
        value.number = size;
        return value;
    default:
        dwarf_value_skip(c, encoding, form);
        return value;
    }
}

struct dwarf_value dwarf_value_read(struct cursor *c,
                                    const struct dwarf_encoding *encoding,
                                    unsigned attribute, unsigned form,
                                    int64_t constant)
{
    unsigned size;
    struct dwarf_value value = {DWARF_OTHER, 0, NULL};

    if (form == DW_FORM_implicit_const) {
        return constant_value(constant);
    }
    while (form == DW_FORM_indirect && !c->failed) {
        form = dwarf_code_read(c);
        if (form == DW_FORM_implicit_const) {
            cursor_fail(c); /* its constant would be in the abbreviation */
        }
    }
    form = standard_form(form);
    if (!forms[form].is_known) {
        cursor_fail(c);
        return value;
    }
    if (!dwarf_form_is_fixed(encoding, attribute, form, &value.kind, &size)) {
        return read_variable(c, encoding, form);
    }
    if (value.kind == DWARF_OTHER) {
        cursor_skip(c, size);
    } else {
        value.number = cursor_number(c, size);
    }
    return value;
}
