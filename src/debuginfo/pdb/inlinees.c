/*
 * Copyright (C) the ngx_symcache authors
 */

#include "inlinees.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/array.h"
#include "base/sort.h"

#define ENTRY 12
#define WITH_EXTRA_FILES 1

enum opcode {
    OP_END = 0,
    OP_CODE_OFFSET,
    OP_CODE_OFFSET_BASE,
    OP_ADD_CODE_OFFSET,
    OP_CODE_LENGTH,
    OP_FILE,
    OP_LINE_OFFSET,
    OP_LINE_END_DELTA,
    OP_RANGE_KIND,
    OP_COLUMN_START,
    OP_COLUMN_END_DELTA,
    OP_CODE_AND_LINE_OFFSET,
    OP_CODE_LENGTH_AND_OFFSET,
    OP_COLUMN_END,
    OP_LAST = OP_COLUMN_END
};

/* The state of the interpreter of binary annotations. */
struct inlinee_site {
    const uint8_t *p;
    const uint8_t *end;
    uint32_t code;
    uint32_t base;
    uint32_t length;
    int has_length;
    uint32_t line;
    uint32_t file;
    uint32_t kind;
    struct lines_record last; /* its end may not be known yet */
    uint32_t last_kind;
    int has_last;
};

void inlinees_free(struct inlinees *inlinees)
{
    free(inlinees->keys);
    memset(inlinees, 0, sizeof(*inlinees));
}

int inlinees_open(struct inlinees *inlinees, const struct lines *lines)
{
    size_t n, room;
    uint32_t at, size, extra, has_extra;
    const uint8_t *p;

    inlinees->count = 0;
    p = inlinees->table = lines->inlinees;
    size = lines->inlinees_size;
    if (p == NULL) {
        return 0;
    }
    if (size < 4) {
        return -1;
    }
    has_extra = le32(p) == WITH_EXTRA_FILES;
    room = 2 * (size_t)(size / ENTRY);
    if (array_need(&inlinees->keys, &inlinees->room, room,
                   sizeof(*inlinees->keys)) != 0) {
        return -1;
    }
    n = 0;
    for (at = 4; at < size; at += ENTRY) {
        if (size - at < ENTRY) {
            return -1;
        }
        inlinees->keys[n++] = (uint64_t)le32(p + at) << 32 | at;
        if (has_extra) {
            if (size - at - ENTRY < 4) {
                return -1;
            }
            extra = le32(p + at + ENTRY);
            if (extra > (size - at - ENTRY - 4) / 4) {
                return -1;
            }
            at += 4 + 4 * extra;
        }
    }
    if (n > 0) {
        sort_keys(inlinees->keys, inlinees->keys + n, n);
    }
    inlinees->count = n;
    return 0;
}

const uint8_t *inlinees_find(const struct inlinees *inlinees, uint32_t id)
{
    size_t n, half;
    uint64_t key;
    const uint64_t *at;

    n = inlinees->count;
    if (n == 0) {
        return NULL;
    }
    /* If an id occurs more than once, the last entry is used.  The search has
     * no branch, which the processor could not predict. */
    key = (uint64_t)id << 32 | UINT32_MAX;
    for (at = inlinees->keys; n > 1; n -= half) {
        half = n / 2;
        at = at[half] <= key ? at + half : at;
    }
    return *at >> 32 == id ? inlinees->table + (uint32_t)*at : NULL;
}

/* The long forms of annotation_number().  Returns the number with its size
 * above it, or 0. */
static __attribute__((noinline)) uint64_t long_number(const uint8_t *p,
                                                      const uint8_t *end)
{
    size_t left = (size_t)(end - p);

    if (left >= 2 && p[0] >= 0x80 && p[0] < 0xC0) {
        return (uint64_t)2 << 32 | (uint32_t)(p[0] & 0x3F) << 8 | p[1];
    }
    if (left >= 4 && p[0] >= 0xC0 && p[0] < 0xE0) {
        return (uint64_t)4 << 32 | (uint32_t)(p[0] & 0x1F) << 24 |
               (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    return 0;
}

/* Reads a compressed number.  Returns 0, or -1 if it is cut off or invalid. */
static inline __attribute__((always_inline)) int
annotation_number(struct inlinee_site *inlinee, uint32_t *value)
{
    uint64_t number;

    if (inlinee->p < inlinee->end && inlinee->p[0] < 0x80) {
        *value = *inlinee->p++;
        return 0;
    }
    number = long_number(inlinee->p, inlinee->end);
    *value = (uint32_t)number;
    inlinee->p += number >> 32;
    return number != 0 ? 0 : -1;
}

static uint32_t inlinee_signed_number(uint32_t value)
{
    return (value & 1) != 0 ? 0u - (value >> 1) : value >> 1;
}

/* Begins a record at the current offset.  The record before it ends here if it
 * is of the same kind and an annotation has not given its length. */
static int inlinee_emit_line(struct inlinee_site *inlinee, struct lines *lines,
                             struct lines_list *list)
{
    uint32_t offset;

    offset = inlinee->code + inlinee->base;
    if (inlinee->has_last) {
        if (!inlinee->last.has_length && inlinee->last_kind == inlinee->kind) {
            inlinee->last.has_length = 1;
            inlinee->last.length = offset - inlinee->last.offset;
        }
        if (lines_add(lines, &inlinee->last, list) != 0) {
            return -1;
        }
    }
    inlinee->last.offset = offset;
    inlinee->last.line = inlinee->line;
    inlinee->last.file = inlinee->file;
    inlinee->last.length = inlinee->length;
    inlinee->last.has_length = inlinee->has_length;
    inlinee->last_kind = inlinee->kind;
    inlinee->has_last = 1;
    inlinee->has_length = 0;
    return 0;
}

static void inlinee_set_length(struct inlinee_site *inlinee, uint32_t length)
{
    if (inlinee->has_last && !inlinee->last.has_length &&
        inlinee->last_kind == inlinee->kind) {
        inlinee->last.has_length = 1;
        inlinee->last.length = length;
    }
    inlinee->code += length;
}

/* Executes one annotation.  Returns 1 to go on, 0 at the end, or -1 if it is
 * damaged. */
static int inlinee_annotation_step(struct inlinee_site *inlinee,
                                   struct lines *lines,
                                   struct lines_list *list)
{
    uint32_t op, n, offset;

    if (annotation_number(inlinee, &op) != 0 || op > OP_LAST) {
        return -1;
    }
    if (op == OP_END) {
        return 0;
    }
    if (annotation_number(inlinee, &n) != 0) {
        return -1;
    }
    switch (op) {
    case OP_CODE_OFFSET:
        inlinee->code = n;
        return 1;
    case OP_CODE_OFFSET_BASE:
        inlinee->base = n;
        return 1;
    case OP_CODE_LENGTH:
        inlinee_set_length(inlinee, n);
        return 1;
    case OP_FILE:
        inlinee->file = n;
        return 1;
    case OP_LINE_OFFSET:
        inlinee->line += inlinee_signed_number(n);
        return 1;
    case OP_RANGE_KIND:
        inlinee->kind = n <= 1 ? n : inlinee->kind;
        return 1;
    case OP_ADD_CODE_OFFSET:
        inlinee->code += n;
        break;
    case OP_CODE_AND_LINE_OFFSET:
        inlinee->code += n & 0xF;
        inlinee->line += inlinee_signed_number(n >> 4);
        break;
    case OP_CODE_LENGTH_AND_OFFSET:
        if (annotation_number(inlinee, &offset) != 0) {
            return -1;
        }
        inlinee->has_length = 1;
        inlinee->length = n;
        inlinee->code += offset;
        break;
    default: /* columns and ends of lines are not used */
        return 1;
    }
    return inlinee_emit_line(inlinee, lines, list) != 0 ? -1 : 1;
}

int inlinees_lines(struct lines *lines, const uint8_t *entry,
                   const uint8_t *annotations, uint32_t size, uint32_t section,
                   uint32_t offset, struct lines_list *list)
{
    int rc;
    struct inlinee_site inlinee;

    memset(&inlinee, 0, sizeof(inlinee));
    inlinee.p = annotations;
    inlinee.end = annotations + size;
    inlinee.code = offset;
    inlinee.file = le32(entry + 4);
    inlinee.line = le32(entry + 8);
    inlinee.kind = 1; /* statement */
    inlinee.last.section = section;
    rc = 1;
    while (rc > 0 && inlinee.p < inlinee.end) {
        rc = inlinee_annotation_step(&inlinee, lines, list);
    }
    if (rc < 0) {
        return -1;
    }
    return inlinee.has_last ? lines_add(lines, &inlinee.last, list) : 0;
}
