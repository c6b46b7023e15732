/*
 * Copyright (C) the ngx_symcache authors
 *
 * Addresses that were written into a program when it was started lie in pages
 * of its own, which a fork copies the tables of.  Libcapstone has 1.3 MB of
 * them: a third of the time of a fork.
 */
#ifndef WORKER_POOL_SHARE_RELOCATIONS_H
#define WORKER_POOL_SHARE_RELOCATIONS_H

/*
 * Puts such pages, which can only be read since then, into files in memory and
 * maps these in their place: a fork leaves it to the copy to look for what it
 * reads.  For a process with one thread, which must not load libraries
 * afterwards.  Pages stay as they are where there is no memory for it.
 */
void share_relocations(void);

#endif
