/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a parser says that gets no memory, in programs that are linked with
 * allocation.c.
 */
#ifndef CONVERTER_ALLOCATION_H
#define CONVERTER_ALLOCATION_H

#include <stddef.h>

/* Of other processes it is empty: their allocations may fail. */
extern char allocation_message[4400];
extern size_t allocation_message_size;

#endif
