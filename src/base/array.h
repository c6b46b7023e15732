/*
 * Copyright (C) the ngx_symcache authors
 *
 * The length of an array, and growing arrays of plain items.  realloc() grows
 * a large one by remapping its pages, which neither copies the items nor needs
 * memory for both sizes at once.  An array that is no longer small is
 * therefore made large in one step: pages that have not been touched cost
 * nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SYMC_ARRAY_SMALL 8192              /* bytes */
#define SYMC_ARRAY_LARGE ((size_t)1 << 20) /* few files need more */

/* The rare part of array_need().  It is not inlined, to keep the
 * callers' loops small. */
static __attribute__((noinline, cold, unused)) int
array_grow(void **array, size_t *room, size_t count, size_t item)
{
    void *p;
    size_t n;

    n = *room + *room / 2 + 16;
    n = n > count ? n : count;
    if (n > SYMC_ARRAY_SMALL / item && n < SYMC_ARRAY_LARGE / item) {
        n = SYMC_ARRAY_LARGE / item;
    }
    if (n > SIZE_MAX / 2 / item) {
        return -1;
    }
    p = realloc(*array, n * item);
    if (p == NULL) {
        return -1;
    }
    *array = p;
    *room = n;
    return 0;
}

/*
 * Makes room for count items of item bytes each in the array that data points
 * to, which has room for *room items.  Returns 0, or -1 when out of memory;
 * then nothing has changed.
 */
static inline int array_need(void *data, size_t *room, size_t count,
                             size_t item)
{
    return count <= *room ? 0 : array_grow(data, room, count, item);
}

/*
 * Makes the array one of count zeros; what was in it is lost.  Each page is
 * written here once: a page that is read first is mapped to the page of zeros,
 * so that it costs a second fault when it is written, which also interrupts
 * the other threads' processors.  A table that grows so stays where it is, and
 * has the pages of the smaller one.  Returns 0, or -1 when out of memory; then
 * the array is empty.
 */
static inline int array_zeroed(void *data, size_t *room, size_t count,
                               size_t item)
{
    void **array = data;

    if (count > *room) {
        free(*array);
        *array = NULL;
        *room = 0;
        if (array_grow(array, room, count, item) != 0) {
            return -1;
        }
    }
    memset(*array, 0, count * item);
    return 0;
}
