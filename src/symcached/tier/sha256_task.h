/*
 * Copyright (C) the ngx_symcache authors
 *
 * The SHA-256 of files in a thread of its own, since they may be large, and
 * disks slow.
 */
#pragma once

#include <stdint.h>
#include "base/digest.h"

struct event_base;

#define CHECKSUM_FILES 2

struct checksum {
    char sha256[CHECKSUM_FILES][DIGEST_HEX + 1];
    uint64_t size[CHECKSUM_FILES];
    int errnum; /* why they are not known, or 0 */
};

/* sum is valid during the call only. */
typedef void (*checksum_done_fn)(void *arg, const struct checksum *sum);

/*
 * Reads n files, at most CHECKSUM_FILES, from their beginnings; the caller
 * keeps the descriptors.  done is called once, never from inside.  Returns NULL
 * with errno; task_cancel() ends the task.
 */
struct task *checksum_start(struct event_base *base, const int *fds,
                            unsigned n, checksum_done_fn done, void *arg);

/* The same of a part of one file: size bytes, or fewer at its end. */
struct task *checksum_part_start(struct event_base *base, int fd,
                                 uint64_t from, uint64_t size,
                                 checksum_done_fn done, void *arg);
