/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes type records that are parts of classes: lists of members, single
 * members, and bit fields.  In a valid PDB the type of a function never refers
 * to one.  In a damaged one it may, and then the reference writes the debug
 * output of its parser into the name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "leaf_bytes.h"
#include "text_buffer.h"

enum member_status {
    MEMBER_OK = 0,
    MEMBER_DAMAGED,
    MEMBER_UNKNOWN /* a list has a record of an unknown kind */
};

/* A number of any width.  If it is signed, value has its bits. */
struct member_number {
    const char *form;   /* how to write it; NULL if there is no number */
    uint32_t primitive; /* an integer type of the same size */
    uint64_t value;
};

/* Is a record of this kind a part of a class? */
bool member_is(uint32_t kind);

/* Reads a number.  If there is none, sets is_short in bytes. */
struct member_number member_take_number(struct bytes *bytes);

/* Writes a record, which begins with its kind, to text, or only checks it if
 * text is NULL.  With MEMBER_UNKNOWN, *unknown is the unknown kind. */
enum member_status member_write(struct text *text, const uint8_t *record,
                                uint32_t size, uint32_t *unknown);
