/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file of a directory that is used where it is, instead of a copy.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define IN_PLACE_SETTLED 3600 /* seconds after the last change of the content */

struct in_place {
    const uint8_t *map; /* or NULL: it is to be copied */
    uint64_t size;
};

/*
 * May an open file be used where it is?  It may if it lies in a file system of
 * this machine, has max bytes at the most, was not changed since the time
 * `unchanged`, and its content not since `settled`.  In a file system of the
 * network it could change without a trace, and a young one may still be written
 * to.  Fills *st then.
 */
bool in_place_may_stay(int fd, time_t unchanged, time_t settled, uint64_t max,
                       struct stat *st);

/*
 * Maps an open file, the one of a place, if it may be used where it is.
 *
 * Which file it is must not be told by a process that has read a file of a
 * stranger.  So the child hands its descriptor to the helper first, by a
 * socket that it closes before it enters the sandbox, and later names only the
 * place.
 */
void in_place_map(struct in_place *file, int socket, size_t place, int fd,
                  time_t unchanged, time_t settled, uint64_t max);

/*
 * Has the file been empty for so long that it is not being written?  Then it
 * is a leftover.
 */
bool in_place_is_void(const struct stat *st);

/* The descriptor of the place, or -1: nothing is waited for. */
int in_place_receive(int socket, size_t place);

/* Writes the path of an open file.  Returns 0, or -1 with errno: ESTALE if it
 * does not lie any more where it was opened. */
int in_place_path(int fd, char path[PATH_MAX]);

/* May all users of this machine read the file at an absolute path, nginx's
 * workers among them? */
bool in_place_is_public(const char *path);

/* Makes a symbolic link to an open file.  Returns as in_place_path(). */
int in_place_link(int fd, const char *path);
