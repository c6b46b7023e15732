/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parts of a symbfile, which come in any order, and more than once.  Each is
 * an uploaded file next to the whole one, until it expires; the latest part of
 * each number counts.  So the whole file can be made again, and repeated parts
 * or a whole upload that replaces another one need no state.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct event_base;

/* Writes the name of a part of a file. */
void parts_name(char *name, size_t size, const char *file, unsigned parts,
                unsigned part);

/*
 * Returns into how many parts a file is being sent, if these are not so many
 * and not all of them are there; or 0.  folder is that of the file.
 */
unsigned parts_other(const char *folder, const char *file, unsigned parts);

enum parts_state {
    PARTS_MISSING, /* not all are there: at least one is not */
    PARTS_JOINED,  /* they are, in a row, in the output */
    PARTS_FAILED   /* errnum */
};

/* missing: the last part that is not there, if one is. */
typedef void (*parts_done_fn)(void *arg, enum parts_state state, int errnum,
                              unsigned missing);

/*
 * Copies all parts of a file to the output, in a thread.  That fails with EFBIG
 * if they have more than max bytes, and with ENOSPC if fewer than keep would be
 * free then.  done is called once, never from inside.  Returns NULL with errno.
 */
struct task *parts_join(struct event_base *base, const char *folder,
                        const char *file, unsigned parts, const char *output,
                        uint64_t max, uint64_t keep, parts_done_fn done,
                        void *arg);
