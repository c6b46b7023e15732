/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a connection has read.  For connection.c and server.c only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/spool.h"

struct http_input {
    size_t begin; /* of the request */
    size_t size;
    size_t room;
    char data[];
};

/* Makes one of another size, or a new one of NULL.  Returns false if it has no
 * memory. */
bool http_input_resize(struct http_input **input, size_t room);

/* Moves size bytes at a place into a spool; what follows them takes their
 * place.  Returns false if there is no room for them. */
bool http_input_spool(struct http_input *input, size_t at, size_t size,
                      struct spool *spool);

/* Begins another input with what follows a place.  Returns the former one, or
 * NULL without memory. */
struct http_input *http_input_split(struct http_input **input, size_t at);

void http_input_free(struct http_input *input); /* NULL is allowed */
