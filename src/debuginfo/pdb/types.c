/*
 * Copyright (C) the ngx_symcache authors
 */

#include "types.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/array.h"
#include "base/prefetch.h"

#define HEADER 56
#define MAX_HEADER 1024
#define STEP 8 /* the reference keeps the offset of every eighth record */
#define LONG_RUN 262144 /* bytes; longer pieces are read in parts */

struct types_damage {
    uint32_t number; /* of the record, which is not counted */
    uint32_t place;
};

void types_free(struct types *types)
{
    free(types->places);
    free(types->damages);
    memset(types, 0, sizeof(*types));
}

static void find_pieces(struct types *types)
{
    unsigned i;
    uint32_t at = 0;
    struct types_piece *piece;

    for (i = 0; i < TYPES_PIECES && at < types->size; i++) {
        piece = &types->pieces[i];
        piece->at = at;
        piece->data = msf_run(types->msf, types->stream, at, types->size - at,
                              &piece->size);
        if (piece->data == NULL) {
            piece->size = 0; /* outside of the file */
            break;
        }
        at += piece->size;
    }
}

int types_open(struct types *types, const struct msf *msf, uint32_t stream,
               struct failure *failure)
{
    int rc;
    const uint8_t *p;
    struct msf_buffer buffer = {NULL, 0};

    memset(types, 0, sizeof(*types));
    types->known = STEP;
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
    find_pieces(types);
    return 0;
}

/* Returns the bytes at a place if it is in this piece, and how many they are,
 * or NULL. */
static inline const uint8_t *in_piece(const struct types_piece *piece,
                                      uint32_t place, uint32_t *have)
{
    uint32_t skip = place - piece->at; /* large if it is before the piece */

    if (skip >= piece->size) {
        return NULL;
    }
    *have = piece->size - skip;
    return piece->data + skip;
}

/* As in_piece(), of those at the beginning. */
static inline const uint8_t *in_pieces(const struct types *types,
                                       uint32_t place, uint32_t *have)
{
    unsigned i;
    const uint8_t *p = NULL;

    for (i = 0; i < TYPES_PIECES && p == NULL; i++) {
        p = in_piece(&types->pieces[i], place, have);
    }
    return p;
}

/* Returns the bytes at a place and how many are contiguous there.  If these
 * are less than 2, returns NULL or what there is. */
static const uint8_t *peek_record(struct types *types, uint32_t place,
                                  uint32_t *have)
{
    const uint8_t *p = in_pieces(types, place, have);

    if (p == NULL || *have < 2) {
        p = in_piece(&types->last, place, have);
    }
    if (p != NULL && *have >= 2) {
        return p;
    }
    p = msf_run(types->msf, types->stream, place, LONG_RUN, have);
    types->last.data = p;
    types->last.at = place;
    types->last.size = p == NULL ? 0 : *have;
    return p;
}

/* Reads the two bytes of a record's length, which may be in two pieces. */
static int load_length(struct types *types, uint32_t place, uint32_t *length)
{
    uint32_t have;
    uint8_t bytes[2];
    const uint8_t *p;

    if (types->size - place < 2) {
        return -1;
    }
    p = peek_record(types, place, &have);
    if (p == NULL) {
        return -1;
    }
    if (have < 2) {
        if (msf_copy(types->msf, types->stream, place, 2, bytes) != 0) {
            return -1;
        }
        p = bytes;
    }
    *length = le16(p);
    return 0;
}

/* Allocates room for all places at once: pages that are not touched cost
 * nothing.  A record has at least four bytes. */
static int make_room(struct types *types)
{
    size_t n;

    n = types->size / 4 + 1;
    types->places = malloc((n + 1) * sizeof(*types->places));
    types->room = types->places == NULL ? 0 : n;
    return types->places == NULL ? -1 : 0;
}

static int add_place(struct types *types, uint32_t length)
{
    if (types->num_places >= types->room) {
        return -1;
    }
    types->places[types->num_places++] = types->next;
    types->next += 2 + length;
    return 0;
}

/* Learns the places of the records in one contiguous piece of the file. */
static void walk_run(struct types *types, size_t number)
{
    size_t n, end;
    uint32_t at, have, left, length, start;
    const uint8_t *p;

    start = types->next;
    if (types->size - start < 2) {
        return;
    }
    p = peek_record(types, start, &have);
    if (p == NULL) {
        return;
    }
    end = number < types->room ? number + 1 : types->room;
    left = types->size - start;
    at = 0;
    for (n = types->num_places; n < end && at < have && have - at >= 2; n++) {
        length = le16(p + at);
        prefetch(p + at, PREFETCH_AHEAD);
        if (length < 2 || length > left - at - 2) {
            break;
        }
        types->places[n] = start + at;
        at += 2 + length;
    }
    types->num_places = n;
    types->next = start + at;
}

/* Learns the places of records up to a number, or to a damaged record. */
static enum types_status walk_records(struct types *types, size_t number)
{
    uint32_t length;

    if (types->places == NULL && make_room(types) != 0) {
        return TYPES_BROKEN;
    }
    while (types->num_places <= number) {
        walk_run(types, number);
        if (types->num_places > number) {
            break;
        }
        if (types->next == types->size) {
            return TYPES_MISSING;
        }
        if (load_length(types, types->next, &length) != 0) {
            return TYPES_BROKEN;
        }
        if (length < 2 || length > types->size - types->next - 2) {
            return TYPES_DAMAGED;
        }
        if (add_place(types, length) != 0) {
            return TYPES_BROKEN;
        }
    }
    return TYPES_OK;
}

/* Returns the index of the first damage at or after a number, or num_damages.
 */
static size_t find_damage(const struct types *types, size_t number)
{
    size_t low, high, mid;

    low = 0;
    high = types->num_damages;
    while (low < high) {
        mid = low + (high - low) / 2;
        if (types->damages[mid].number < number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void pass_damage(struct types *types)
{
    size_t n;
    uint32_t number;

    n = types->num_damages;
    number = (uint32_t)types->num_places;
    if ((n == 0 || types->damages[n - 1].number != number) &&
        array_need(&types->damages, &types->damage_room, n + 1,
                   sizeof(*types->damages)) == 0) {
        types->damages[n].number = number;
        types->damages[n].place = types->next;
        types->num_damages++;
    }
    types->next += 2;
}

/* Goes to a record from the last one before it whose place the reference
 * keeps.  On the way a record with a bad length is accepted if it ends inside
 * the stream. */
static enum types_status hop_record(struct types *types, size_t number,
                                    uint32_t *place)
{
    size_t at, damage;
    uint32_t length;

    at = number / STEP * STEP;
    damage = find_damage(types, at);
    *place = at < types->num_places ? types->places[at] : types->next;
    if (damage < types->num_damages && types->damages[damage].number == at) {
        *place = types->damages[damage].place;
    }
    for (; at < number; at++) {
        if (load_length(types, *place, &length) != 0 ||
            length > types->size - *place - 2) {
            return TYPES_BROKEN;
        }
        *place += 2 + length;
    }
    if (load_length(types, *place, &length) != 0 || length < 2 ||
        length > types->size - *place - 2) {
        return TYPES_BROKEN;
    }
    return TYPES_OK;
}

/*
 * Finds a record and treats bad lengths like the reference, which works as
 * follows.  An iterator goes through the stream, and the place of every eighth
 * record is kept.  A record that the iterator has passed is found from the
 * last place kept before it; damage in between is met again each time.  The
 * header says whether such a record exists.  For later records the iterator
 * goes on; a bad length makes this attempt fail, and the next attempt goes on
 * two bytes after it.
 */
static enum types_status reach_record(struct types *types, size_t number,
                                      uint32_t *place)
{
    size_t damage, passed;
    enum types_status status;

    if (number < types->known) {
        if (number + types->first > types->end) {
            return TYPES_MISSING;
        }
        damage = find_damage(types, number / STEP * STEP);
        if (damage < types->num_damages &&
            types->damages[damage].number <= number) {
            return hop_record(types, number, place);
        }
        status = walk_records(types, number);
        if (status != TYPES_OK) {
            return hop_record(types, number, place);
        }
    } else {
        status = walk_records(types, number);
        passed = status == TYPES_OK ? number + 1 : types->num_places;
        types->known = (passed / STEP + 1) * STEP;
        if (status == TYPES_DAMAGED) {
            pass_damage(types);
            return TYPES_BROKEN;
        }
    }
    if (status == TYPES_OK) {
        *place = types->places[number];
    }
    return status;
}

/* Reads a record outside of the pieces at the beginning, or across the end of
 * one. */
static __attribute__((noinline)) enum types_status
read_long(struct types *types, uint32_t place, struct arena *arena,
          struct types_record *record)
{
    uint32_t length, have;
    uint8_t *copy;
    const uint8_t *p;

    p = msf_piece(types->msf, types->stream, place, &have);
    if (p != NULL && have >= 2 && have - 2 >= le16(p)) {
        record->size = le16(p);
        record->data = p + 2;
        return TYPES_OK;
    }
    if (load_length(types, place, &length) != 0) {
        return TYPES_BROKEN;
    }
    place += 2;
    record->size = length;
    record->data = msf_run(types->msf, types->stream, place, length, &have);
    if (record->data != NULL && have < length) {
        copy = arena_take(arena, length);
        if (copy == NULL ||
            msf_copy(types->msf, types->stream, place, length, copy) != 0) {
            return TYPES_BROKEN;
        }
        record->data = copy;
    }
    return record->data == NULL ? TYPES_BROKEN : TYPES_OK;
}

static inline enum types_status read_record(struct types *types,
                                            uint32_t place,
                                            struct arena *arena,
                                            struct types_record *record)
{
    uint32_t have;
    const uint8_t *p = in_pieces(types, place, &have);

    if (p == NULL || have < 2 || have - 2 < le16(p)) {
        return read_long(types, place, arena, record);
    }
    record->size = le16(p);
    record->data = p + 2;
    return TYPES_OK;
}

/* As types_find(), for a record whose place need not be known yet. */
static __attribute__((noinline)) enum types_status
find_new(struct types *types, uint32_t index, struct arena *arena,
         struct types_record *record)
{
    uint32_t place;
    enum types_status status;

    if (index < types->first || types->first == 0) {
        return TYPES_MISSING;
    }
    status = reach_record(types, index - types->first, &place);
    return status == TYPES_OK ? read_record(types, place, arena, record)
                              : status;
}

enum types_status types_find(struct types *types, uint32_t index,
                             struct arena *arena, struct types_record *record)
{
    uint32_t number = index - types->first; /* large if there is none */

    if (number >= types->num_places || number >= types->known ||
        types->num_damages != 0 || index > types->end) {
        return find_new(types, index, arena, record);
    }
    return read_record(types, types->places[number], arena, record);
}
