/*
 * Copyright (C) the ngx_symcache authors
 *
 * How many bytes of a tree were last used how long ago, in a table of fixed
 * size.  It tells which files must be removed when a tree is too large,
 * without a list of all files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step is an hour at most: the last use is noted no more exactly. */
#define AGE_HISTOGRAM_STEPS 4096

struct age_histogram {
    unsigned width;  /* seconds of a step */
    unsigned cut;  /* older steps are marked as a whole; AGE_HISTOGRAM_STEPS =
                      none */
    uint64_t rest; /* marked bytes of step `cut` itself */
    uint64_t marked;                     /* bytes in all */
    uint64_t bytes[AGE_HISTOGRAM_STEPS]; /* not marked; the last step also has
                                            all that is older */
};

/* life is the age in seconds that no file is expected to exceed. */
void age_histogram_init(struct age_histogram *age_histogram, unsigned life);

void age_histogram_add(struct age_histogram *age_histogram, long long age,
                       uint64_t bytes);

/*
 * Marks the oldest bytes of several trees, which have the same life, until
 * `wanted` bytes are marked.  It may be called again to mark more.  Returns
 * how many were marked.
 */
uint64_t age_histogram_mark(struct age_histogram *const *trees, size_t n,
                            uint64_t wanted);

/* The bytes that are not marked. */
uint64_t age_histogram_left(const struct age_histogram *age_histogram);

/* Is a file of this age marked?  Of the youngest marked step, those files
 * are that are asked for first. */
bool age_histogram_marked(struct age_histogram *age_histogram, long long age,
                          uint64_t bytes);
