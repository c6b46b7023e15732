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
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * A sandbox for a daemon that serves the network and reads files which were
 * made from untrusted input: no_new_privs, Landlock (where the kernel has it)
 * and a seccomp allow-list.  Afterwards it can read below some folders, accept
 * and make connections, and start threads.  It can write only to files in the
 * folders of its log and of large bodies, and cannot start a process, execute
 * a file, or make memory executable.
 */

/* The access that stays allowed.  The paths are those of files, and may be
 * NULL. */
struct daemon_sandbox {
    const int *roots; /* open folders, below which files may be read */
    size_t nroots;
    const char *config; /* files in its folder may be read */
    const char *log;    /* files in its folder may be made and written */
    const char *socket; /* files in its folder may be removed */
    int spool; /* an open folder, in which files without names may be made; -1:
                  none */
    unsigned port; /* TCP port to connect to; 0 = none */
};

/*
 * Enters the sandbox.  To be called once, when all is open and before the
 * first thread starts.  Returns 0; 1 if the kernel has no Landlock, so that it
 * can read all that its user can read; or -1 with a sentence in error.  It is
 * an error if the kernel has no seccomp.
 */
int daemon_sandbox_enter(const struct daemon_sandbox *allowed, char *error,
                         size_t size);

/*
 * Makes a filter for programs of other projects that read untrusted files, in
 * the form that bwrap --seccomp takes: a descriptor of a file in memory, at its
 * beginning.  It denies (EPERM) calls by which bugs of the kernel are reached,
 * other processes looked into, namespaces made, or memory taken that no limit
 * counts; and sockets, but for those that lead nowhere outside (AF_UNIX) and,
 * with network, those of IP.  Returns -1 with errno.
 */
int sandbox_bwrap_filter(bool network);

/*
 * Makes both filters, which later calls of the function above copy.  Where an
 * allocation fails, libseccomp can crash, compute without end, or leave calls
 * out of a filter, so a daemon has this done when it starts.  Returns 0, or -1
 * with errno.
 */
int sandbox_bwrap_prepare(void);

/*
 * What becomes of a process that parses an untrusted file and gets no memory,
 * in programs that are linked with allocation.c (WRAP_... in the Makefile):
 * from now on lacks is called where an allocation of so many bytes has failed,
 * by any thread.  It may end the process, and must not allocate; if it returns,
 * so does the allocation, with NULL.
 */
void allocation_must_succeed(void (*lacks)(size_t size));
