/*
 * Copyright (C) the ngx_symcache authors
 *
 * The program that the helper starts for work in a sandbox.  It is not the
 * helper itself, because loading the helper's libraries would take most of the
 * time of such a process, which uses none of them.
 */
#ifndef CHILD_SANDBOX_PROGRAM_H
#define CHILD_SANDBOX_PROGRAM_H

#include <stddef.h>

#define SANDBOX_PROGRAM "symcached-sandboxed"

/*
 * Opens the program, which lies next to the running one or in ../libexec from
 * there.  To be called once, at the start: a helper that goes on while another
 * version is installed keeps the program that speaks its language.  Returns 0,
 * or -1 with a sentence in error.
 */
int sandbox_program_open(char *error, size_t size);

/* The descriptor of the program, which can only be executed. */
int sandbox_program_fd(void);

#endif
