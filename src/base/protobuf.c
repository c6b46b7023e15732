/*
 * Copyright (C) the ngx_symcache authors
 */
#include "protobuf.h"

#include <pb_decode.h>

struct protobuf protobuf_of(const void *data, size_t size)
{
    return (struct protobuf){data, (const uint8_t *)data + size, false};
}

bool protobuf_next(struct protobuf *message, struct protobuf_field *f)
{
    size_t size = (size_t)(message->end - message->at);
    pb_istream_t s = pb_istream_from_buffer(message->at, size);
    pb_wire_type_t type;
    bool is_end, is_read;

    if (message->is_damaged || size == 0) {
        return false;
    }
    f->begin = message->at;
    is_read = pb_decode_tag(&s, &type, &f->number, &is_end);
    f->is_bytes = is_read && type == PB_WT_STRING;
    f->value = 0;
    if (is_read && (type == PB_WT_VARINT || f->is_bytes)) {
        is_read = pb_decode_varint(&s, &f->value);
    } else if (is_read) {
        is_read = pb_skip_field(&s, type);
        f->number = f->number != 0 ? PROTOBUF_UNKNOWN : 0;
    }
    f->bytes = protobuf_of(message->end - s.bytes_left, 0);
    if (is_read && f->is_bytes) {
        is_read = f->value <= s.bytes_left &&
                  pb_read(&s, NULL, (size_t)f->value);
        f->bytes.end += is_read ? f->value : 0;
    }
    message->is_damaged = !is_read;
    message->at = message->end - s.bytes_left;
    return is_read;
}

bool protobuf_number(struct protobuf *packed, uint64_t *number)
{
    size_t size = (size_t)(packed->end - packed->at);
    pb_istream_t s = pb_istream_from_buffer(packed->at, size);

    if (packed->is_damaged || size == 0) {
        return false;
    }
    packed->is_damaged = !pb_decode_varint(&s, number);
    packed->at = packed->end - s.bytes_left;
    return !packed->is_damaged;
}
