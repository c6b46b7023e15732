/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fields of a message of Protocol Buffers, one after the other, and what is
 * written of them.
 */
#ifndef REPORTS_PROFILE_WIRE_H
#define REPORTS_PROFILE_WIRE_H

#include "formats.h"

struct wire {
    const uint8_t *at;
    const uint8_t *end;
    bool is_damaged;
};

struct wire_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value; /* of a varint */
    struct wire bytes;
    const uint8_t *begin; /* of the whole field; its end is where the wire is */
};

struct wire wire_of(const void *data, size_t size);

/* Reads the next field.  Returns false at the end, or if it is damaged. */
bool wire_next(struct wire *wire, struct wire_field *field);

/* Reads the next one of a packed field. */
bool wire_number(struct wire *wire, uint64_t *number);

struct symc_string wire_text(const struct wire *wire);

void wire_put_number(struct profile_output *out, uint32_t field,
                     uint64_t number);
void wire_put_bytes(struct profile_output *out, uint32_t field,
                    const void *data, size_t size);

/* Size of what wire_put_number() writes. */
size_t wire_size(uint32_t field, uint64_t number);

/* The tag and length before so many bytes. */
void wire_put_head(struct profile_output *out, uint32_t field, uint64_t size);

#endif
