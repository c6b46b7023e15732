/*
 * Copyright (C) the ngx_symcache authors
 */

#include <string.h>
#include "ages.h"

#define HOUR 3600u
#define MINUTE 60u

void ages_init(struct ages *ages, unsigned life)
{
    memset(ages, 0, sizeof(*ages));
    ages->cut = AGES_STEPS;
    ages->width = life / AGES_STEPS + 1;
    if (ages->width > HOUR) {
        ages->width = HOUR;
    }
    if (ages->width < MINUTE) {
        ages->width = MINUTE;
    }
}

static unsigned step_of(const struct ages *ages, long long age)
{
    unsigned long long step;

    if (age < 0) {
        return 0;
    }
    step = (unsigned long long)age / ages->width;
    return step < AGES_STEPS ? (unsigned)step : AGES_STEPS - 1;
}

void ages_add(struct ages *ages, long long age, uint64_t bytes)
{
    ages->bytes[step_of(ages, age)] += bytes;
}

/* Marks bytes of the oldest step that is not marked whole. */
static void mark(struct ages *ages, unsigned step, uint64_t bytes)
{
    if (ages->cut != step) {
        ages->cut = step;
        ages->rest = 0;
    }
    ages->rest += bytes;
    ages->marked += bytes;
    ages->bytes[step] -= bytes;
}

uint64_t ages_mark(struct ages *const *trees, size_t n, uint64_t wanted)
{
    uint64_t marked = 0, bytes;
    unsigned step = AGES_STEPS;
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
            mark(trees[i], step, bytes);
            marked += bytes;
        }
    }
    return marked;
}

bool ages_marked(struct ages *ages, long long age, uint64_t bytes)
{
    unsigned step = step_of(ages, age);

    if (ages->cut == AGES_STEPS || step < ages->cut) {
        return false;
    }
    if (step > ages->cut) {
        return true;
    }
    if (ages->rest == 0) {
        return false;
    }
    ages->rest -= bytes < ages->rest ? bytes : ages->rest;
    return true;
}
