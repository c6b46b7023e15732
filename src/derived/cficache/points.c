/*
 * Copyright (C) the ngx_symcache authors
 */
#include "points.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"

int cficache_points_add(struct cficache_points *points, size_t first,
                        uint32_t start, uint32_t value)
{
    if (points->count > first &&
        points->data[points->count - 1].start == start) {
        points->count--;
    }
    if (points->count > first &&
        points->data[points->count - 1].value == value) {
        return 0;
    }
    if (array_need(&points->data, &points->room, points->count + 1,
                   sizeof(*points->data)) != 0) {
        return -1;
    }
    points->data[points->count].start = start;
    points->data[points->count++].value = value;
    return 0;
}

int cficache_spans_add(struct cficache_spans *spans,
                       const struct cficache_span *span)
{
    if (spans->count >= UINT32_MAX ||
        array_need(&spans->data, &spans->room, spans->count + 1,
                   sizeof(*spans->data)) != 0) {
        return -1;
    }
    spans->data[spans->count++] = *span;
    return 0;
}

static bool is_sorted(const struct cficache_spans *spans)
{
    size_t i;

    for (i = 1; i < spans->count; i++) {
        if (spans->data[i].start <= spans->data[i - 1].start) {
            return false;
        }
    }
    return true;
}

/* Returns the indices of the spans by their starts, in the low halves of the
 * keys. */
static uint64_t *sort(const struct cficache_spans *spans)
{
    size_t i, n = spans->count;
    uint64_t *keys = malloc(n * sizeof(*keys) + 1);
    uint64_t *tmp = malloc(n * sizeof(*tmp) + 1);

    if (keys != NULL && tmp != NULL) {
        for (i = 0; i < n; i++) {
            keys[i] = (uint64_t)spans->data[i].start << 32 | i;
        }
        if (!is_sorted(spans)) {
            sort_keys(keys, tmp, n);
        }
    } else {
        free(keys);
        keys = NULL;
    }
    free(tmp);
    return keys;
}

/* Adds one span's rows, and nothing at its end, which the next one replaces if
 * it begins there. */
static int add_span(struct cficache_points *map,
                    const struct cficache_span *span,
                    const struct cficache_points *rows)
{
    size_t i;
    const struct cficache_point *row;

    for (i = 0; i < span->count; i++) {
        row = &rows->data[span->first + i];
        if (cficache_points_add(map, 0, row->start, row->value) != 0) {
            return -1;
        }
    }
    return cficache_points_add(map, 0, span->end, 0);
}

int cficache_points_map(struct cficache_points *map,
                        const struct cficache_spans *spans,
                        const struct cficache_points *rows)
{
    int rc = 0;
    size_t i = 0;
    uint64_t end = 0;
    uint64_t *keys = sort(spans);
    const struct cficache_span *span, *best;

    if (keys == NULL) {
        return -1;
    }
    while (i < spans->count && rc == 0) {
        best = span = &spans->data[(uint32_t)keys[i]];
        while (++i < spans->count &&
               spans->data[(uint32_t)keys[i]].start == best->start) {
            span = &spans->data[(uint32_t)keys[i]];
            best = span->end < best->end ? span : best;
        }
        if (best->start >= end) {
            end = best->end;
            rc = add_span(map, best, rows);
        }
    }
    free(keys);
    return rc;
}

int cficache_points_merge(struct cficache_points *map,
                          const struct cficache_points *over,
                          const struct cficache_points *below)
{
    size_t i = 0, j = 0;
    uint32_t start, first = 0, second = 0;

    while (i < over->count || j < below->count) {
        start = i == over->count ||
                        (j < below->count &&
                         below->data[j].start < over->data[i].start)
                    ? below->data[j].start
                    : over->data[i].start;
        if (i < over->count && over->data[i].start == start) {
            first = over->data[i++].value;
        }
        if (j < below->count && below->data[j].start == start) {
            second = below->data[j++].value;
        }
        if (cficache_points_add(map, 0, start,
                                first != 0 ? first : second) != 0) {
            return -1;
        }
    }
    return 0;
}
