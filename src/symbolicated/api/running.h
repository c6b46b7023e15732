/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests that have begun and are not answered yet, those that wait for
 * modules included, of all threads: how many there may be, and how large
 * their bodies may be together.
 */
#ifndef SYMBOLICATED_API_RUNNING_H
#define SYMBOLICATED_API_RUNNING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* How many there are of one protocol. */
typedef atomic_uint running_count;

/*
 * A request begins, with a body of size bytes.  Returns false if there are
 * most of this protocol already, or if most_size would be exceeded by the
 * bodies of all protocols; one that runs alone may.
 */
bool running_begin(running_count *count, unsigned most, size_t size,
                   size_t most_size);

/* It is answered, after running_begin() has let it in. */
void running_end(running_count *count, size_t size);

#endif
