/*
 * Copyright (C) the ngx_symcache authors
 *
 * How much of a tree was last used how long ago: bytes by age, in a table of
 * fixed size.  From it follows what goes first when there is too much, without
 * a list of the files.
 */
#ifndef SYMCACHED_STORE_AGE_HISTOGRAM_H
#define SYMCACHED_STORE_AGE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* steps of an hour at most, which is as exact as the last use is noted */
#define AGE_HISTOGRAM_STEPS 4096

struct age_histogram {
    unsigned width;  /* seconds of a step */
    unsigned cut;    /* older steps go whole; AGE_HISTOGRAM_STEPS = none */
    uint64_t rest;   /* bytes that go of step `cut` itself */
    uint64_t marked; /* bytes, in all */
    uint64_t
        bytes[AGE_HISTOGRAM_STEPS]; /* that stay; older ones are in the last */
};

/* life: no file is expected to be older, in seconds. */
void age_histogram_init(struct age_histogram *age_histogram, unsigned life);

void age_histogram_add(struct age_histogram *age_histogram, long long age,
                       uint64_t bytes);

/*
 * Marks the oldest bytes of several trees, which have the same life, until
 * there are as many as wanted; may be called again for more.  Returns how many
 * were marked.
 */
uint64_t age_histogram_mark(struct age_histogram *const *trees, size_t n,
                            uint64_t wanted);

/* The bytes that are not marked. */
uint64_t age_histogram_left(const struct age_histogram *age_histogram);

/* Is a file of this age marked?  Of the youngest step those asked for first.
 */
bool age_histogram_marked(struct age_histogram *age_histogram, long long age,
                          uint64_t bytes);

#endif
