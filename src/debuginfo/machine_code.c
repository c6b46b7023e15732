/*
 * Copyright (C) the ngx_symcache authors
 */
#include "machine_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int code_add(struct code *code, uint64_t address, const uint8_t *data,
             size_t file_size, uint64_t offset, uint64_t size)
{
    struct code_part *part;

    if (size == 0 || offset > file_size || size > file_size - offset) {
        return 0;
    }
    if (array_need(&code->parts, &code->part_room, code->num_parts + 1,
                   sizeof(*code->parts)) != 0) {
        return -1;
    }
    part = &code->parts[code->num_parts++];
    part->address = address;
    part->data = data + offset;
    part->size = (size_t)size;
    return 0;
}

const uint8_t *code_at(const struct code *code, uint64_t address, size_t *size)
{
    size_t i;
    const struct code_part *part;

    for (i = 0; i < code->num_parts; i++) {
        part = &code->parts[i];
        if (address >= part->address &&
            address - part->address < part->size) {
            *size = part->size - (size_t)(address - part->address);
            return part->data + (address - part->address);
        }
    }
    return NULL;
}

int code_mark(struct code *code, uint64_t address, enum codecache_mode mode)
{
    if (address > UINT32_MAX) {
        return 0;
    }
    if (array_need(&code->marks, &code->mark_room, code->num_marks + 1,
                   sizeof(*code->marks)) != 0) {
        return -1;
    }
    code->marks[code->num_marks].address = (uint32_t)address;
    code->marks[code->num_marks++].mode = mode;
    return 0;
}

void code_free(struct code *code)
{
    free(code->parts);
    free(code->marks);
}

/* a CodeCache ------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct code_part *x = a, *y = b;

    return x->address != y->address ? (x->address < y->address ? -1 : 1)
           : x->data != y->data     ? (x->data < y->data ? -1 : 1)
                                    : 0;
}

static int compare_marks(const void *a, const void *b)
{
    const struct codecache_mark *x = a, *y = b;

    return x->address != y->address ? (x->address < y->address ? -1 : 1)
                                    : (int)x->mode - (int)y->mode;
}

/* Puts the parts in order, without overlaps, below 4 GiB.  Returns their
 * number, and their bytes in *total. */
static uint32_t take_parts(struct code *code, struct codecache_part *parts,
                           uint64_t *total)
{
    uint64_t end = 0;
    uint32_t n = 0;
    size_t i, size;
    const struct code_part *part;

    if (code->num_parts > 0) {
        qsort(code->parts, code->num_parts, sizeof(*code->parts),
              compare_parts);
    }
    for (i = 0, *total = 0; i < code->num_parts; i++) {
        part = &code->parts[i];
        if (part->address < end || part->address >= UINT32_MAX) {
            continue;
        }
        size = part->size < UINT32_MAX - part->address
                   ? part->size
                   : (size_t)(UINT32_MAX - part->address);
        parts[n].address = (uint32_t)part->address;
        parts[n].size = (uint32_t)size;
        parts[n++].data = part->data;
        end = part->address + size;
        *total += size;
    }
    return n;
}

/* Puts the marks in order; of several at one address, the first is left. */
static uint32_t take_marks(struct code *code)
{
    size_t i;
    uint32_t n = 0;

    if (code->num_marks > 0) {
        qsort(code->marks, code->num_marks, sizeof(*code->marks),
              compare_marks);
    }
    for (i = 0; i < code->num_marks && n < UINT32_MAX; i++) {
        if (n == 0 || code->marks[n - 1].address < code->marks[i].address) {
            code->marks[n++] = code->marks[i];
        }
    }
    return n;
}

int code_write(struct code *code, size_t size, const struct symc_sink *sink,
               const struct debuginfo_result *result, struct failure *failure)
{
    struct codecache_part *parts = calloc(code->num_parts + 1, sizeof(*parts));
    struct codecache_content content = {.age = result->age,
                                        .arch = code->arch,
                                        .is_big = code->is_big,
                                        .parts = parts};
    uint64_t total;
    int rc;

    if (parts == NULL) {
        code_free(code);
        return failure_memory(failure);
    }
    memcpy(content.guid, result->guid, sizeof(content.guid));
    content.num_parts = take_parts(code, parts, &total);
    content.num_marks = take_marks(code);
    content.marks = code->marks;
    if (content.num_parts == 0) {
        rc = failure_set(failure, FAILURE_NO_SYMBOLS,
                         "has no machine code, as debug files have none");
    } else if (total > size) { /* sections that share their bytes */
        rc = failure_set(failure, FAILURE_DAMAGED,
                         "has more machine code than bytes");
    } else {
        rc = failure_writer(failure, codecache_write(&content, sink));
    }
    free(parts);
    code_free(code);
    return rc;
}
