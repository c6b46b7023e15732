/*
 * Copyright (C) the ngx_symcache authors
 *
 * What becomes of a process that parses an untrusted file and gets no memory,
 * in programs that are linked with allocation.c (WRAP_... in the Makefile).
 */
#ifndef SANDBOX_ALLOCATION_H
#define SANDBOX_ALLOCATION_H

#include <stddef.h>

/*
 * From now on lacks is called where an allocation of so many bytes has failed,
 * by any thread.  It may end the process, and must not allocate; if it returns,
 * so does the allocation, with NULL.
 */
void allocation_must_succeed(void (*lacks)(size_t size));

#endif
