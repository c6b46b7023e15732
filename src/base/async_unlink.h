/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes files and folders beside the loop: to free the blocks of a PDB of
 * gigabytes takes a file system long.  What is given to it lies below a work
 * directory, so that after a kill it goes with that.
 *
 * One for the process.
 */
#ifndef BASE_ASYNC_UNLINK_H
#define BASE_ASYNC_UNLINK_H

#include <stdbool.h>

/* How often to ask, who waits for async_unlink_works() to end. */
#define ASYNC_UNLINK_MS 100

/* rm -rf of a path below a work directory, soon; it is not used again. */
void async_unlink_add(const char *path);

/*
 * Will there soon be more room, because something is being removed?  A disk
 * that has taken long over it already is not expected to come to an end.
 */
bool async_unlink_works(void);

/* Waits, when the loop has ended, until all that was added is gone. */
void async_unlink_settle(void);

#endif
