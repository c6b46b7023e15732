/*
 * Copyright (C) the ngx_symcache authors
 */
#include "heap.h"

#include <string.h>

#define GUID_SIZE 16

/* Returns the number of bytes of a compressed number, more than one, or 0. */
static unsigned heap_read_number(const struct blob_cursor *cursor,
                                 uint32_t *number)
{
    const uint8_t *p = cursor->at;
    size_t left = (size_t)(cursor->end - p);

    if (left >= 2 && p[0] >= 0x80 && p[0] < 0xC0) {
        *number = (uint32_t)(p[0] & 0x3F) << 8 | p[1];
        return 2;
    }
    if (left >= 4 && p[0] >= 0xC0 && p[0] < 0xE0) {
        *number = (uint32_t)(p[0] & 0x1F) << 24 | (uint32_t)p[1] << 16 |
                  (uint32_t)p[2] << 8 | p[3];
        return 4;
    }
    return 0;
}

bool blob_unsigned_long(struct blob_cursor *cursor, uint32_t *number)
{
    unsigned n = heap_read_number(cursor, number);

    cursor->at += n;
    return n > 0;
}

bool blob_signed_long(struct blob_cursor *cursor, int32_t *number)
{
    uint32_t raw;
    unsigned n = heap_read_number(cursor, &raw);

    if (n == 0) {
        return false;
    }
    cursor->at += n;
    *number = (int32_t)(raw >> 1);
    if ((raw & 1) != 0) {
        *number -= n == 2 ? 1 << 13 : 1 << 28;
    }
    return true;
}

bool heap_blob(const struct metadata_root *root, uint32_t offset,
               struct blob_cursor *blob)
{
    uint32_t size;
    const struct metadata_span *heap = &root->streams[STREAM_BLOB];

    if (heap->data == NULL || offset > heap->size) {
        return false;
    }
    blob->at = heap->data + offset;
    blob->end = heap->data + heap->size;
    if (!blob_unsigned(blob, &size) ||
        size > (size_t)(blob->end - blob->at)) {
        return false;
    }
    blob->end = blob->at + size;
    return true;
}

const uint8_t *heap_guid(const struct metadata_root *root, uint32_t number)
{
    const struct metadata_span *heap = &root->streams[STREAM_GUID];

    return number == 0 || number > heap->size / GUID_SIZE
               ? NULL
               : heap->data + (size_t)(number - 1) * GUID_SIZE;
}

uint32_t heap_guid_find(const struct metadata_root *root,
                        const uint8_t guid[16])
{
    size_t i;
    const struct metadata_span *heap = &root->streams[STREAM_GUID];

    for (i = 0; i < heap->size / GUID_SIZE; i++) {
        if (memcmp(heap->data + i * GUID_SIZE, guid, GUID_SIZE) == 0) {
            return (uint32_t)i + 1;
        }
    }
    return 0;
}
