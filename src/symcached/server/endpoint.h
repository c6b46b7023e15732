/*
 * Copyright (C) the ngx_symcache authors
 *
 * A socket on which requests are accepted and read, and the pause after
 * accept() has failed.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <event2/event.h>
#include "http/http.h"

struct endpoint;

/*
 * A loop in which reading requests comes after all else, so that thousands of
 * them do not keep new connections waiting.  NULL when out of memory.
 */
struct event_base *endpoint_event_base(void);

/*
 * Listens on an address, see listener_open().  The base must come from
 * endpoint_event_base().  Returns NULL with a sentence in error.
 */
struct endpoint *endpoint_new(struct event_base *base, const char *address,
                              mode_t mode, const struct gate_calls *calls,
                              char *error, size_t size);

/* Accepts nothing more and removes the socket file.  NULL is allowed here and
 * below. */
void endpoint_stop(struct endpoint *endpoint);

/* Closes its connections, too. */
void endpoint_free(struct endpoint *endpoint);
