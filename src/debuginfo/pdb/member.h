/*
 * Copyright (C) the ngx_symcache authors
 *
 * Type records that are parts of classes: lists of members, members by
 * themselves, bit fields.  No sound type of a function refers to one, but the
 * reference writes those of damaged ones as its parser has read them.
 */
#ifndef DEBUGINFO_PDB_MEMBER_H
#define DEBUGINFO_PDB_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaf_bytes.h"
#include "text.h"

enum member_status {
    MEMBER_OK = 0,
    MEMBER_DAMAGED,
    MEMBER_UNKNOWN /* a list has a record of a kind that is none */
};

/* A number of any width: value has the bits of a signed one, too. */
struct member_number {
    const char *form;   /* how it is written, NULL: there is none */
    uint32_t primitive; /* an integer as large */
    uint64_t value;
};

/* Whether a record of this kind is such a part. */
bool member_is(uint32_t kind);

/* When there is none, the bytes are too short from then on. */
struct member_number member_take_number(struct bytes *bytes);

/* Writes a record with its kind to text, or only looks at it (NULL).  At
 * MEMBER_UNKNOWN, *unknown is that kind. */
enum member_status member_write(struct text *text, const uint8_t *record,
                                uint32_t size, uint32_t *unknown);

#endif
