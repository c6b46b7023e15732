/*
 * Copyright (C) the ngx_symcache authors
 *
 * Keeps the attempts of a lookup that was begun before its turn, until its
 * turn comes and its owner is told of them.
 */
#pragma once

#include "lookup.h"

struct early_attempts;

struct early_attempts *early_attempts_new(void); /* NULL when out of memory */
void early_attempts_free(struct early_attempts *early);

/* Copies one attempt; it is left out when out of memory. */
void early_attempts_add(struct early_attempts *early,
                        const struct lookup_attempt *attempt);

/* Reports all attempts, in their order. */
void early_attempts_tell(const struct early_attempts *early,
                         const struct lookup_callbacks *to, void *arg);
