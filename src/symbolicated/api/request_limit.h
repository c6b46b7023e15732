/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests that have begun and are not answered yet, those that wait for
 * modules included, of all threads: how many there may be, and how large
 * their bodies may be together.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* How many there are of one protocol. */
typedef atomic_uint request_count;

/*
 * A request begins, with a body of size bytes.  Returns false if there are
 * most of this protocol already, or if most_size would be exceeded by the
 * bodies of all protocols; one that runs alone may.
 */
bool request_limit_begin(request_count *count, unsigned most, size_t size,
                         size_t most_size);

/* It is answered, after request_limit_begin() has let it in. */
void request_limit_end(request_count *count, size_t size);
