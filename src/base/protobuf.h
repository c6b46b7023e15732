/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the fields of a message of Protocol Buffers, one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of a message. */
struct protobuf {
    const uint8_t *at;
    const uint8_t *end;
    bool is_damaged;
};

#define PROTOBUF_UNKNOWN UINT32_MAX

struct protobuf_field {
    uint32_t number; /* PROTOBUF_UNKNOWN: neither bytes nor a varint */
    bool is_bytes;
    uint64_t value; /* of a varint; the number of bytes */
    struct protobuf bytes;
    const uint8_t *begin; /* of the whole field, which ends before the next */
};

struct protobuf protobuf_of(const void *data, size_t size);

/* Reads the next field.  Returns false at the end, or if it is damaged. */
bool protobuf_next(struct protobuf *message, struct protobuf_field *field);

/* Reads the next number of a packed field, likewise. */
bool protobuf_number(struct protobuf *packed, uint64_t *number);
