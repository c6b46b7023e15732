/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes files and folders beside the loop: to free the blocks of a PDB of
 * gigabytes takes a file system long.  What is given to it lies below a work
 * directory, so that after a kill it goes with that.
 *
 * One for the process.
 */
#ifndef SYMCACHED_REMOVER_H
#define SYMCACHED_REMOVER_H

#include <stdbool.h>

/* rm -rf of a path below a work directory, soon; it is not used again. */
void remover_add(const char *path);

/* Waits until all that was added is gone.  Returns false if nothing was. */
bool remover_settle(void);

#endif
