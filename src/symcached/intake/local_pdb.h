/*
 * Copyright (C) the ngx_symcache authors
 *
 * A look into a directory for a plain PDB that may be used where it is, by its
 * name and its first bytes only, in a thread: for a caller whose converter
 * checks whether it is the right one.  Everything else is left to intake.h.
 * So is a directory that symbolic links or mounts lead to or out of: on a
 * network share the thread might hang, and a process cannot end before its
 * threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct unpack_request;

struct local_pdb_result {
    int fd; /* the file, until done returns; or -1 */
    size_t place;
    uint64_t size;
    bool late; /* the directory did not answer in time */
    unsigned ms;
};

typedef void (*local_pdb_done_fn)(void *arg,
                                  const struct local_pdb_result *result);

/*
 * Looks at the first place of the request that counts.  Of the request max,
 * first, root, unchanged, settled, places and index2 count, which are copied.
 * done is called once, and not from inside this function, unless task_cancel()
 * is called before.  Returns NULL with errno: EXDEV if the directory is not a
 * local one.
 */
struct task *local_pdb_start(struct event_base *base,
                             const struct unpack_request *request,
                             local_pdb_done_fn done, void *arg);
