/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "pdb/le.h"
#include "symcache/symfile_array.h"
#include "types.h"

#define HEADER 56
#define MAX_HEADER 1024

void types_free(struct types *types)
{
    free(types->places);
    memset(types, 0, sizeof(*types));
}

int types_open(struct types *types, const struct msf *msf, uint32_t stream,
               struct failure *failure)
{
    int rc;
    uint32_t run;
    const uint8_t *p;
    struct msf_buffer buffer = {NULL, 0};

    memset(types, 0, sizeof(*types));
    types->msf = msf;
    types->stream = stream;
    types->size = msf_stream_size(msf, stream);
    if (!msf_stream_exists(msf, stream)) {
        return failure_at(failure, stream, 0, "no type stream");
    }
    if (types->size == 0) {
        return 0;
    }
    rc = -1;
    p = msf_view(msf, stream, 0, types->size < HEADER ? types->size : HEADER,
                 &buffer);
    if (p != NULL && types->size >= HEADER) {
        types->next = le32(p + 4);
        types->first = le32(p + 8);
        types->end = le32(p + 12);
        if (types->next >= HEADER && types->next <= MAX_HEADER &&
            types->next <= types->size && types->first >= TYPES_FIRST &&
            types->end >= types->first) {
            rc = 0;
        }
    }
    msf_buffer_free(&buffer);
    if (rc != 0) {
        return failure_at(failure, stream, 0, "type stream header");
    }
    p = msf_run(msf, stream, 0, types->size, &run);
    types->flat = p != NULL && run == types->size ? p : NULL;
    return 0;
}

/* The two bytes of a record's length, which may lie in two pieces. */
static int load_length(const struct types *types, uint32_t place,
                       uint32_t *length)
{
    uint32_t run;
    const uint8_t *p, *q;

    if (types->size - place < 2) {
        return -1;
    }
    if (types->flat != NULL) {
        *length = le16(types->flat + place);
        return 0;
    }
    p = msf_run(types->msf, types->stream, place, 2, &run);
    if (p == NULL) {
        return -1;
    }
    if (run >= 2) {
        *length = le16(p);
        return 0;
    }
    q = msf_run(types->msf, types->stream, place + 1, 1, &run);
    if (q == NULL) {
        return -1;
    }
    *length = (uint32_t)(p[0] | q[0] << 8);
    return 0;
}

static enum types_status walk(struct types *types, size_t number)
{
    uint32_t length;

    while (types->num_places <= number) {
        if (types->is_broken) {
            return TYPES_BROKEN;
        }
        if (types->next == types->size) {
            return TYPES_MISSING;
        }
        if (load_length(types, types->next, &length) != 0 || length < 2 ||
            length > types->size - types->next - 2 ||
            symfile_array_need(&types->places, &types->room,
                               types->num_places + 1,
                               sizeof(*types->places)) != 0) {
            types->is_broken = 1;
            return TYPES_BROKEN;
        }
        types->places[types->num_places++] = types->next;
        types->next += 2 + length;
    }
    return TYPES_OK;
}

enum types_status types_find(struct types *types, uint32_t index,
                             struct arena *arena, struct types_record *record)
{
    uint32_t place, length, run;
    uint8_t *copy;
    enum types_status status;

    if (index < types->first || index > types->end || types->first == 0) {
        return TYPES_MISSING;
    }
    status = walk(types, index - types->first);
    if (status != TYPES_OK) {
        return status;
    }
    place = types->places[index - types->first];
    if (load_length(types, place, &length) != 0) {
        return TYPES_BROKEN;
    }
    place += 2;
    record->size = length;
    if (types->flat != NULL) {
        record->data = types->flat + place;
        return TYPES_OK;
    }
    record->data = msf_run(types->msf, types->stream, place, length, &run);
    if (record->data != NULL && run < length) {
        copy = arena_take(arena, length);
        if (copy == NULL ||
            msf_copy(types->msf, types->stream, place, length, copy) != 0) {
            return TYPES_BROKEN;
        }
        record->data = copy;
    }
    return record->data == NULL ? TYPES_BROKEN : TYPES_OK;
}
