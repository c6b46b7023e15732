/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is mounted where.  A thread that waits for a network share cannot be
 * ended, and no process ends before its threads: what may hang is for a
 * process of its own.
 */
#pragma once

#include <stdbool.h>

/*
 * Is the file system at an absolute path without symbolic links, and each one
 * that is mounted beneath, on a disk of this machine or in its memory?  Of a
 * path with "//", or a component that begins with a dot, that is not known.
 * text is that of /proc/self/mountinfo, see proc_pid_mountinfo(5).
 */
bool mounts_text_is_local(const char *text, const char *path);

/* The same of this process's mounts as they are now.  Blocks on nothing; for
 * one thread. */
bool mounts_is_local(const char *path);
