/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format.h"

void ppdbcache_writer_free(struct ppdbcache_writer *writer)
{
    symc_string_table_free(&writer->strings);
    table_free(&writer->file_table);
    free(writer->files);
    free(writer->points);
    memset(writer, 0, sizeof(*writer));
}

enum symc_status ppdbcache_writer_file(struct ppdbcache_writer *writer,
                                       const char *name, size_t size,
                                       uint32_t language, uint32_t *file)
{
    size_t at = 0;
    uint32_t offset;
    uint64_t hash;
    uintptr_t found;

    if (symc_string_table_insert(&writer->strings, name, size, &offset) != 0) {
        return SYMC_NO_MEMORY;
    }
    hash = table_hash_number(&writer->file_table,
                             (uint64_t)offset << 32 | language);
    found = table_next(&writer->file_table, hash, &at);
    if (found != 0) {
        *file = (uint32_t)found - 1;
        return SYMC_OK;
    }
    if (writer->num_files >= UINT32_MAX ||
        array_need(&writer->files, &writer->file_room, writer->num_files + 1,
                   sizeof(*writer->files)) != 0 ||
        table_add(&writer->file_table, hash, writer->num_files + 1) != 0) {
        return SYMC_NO_MEMORY;
    }
    *file = (uint32_t)writer->num_files++;
    writer->files[*file].name = offset;
    writer->files[*file].language = language;
    return SYMC_OK;
}

static uint64_t ppdbcache_key_of(const struct ppdbcache_point *point)
{
    return (uint64_t)point->method << 32 | point->il;
}

enum symc_status ppdbcache_writer_point(struct ppdbcache_writer *writer,
                                        const struct ppdbcache_point *point)
{
    if (writer->num_points >= UINT32_MAX ||
        array_need(&writer->points, &writer->point_room,
                   writer->num_points + 1, sizeof(*writer->points)) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->is_unsorted =
        writer->is_unsorted ||
        (writer->num_points > 0 &&
         ppdbcache_key_of(&writer->points[writer->num_points - 1]) >=
             ppdbcache_key_of(point));
    writer->points[writer->num_points++] = *point;
    return SYMC_OK;
}

static int compare(const void *a, const void *b)
{
    const struct ppdbcache_point *const *x = a, *const *y = b;
    uint64_t l = ppdbcache_key_of(*x), r = ppdbcache_key_of(*y);

    if (l == r) { /* in the order in which they were added */
        return *x < *y ? -1 : 1;
    }
    return l < r ? -1 : 1;
}

/* Sorts the points, and keeps the last one of those with equal keys.  Only
 * strange files need this. */
static enum symc_status sort_points(struct ppdbcache_writer *writer)
{
    size_t i, n = 0;
    struct ppdbcache_point *sorted;
    const struct ppdbcache_point **order;

    order = calloc(writer->num_points, sizeof(*order));
    sorted = calloc(writer->num_points, sizeof(*sorted));
    if (order == NULL || sorted == NULL) {
        free(order);
        free(sorted);
        return SYMC_NO_MEMORY;
    }
    for (i = 0; i < writer->num_points; i++) {
        order[i] = &writer->points[i];
    }
    qsort(order, writer->num_points, sizeof(*order), compare);
    for (i = 0; i < writer->num_points; i++) {
        if (n == 0 ||
            ppdbcache_key_of(&sorted[n - 1]) != ppdbcache_key_of(order[i])) {
            n++;
        }
        sorted[n - 1] = *order[i];
    }
    free(order);
    free(writer->points);
    writer->points = sorted;
    writer->num_points = writer->point_room = n;
    return SYMC_OK;
}

static inline void put_ppdbcache(struct symc_output *out, uint32_t first,
                                 uint32_t second)
{
    uint8_t *p = symc_output_room(out, 8);

    le32_store(p, first);
    le32_store(p + 4, second);
}

enum symc_status
ppdbcache_writer_finish(struct ppdbcache_writer *writer,
                        const struct ppdbcache_identity *identity,
                        const struct symc_sink *sink)
{
    size_t i;
    struct symc_output out;
    uint8_t *p;

    if (writer->is_unsorted && sort_points(writer) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    symc_output_init(&out, sink);
    p = symc_output_room(&out, PPDBCACHE_HEADER);
    memset(p, 0, PPDBCACHE_HEADER);
    memcpy(p, "PDBC", 4);
    le32_store(p + PPDBCACHE_AT_VERSION, PPDBCACHE_VERSION);
    if (identity != NULL) {
        memcpy(p + PPDBCACHE_AT_GUID, identity->guid, 16);
        le32_store(p + PPDBCACHE_AT_STAMP, identity->stamp);
    }
    le32_store(p + PPDBCACHE_AT_FILES, (uint32_t)writer->num_files);
    le32_store(p + PPDBCACHE_AT_RANGES, (uint32_t)writer->num_points);
    le32_store(p + PPDBCACHE_AT_STRINGS, (uint32_t)writer->strings.size);
    for (i = 0; i < writer->num_files; i++) {
        put_ppdbcache(&out, writer->files[i].name, writer->files[i].language);
    }
    for (i = 0; i < writer->num_points; i++) {
        put_ppdbcache(&out, writer->points[i].line, writer->points[i].file);
    }
    for (i = 0; i < writer->num_points; i++) {
        put_ppdbcache(&out, writer->points[i].method, writer->points[i].il);
    }
    symc_output_bytes(&out, writer->strings.data, writer->strings.size);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}
