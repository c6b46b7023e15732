/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a parser ends that gets no memory.
 */
#pragma once

#include <stdint.h>

/*
 * Makes the process end at the first allocation that fails, with a message of
 * this beginning: with FAILURE_LIMIT where a limit of memory is reached, which
 * is the file's fault, and with FAILURE_TEMPORARY where the machine has no
 * more.  To be called before the sandbox, once.
 */
void memory_must_suffice(const char *program, const char *file);

/* The sandbox will limit the address space to so many bytes. */
void memory_limit(uint64_t address_space);
