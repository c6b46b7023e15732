/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a parser ends that gets no memory, in programs that are linked with
 * allocation.c.
 */
#ifndef CONVERTER_ALLOCATION_H
#define CONVERTER_ALLOCATION_H

#include <stdint.h>

/*
 * Makes the process end at the first allocation that fails, with a message of
 * this beginning: with FAILURE_LIMIT where a limit of memory is reached, which
 * is the file's fault, and with FAILURE_TEMPORARY where the machine has no
 * more.  To be called before the sandbox, once.  In other processes allocations
 * may fail.
 */
void allocation_must_succeed(const char *program, const char *file);

/* The sandbox will limit the address space to so many bytes. */
void allocation_limit(uint64_t address_space);

#endif
