/*
 * Copyright (C) the ngx_symcache authors
 */
#include "wire.h"

#include <pb_decode.h>
#include <pb_encode.h>

#define HEAD_MAX 20 /* two varints */

struct wire wire_of(const void *data, size_t size)
{
    return (struct wire){data, (const uint8_t *)data + size, false};
}

bool wire_next(struct wire *wire, struct wire_field *f)
{
    size_t size = (size_t)(wire->end - wire->at);
    pb_istream_t s = pb_istream_from_buffer(wire->at, size);
    pb_wire_type_t type;
    bool is_end, is_read;

    if (wire->is_damaged || size == 0) {
        return false;
    }
    f->begin = wire->at;
    is_read = pb_decode_tag(&s, &type, &f->number, &is_end);
    f->is_bytes = is_read && type == PB_WT_STRING;
    f->value = 0;
    if (is_read && (type == PB_WT_VARINT || type == PB_WT_STRING)) {
        is_read = pb_decode_varint(&s, &f->value);
    } else if (is_read) {
        is_read = pb_skip_field(&s, type);
    }
    if (is_read && f->is_bytes && f->value <= s.bytes_left) {
        f->bytes = wire_of(wire->end - s.bytes_left, (size_t)f->value);
        is_read = pb_read(&s, NULL, (size_t)f->value);
    } else if (f->is_bytes) {
        is_read = false;
    }
    wire->is_damaged = !is_read;
    wire->at = wire->end - s.bytes_left;
    return is_read;
}

bool wire_number(struct wire *wire, uint64_t *number)
{
    size_t size = (size_t)(wire->end - wire->at);
    pb_istream_t s = pb_istream_from_buffer(wire->at, size);

    if (wire->is_damaged || size == 0) {
        return false;
    }
    wire->is_damaged = !pb_decode_varint(&s, number);
    wire->at = wire->end - s.bytes_left;
    return !wire->is_damaged;
}

struct symc_string wire_text(const struct wire *wire)
{
    return (struct symc_string){(const char *)wire->at,
                                (size_t)(wire->end - wire->at)};
}

void wire_put_number(struct profile_output *out, uint32_t field,
                     uint64_t number)
{
    pb_byte_t bytes[HEAD_MAX];
    pb_ostream_t s = pb_ostream_from_buffer(bytes, sizeof(bytes));

    pb_encode_tag(&s, PB_WT_VARINT, field);
    pb_encode_varint(&s, number);
    profile_put(out, bytes, s.bytes_written);
}

size_t wire_size(uint32_t field, uint64_t number)
{
    pb_ostream_t s = PB_OSTREAM_SIZING;

    pb_encode_tag(&s, PB_WT_VARINT, field);
    pb_encode_varint(&s, number);
    return s.bytes_written;
}

void wire_put_head(struct profile_output *out, uint32_t field, uint64_t size)
{
    pb_byte_t bytes[HEAD_MAX];
    pb_ostream_t s = pb_ostream_from_buffer(bytes, sizeof(bytes));

    pb_encode_tag(&s, PB_WT_STRING, field);
    pb_encode_varint(&s, size);
    profile_put(out, bytes, s.bytes_written);
}

void wire_put_bytes(struct profile_output *out, uint32_t field,
                    const void *data, size_t size)
{
    wire_put_head(out, field, size);
    profile_put(out, data, size);
}
