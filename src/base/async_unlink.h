/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes files and folders in a thread, as a file system takes long to free
 * the blocks of a PDB of gigabytes.  The paths must lie below a work folder:
 * if the process is killed first, they are removed with that.
 *
 * There is one queue for the whole process.
 */
#pragma once

#include <stdbool.h>

/* How often a caller that waits for room asks async_unlink_works(). */
#define ASYNC_UNLINK_MS 100

/*
 * Removes a path below a work folder like "rm -rf", soon.  The caller must not
 * use that path again.
 */
void async_unlink_add(const char *path);

/*
 * Returns whether there will soon be more room because something is being
 * removed.  A removal that has already taken a minute is not expected to end.
 */
bool async_unlink_works(void);

/* Waits until all that was added is removed; for use after the loop's end. */
void async_unlink_settle(void);
