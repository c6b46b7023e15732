/*
 * Copyright (C) the ngx_symcache authors
 */
#include "value.h"

uint16_t dwarf_code_read(struct cursor *c)
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

int dwarf_form_size(const struct dwarf_encoding *encoding, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return encoding->address_size;
    case DW_FORM_ref_addr:
        return encoding->version == 2 ? encoding->address_size
                                      : encoding->offset_size;
    case DW_FORM_sec_offset:
    case DW_FORM_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return encoding->offset_size;
    default:
        return -1;
    }
}

void dwarf_value_skip(struct cursor *c, const struct dwarf_encoding *encoding,
                      unsigned form)
{
    int size;
    size_t length;

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
        size = dwarf_form_size(encoding, form);
        if (size < 0) {
            cursor_fail(c);
        } else {
            cursor_skip(c, (uint64_t)size);
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

static struct dwarf_value constant_value(int64_t number)
{
    struct dwarf_value v = {number < 0 ? DWARF_OTHER : DWARF_UNSIGNED,
                            (uint64_t)number, NULL};

    return v;
}

static struct dwarf_value number_value(enum dwarf_value_kind kind,
                                       uint64_t number)
{
    struct dwarf_value v = {kind, number, NULL};

    return v;
}

static enum dwarf_value_kind kind_of(const struct dwarf_encoding *encoding,
                                     unsigned attribute, unsigned form)
{
    switch (form) {
    case DW_FORM_addr:
        return DWARF_ADDRESS;
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
        return DWARF_ADDRESS_INDEX;
    case DW_FORM_data1:
    case DW_FORM_data2:
        return DWARF_UNSIGNED;
    case DW_FORM_data4:
    case DW_FORM_data8:
        return (form == DW_FORM_data4 ? 4 : 8) == encoding->offset_size &&
                       may_be_offset(attribute, encoding->version)
                   ? DWARF_OFFSET
                   : DWARF_UNSIGNED;
    case DW_FORM_sec_offset:
        return DWARF_OFFSET;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        return DWARF_UNIT_REF;
    case DW_FORM_ref_addr:
        return DWARF_INFO_REF;
    case DW_FORM_strp:
        return DWARF_STR_REF;
    case DW_FORM_line_strp:
        return DWARF_LINE_STR_REF;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        return DWARF_STR_INDEX;
    default:
        return DWARF_OTHER;
    }
}

struct dwarf_value dwarf_value_read(struct cursor *c,
                                    const struct dwarf_encoding *encoding,
                                    unsigned attribute, unsigned form,
                                    int64_t constant)
{
    int size;
    struct dwarf_value v = {DWARF_OTHER, 0, NULL};

    while (form == DW_FORM_indirect && !c->failed) {
        form = dwarf_code_read(c);
        if (form == DW_FORM_implicit_const) {
            cursor_fail(c); /* its constant would be in the abbreviation */
        }
    }
    switch (form) {
    case DW_FORM_udata:
        return number_value(DWARF_UNSIGNED, cursor_uleb(c));
    case DW_FORM_sdata:
        return constant_value(cursor_sleb(c));
    case DW_FORM_implicit_const:
        return constant_value(constant);
    case DW_FORM_ref_udata:
        return number_value(DWARF_UNIT_REF, cursor_uleb(c));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        return number_value(DWARF_STR_INDEX, cursor_uleb(c));
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        return number_value(DWARF_ADDRESS_INDEX, cursor_uleb(c));
    case DW_FORM_rnglistx:
        return number_value(DWARF_RANGES_INDEX, cursor_uleb(c));
    case DW_FORM_loclistx:
        (void)cursor_uleb(c);
        return v;
    case DW_FORM_string:
        v.kind = DWARF_TEXT;
        v.text = cursor_string(c, &(size_t){0});
        v.number = c->failed ? 0 : (size_t)((const char *)c->at - v.text) - 1;
        return v;
    default:
        break;
    }
    size = dwarf_form_size(encoding, form);
    v.kind = kind_of(encoding, attribute, form);
    if (size < 0 || v.kind == DWARF_OTHER) {
        dwarf_value_skip(c, encoding, form);
        return v;
    }
    v.number = cursor_number(c, (unsigned)size);
    return v;
}
