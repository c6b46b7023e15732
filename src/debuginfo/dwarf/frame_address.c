/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_address.h"

uint64_t frame_address_mask(uint64_t address, uint8_t size)
{
    return size >= 8 ? address
                     : address & (((uint64_t)1 << size * 8) - 1);
}

bool frame_address_is_encoding(uint8_t encoding)
{
    uint8_t form = encoding & PE_FORM;

    return encoding == PE_OMIT ||
           ((form <= PE_U64 || (form >= PE_SLEB && form <= PE_S64)) &&
            (encoding & PE_BASE) <= PE_LAST_BASE);
}

uint64_t frame_address_read_form(struct cursor *c, uint8_t form,
                                 uint8_t address_size)
{
    switch (form) {
    case PE_ABSOLUTE:
        if (address_size != 1 && address_size != 2 && address_size != 4 &&
            address_size != 8) {
            cursor_fail(c);
            return 0;
        }
        return cursor_number(c, address_size);
    case PE_ULEB:
        return cursor_uleb(c);
    case PE_U16:
        return cursor_16(c);
    case PE_U32:
        return cursor_32(c);
    case PE_U64:
    case PE_S64:
        return cursor_64(c);
    case PE_SLEB:
        return (uint64_t)cursor_sleb(c);
    case PE_S16:
        return (uint64_t)(int64_t)(int16_t)cursor_16(c);
    case PE_S32:
        return (uint64_t)(int64_t)(int32_t)cursor_32(c);
    default:
        cursor_fail(c);
        return 0;
    }
}

uint64_t frame_address_read(const struct dwarf_frames *f, struct cursor *c,
                            uint8_t encoding, uint8_t address_size)
{
    uint64_t base = 0;

    if (encoding == PE_OMIT ||
        ((encoding & PE_BASE) != 0 && (encoding & PE_BASE) != PE_RELATIVE)) {
        cursor_fail(c);
        return 0;
    }
    if ((encoding & PE_BASE) == PE_RELATIVE) {
        base = f->found.address + (uint64_t)(c->at - f->found.section.data);
    }
    base += frame_address_read_form(c, encoding & PE_FORM, address_size);
    return frame_address_mask(base, address_size);
}
