/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the end of a transcoder says of the file that it was to convert.
 */
#pragma once

#include <stdbool.h>

/*
 * These signals end a process for reasons outside of it: a service manager, a
 * shell that is closed, the kernel when memory runs out.
 */
bool exit_status_is_from_outside(int sig);

/*
 * Exit codes that prove nothing about the file:  EX_TEMPFAIL; those of shells
 * for a program that they cannot run (126, 127) or that a signal ended (above
 * 128); that of ssh for its connection (255); and those of our converter for
 * input and output (2) and for a sandbox that cannot be set up (10).
 */
bool exit_status_is_of_machine(int code, bool is_ours);

/* Did this signal end it, as waitpid() tells, or a program that a shell has
 * started? */
bool exit_status_is_by(int status, int sig);
