/*
 * Copyright (C) the ngx_symcache authors
 *
 * How call frame information stores addresses.
 */
#pragma once

#include "cursor.h"
#include "frames.h"

/* DW_EH_PE, how addresses are stored: form, base, and a flag. */
enum {
    PE_ABSOLUTE = 0x00,
    PE_ULEB = 0x01,
    PE_U16 = 0x02,
    PE_U32 = 0x03,
    PE_U64 = 0x04,
    PE_SLEB = 0x09,
    PE_S16 = 0x0a,
    PE_S32 = 0x0b,
    PE_S64 = 0x0c,
    PE_FORM = 0x0f,
    PE_RELATIVE = 0x10, /* to where it is stored */
    PE_BASE = 0x70,
    PE_LAST_BASE = 0x50,
    PE_OMIT = 0xff
};

/* Keeps so many bytes of an address. */
uint64_t frame_address_mask(uint64_t address, uint8_t size);

/* Is it an encoding that there is? */
bool frame_address_is_encoding(uint8_t encoding);

/* Reads a number in the form of an encoding. */
uint64_t frame_address_read_form(struct cursor *c, uint8_t form,
                                 uint8_t address_size);

/* Reads an address.  Only the section's own address is known as a base. */
uint64_t frame_address_read(const struct dwarf_frames *f, struct cursor *c,
                            uint8_t encoding, uint8_t address_size);
