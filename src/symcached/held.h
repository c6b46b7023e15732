/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a lookup that was begun before its turn would have told, until it is
 * wanted.
 */
#ifndef SYMCACHED_HELD_H
#define SYMCACHED_HELD_H

#include "source.h"

struct held;

struct held *held_new(void); /* NULL when out of memory */
void held_free(struct held *held);

/* Copies one attempt; without memory it is left out. */
void held_add(struct held *held, const struct source_attempt *attempt);

/* Tells all of them in their order. */
void held_tell(const struct held *held, const struct source_callbacks *to,
               void *arg);

#endif
