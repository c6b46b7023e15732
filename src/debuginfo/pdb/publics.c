/*
 * Copyright (C) the ngx_symcache authors
 */

#include "publics.h"

#include <string.h>

#include "base/le.h"

#define S_PUB32_ST 0x1009
#define S_PUB32 0x110E
#define FIXED 12 /* kind, flags, offset, section */

#define AHEAD 8 /* symbols read ahead, while memory is prefetched for them */

struct publics_symbol {
    uint32_t address;
    struct symc_name name;
};

/* Symbols on their way to the writer. */
struct publics {
    const struct address_map *addresses;
    struct symc_writer *writer;
    struct publics_symbol queue[AHEAD];
    size_t first;
    size_t count;
};

static int deliver_first(struct publics *publics)
{
    struct publics_symbol *symbol;

    symbol = &publics->queue[publics->first];
    publics->first = (publics->first + 1) % AHEAD;
    publics->count--;
    return symc_writer_symbol(publics->writer, symbol->address, 0,
                              &symbol->name);
}

static int deliver_all(struct publics *publics)
{
    while (publics->count > 0) {
        if (deliver_first(publics) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_symbol(struct publics *publics, uint32_t address,
                      const char *name, uint32_t name_size)
{
    struct publics_symbol *symbol;

    if (publics->count == AHEAD && deliver_first(publics) != 0) {
        return -1;
    }
    symbol = &publics->queue[(publics->first + publics->count) % AHEAD];
    symbol->address = address;
    symbol->name.data = name;
    symbol->name.size = name_size;
    publics->count++;
    symc_writer_expect(publics->writer, &symbol->name);
    return 0;
}

/* Reads one record, which begins with its kind. */
static int take_record(struct publics *publics, const uint8_t *p,
                       uint32_t size)
{
    uint32_t kind, section, address, name_size;
    const char *name;
    const uint8_t *end;

    kind = le16(p);
    if ((kind != S_PUB32 && kind != S_PUB32_ST) || size < FIXED) {
        return 0;
    }
    section = le16(p + 10);
    if (!address_is_code(publics->addresses, section) ||
        !address_find(publics->addresses, section, le32(p + 6), &address)) {
        return 0;
    }
    name = (const char *)p + FIXED;
    if (kind == S_PUB32_ST) {
        name_size = size > FIXED ? p[FIXED] : UINT32_MAX;
        name++;
        if (name_size > size - FIXED - 1) {
            return 0;
        }
    } else {
        end = memchr(p + FIXED, 0, size - FIXED);
        if (end == NULL) {
            return 0;
        }
        name_size = (uint32_t)(end - p - FIXED);
    }
    return add_symbol(publics, address, name, name_size);
}

/* Reads the records that are completely inside one piece.  Returns how many
 * bytes they have, or -1 if memory runs out. */
static int64_t take_records(struct publics *publics, const uint8_t *p,
                            uint32_t size, int *is_end)
{
    uint32_t at, length;

    for (at = 0; size - at >= 2; at += 2 + length) {
        length = le16(p + at);
        if (length < 2) {
            *is_end = 1;
            break;
        }
        if (length > size - at - 2) {
            break;
        }
        if (take_record(publics, p + at + 2, length) != 0) {
            return -1;
        }
    }
    /* the queue has names that point into the piece */
    return deliver_all(publics) != 0 ? -1 : (int64_t)at;
}

int publics_read(const struct msf *msf, uint32_t stream,
                 const struct address_map *addresses,
                 struct symc_writer *writer, struct failure *failure)
{
    int is_end;
    int64_t done;
    uint32_t at, run, size, part;
    const uint8_t *p;
    struct publics publics;
    struct msf_buffer buffer = {NULL, 0};

    memset(&publics, 0, sizeof(publics));
    publics.addresses = addresses;
    publics.writer = writer;
    size = msf_stream_size(msf, stream);
    is_end = 0;
    for (at = 0; at < size && !is_end; at += (uint32_t)done) {
        p = msf_run(msf, stream, at, size - at, &run);
        if (p == NULL) {
            msf_buffer_free(&buffer);
            return failure_at(failure, stream, at, "symbol records");
        }
        done = take_records(&publics, p, run, &is_end);
        if (done == 0 && !is_end && run < size - at) {
            /* a record that continues in the next piece */
            p = msf_view(msf, stream, at, 2, &buffer);
            part = p == NULL ? 0 : 2 + (uint32_t)le16(p);
            p = msf_view(msf, stream, at, part, &buffer);
            if (p != NULL && part > 0) {
                done = take_records(&publics, p, part, &is_end);
            }
        }
        if (done < 0) {
            msf_buffer_free(&buffer);
            return failure_memory(failure);
        }
        is_end |= done == 0;
    }
    msf_buffer_free(&buffer);
    return 0;
}
