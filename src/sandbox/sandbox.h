/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a process that parses untrusted files gives up before it begins:
 * no_new_privs, rlimits, Landlock (where the kernel has it) and a seccomp
 * allow-list.  Afterwards it can read, write and seek in the descriptors that
 * it has open, ask how full their file systems are, map anonymous memory, read
 * clocks and exit; it can open no file nor learn whether there is one, make no
 * socket and start no process or thread.  fstat() may fail, depending on the C
 * library: a size is what lseek() to the end returns.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "serve.h"

struct sandbox_limits {
    uint64_t memory;      /* RLIMIT_AS, bytes; 0 = leave */
    uint64_t file_size;   /* RLIMIT_FSIZE, bytes; 0 = leave */
    unsigned cpu_seconds; /* RLIMIT_CPU; 0 = leave */
};

/*
 * Call once, after the last open().  Returns 0, or -1 with a sentence in
 * error.  A kernel without Landlock is no error; one without seccomp is.
 */
int sandbox_enter(const struct sandbox_limits *limits, char *error,
                  size_t size);

#endif
