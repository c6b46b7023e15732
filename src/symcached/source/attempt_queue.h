/*
 * Copyright (C) the ngx_symcache authors
 *
 * Keeps the attempts of a lookup that was begun before its turn, until its turn
 * comes and its owner is told of them.
 */
#ifndef SYMCACHED_SOURCE_ATTEMPT_QUEUE_H
#define SYMCACHED_SOURCE_ATTEMPT_QUEUE_H

#include "lookup.h"

struct attempt_queue;

struct attempt_queue *attempt_queue_new(void); /* NULL when out of memory */
void attempt_queue_free(struct attempt_queue *attempt_queue);

/* Copies one attempt; it is left out when out of memory. */
void attempt_queue_add(struct attempt_queue *attempt_queue,
                       const struct source_attempt *attempt);

/* Reports all attempts, in their order. */
void attempt_queue_tell(const struct attempt_queue *attempt_queue,
                        const struct source_callbacks *to, void *arg);

#endif
