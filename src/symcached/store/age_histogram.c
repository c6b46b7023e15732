/*
 * Copyright (C) the ngx_symcache authors
 */

#include "age_histogram.h"

#include <string.h>

#define HOUR 3600u
#define MINUTE 60u

void age_histogram_init(struct age_histogram *age_histogram, unsigned life)
{
    memset(age_histogram, 0, sizeof(*age_histogram));
    age_histogram->cut = AGE_HISTOGRAM_STEPS;
    age_histogram->width = life / AGE_HISTOGRAM_STEPS + 1;
    if (age_histogram->width > HOUR) {
        age_histogram->width = HOUR;
    }
    if (age_histogram->width < MINUTE) {
        age_histogram->width = MINUTE;
    }
}

static unsigned step_of(const struct age_histogram *age_histogram,
                        long long age)
{
    unsigned long long step;

    if (age < 0) {
        return 0;
    }
    step = (unsigned long long)age / age_histogram->width;
    return step < AGE_HISTOGRAM_STEPS ? (unsigned)step
                                      : AGE_HISTOGRAM_STEPS - 1;
}

void age_histogram_add(struct age_histogram *age_histogram, long long age,
                       uint64_t bytes)
{
    age_histogram->bytes[step_of(age_histogram, age)] += bytes;
}

/* Marks bytes of the oldest step that is not yet marked as a whole. */
static void mark_age(struct age_histogram *age_histogram, unsigned step,
                     uint64_t bytes)
{
    if (age_histogram->cut != step) {
        age_histogram->cut = step;
        age_histogram->rest = 0;
    }
    age_histogram->rest += bytes;
    age_histogram->marked += bytes;
    age_histogram->bytes[step] -= bytes;
}

uint64_t age_histogram_mark(struct age_histogram *const *trees, size_t n,
                            uint64_t wanted)
{
    uint64_t marked = 0, bytes;
    unsigned step = AGE_HISTOGRAM_STEPS;
    size_t i;

    while (step-- > 0 && marked < wanted) {
        for (i = 0; i < n && marked < wanted; i++) {
            bytes = trees[i]->bytes[step];
            if (bytes == 0) {
                continue;
            }
            if (bytes > wanted - marked) {
                bytes = wanted - marked;
            }
            mark_age(trees[i], step, bytes);
            marked += bytes;
        }
    }
    return marked;
}

uint64_t age_histogram_left(const struct age_histogram *age_histogram)
{
    uint64_t left = 0;
    unsigned step;

    for (step = 0; step < AGE_HISTOGRAM_STEPS; step++) {
        left += age_histogram->bytes[step];
    }
    return left;
}

bool age_histogram_marked(struct age_histogram *age_histogram, long long age,
                          uint64_t bytes)
{
    unsigned step = step_of(age_histogram, age);

    if (age_histogram->cut == AGE_HISTOGRAM_STEPS ||
        step < age_histogram->cut) {
        return false;
    }
    if (step > age_histogram->cut) {
        return true;
    }
    if (age_histogram->rest == 0) {
        return false;
    }
    age_histogram->rest -=
        bytes < age_histogram->rest ? bytes : age_histogram->rest;
    return true;
}
