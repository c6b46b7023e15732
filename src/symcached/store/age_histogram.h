/*
 * Copyright (C) the ngx_symcache authors
 *
 * How much of a tree was last used how long ago: bytes by age, in a table of
 * fixed size.  From it follows what goes first when there is too much, without
 * a list of the files.
 */
#ifndef SYMCACHED_AGES_H
#define SYMCACHED_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* steps of an hour at most, which is as exact as the last use is noted */
#define AGES_STEPS 4096

struct ages {
    unsigned width;             /* seconds of a step */
    unsigned cut;               /* older steps go whole; AGES_STEPS = none */
    uint64_t rest;              /* bytes that go of step `cut` itself */
    uint64_t marked;            /* bytes, in all */
    uint64_t bytes[AGES_STEPS]; /* that stay; older ones are in the last */
};

/* life: no file is expected to be older, in seconds. */
void ages_init(struct ages *ages, unsigned life);

void ages_add(struct ages *ages, long long age, uint64_t bytes);

/*
 * Marks the oldest bytes of several trees, which have the same life, until
 * there are as many as wanted; may be called again for more.  Returns how many
 * were marked.
 */
uint64_t ages_mark(struct ages *const *trees, size_t n, uint64_t wanted);

/* Is a file of this age marked?  Of the youngest step those asked for first.
 */
bool ages_marked(struct ages *ages, long long age, uint64_t bytes);

#endif
