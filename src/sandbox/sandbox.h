/*
 * Copyright (C) the ngx_symcache authors
 *
 * A sandbox for a process that is about to parse untrusted files: no_new_privs,
 * rlimits, Landlock (where the kernel has it) and a seccomp allow-list.
 * Afterwards the process can read, write and seek in its open descriptors, ask
 * how full their file systems are, map anonymous memory, read clocks and exit.
 * It cannot open a file or find out whether one exists, make a socket, or start
 * a process or thread.  fstat() may fail, depending on the C library; the size
 * of a file is what lseek() to its end returns.
 *
 * Threads that a program needs are started on the way and are also in the
 * sandbox.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "allocation.h"
#include "bwrap_filter.h"
#include "daemon_sandbox.h"

struct sandbox_limits {
    uint64_t memory;      /* RLIMIT_AS, bytes; 0 = unchanged */
    uint64_t file_size;   /* RLIMIT_FSIZE, bytes; 0 = unchanged */
    unsigned cpu_seconds; /* RLIMIT_CPU; 0 = unchanged */
};

/*
 * CPU seconds that reading so many bytes never needs: a limit for faults of
 * ours.  The demands of a file are bounded where it is read.
 */
unsigned sandbox_seconds(uint64_t bytes);

/*
 * Enters the sandbox.  To be called once, after the last open().  start, unless
 * it is NULL, may start threads: when it is called, files are out of reach
 * already.  It returns when those threads only wait for work.  Returns 0, or
 * -1 with a sentence in error.  It is an error if the kernel has no seccomp,
 * but not if it has no Landlock.
 */
int sandbox_enter(const struct sandbox_limits *limits, void (*start)(void),
                  char *error, size_t size);

/*
 * The same for a process that may be sent descriptors, some hundred at a time,
 * and map their files to read them.  own_memory is RLIMIT_DATA, as mapped files
 * do not count.
 */
int sandbox_enter_receiving(uint64_t own_memory, char *error, size_t size);

/*
 * Makes the filter of system calls that the former loads, for a process of
 * which copies enter: to make it takes longer than to load it.  Returns 0, or
 * -1 with errno; then each makes its own.
 */
int sandbox_prepare_receiving(void);

#endif
