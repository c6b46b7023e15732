/*
 * Copyright (C) the ngx_symcache authors
 *
 * The heaps of blobs and GUIDs, and the numbers in blobs (ECMA-335 II.24.2.4
 * and II.23.2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "root.h"

/* Where a blob is read. */
struct blob_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

/* Read a compressed number and return true, or false if it is cut off or has
 * no valid form; then the cursor has not moved.  A number of more bytes than
 * it needs is valid. */
static inline bool blob_unsigned(struct blob_cursor *cursor, uint32_t *number);
static inline bool blob_signed(struct blob_cursor *cursor, int32_t *number);

/* The same for numbers of more than one byte, of which there are few. */
bool blob_unsigned_long(struct blob_cursor *cursor, uint32_t *number);
bool blob_signed_long(struct blob_cursor *cursor, int32_t *number);

/* Gets the blob at an offset of the heap; returns false if it is not within
 * the heap. */
bool heap_blob(const struct metadata_root *root, uint32_t offset,
               struct blob_cursor *blob);

/* Returns the 16 bytes of a GUID as they are stored, or NULL if there is none
 * with this number, which counts from 1. */
const uint8_t *heap_guid(const struct metadata_root *root, uint32_t number);

/* Returns the number of the first GUID with these bytes, or 0. */
uint32_t heap_guid_find(const struct metadata_root *root,
                        const uint8_t guid[16]);

static inline bool blob_unsigned(struct blob_cursor *cursor, uint32_t *number)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80) {
        *number = *cursor->at++;
        return true;
    }
    return blob_unsigned_long(cursor, number);
}

static inline bool blob_signed(struct blob_cursor *cursor, int32_t *number)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80) {
        *number = (*cursor->at >> 1) - ((*cursor->at & 1) != 0 ? 1 << 6 : 0);
        cursor->at++;
        return true;
    }
    return blob_signed_long(cursor, number);
}
