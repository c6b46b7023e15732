/*
 * Copyright (C) the ngx_symcache authors
 *
 * What may be removed so that something more has room.  Such a wish comes
 * from outside, so that it is judged by what there is on the file system, and
 * never by what was wished before: one that is repeated, by whomever, finds
 * the room that the first one was given.
 *
 * A length that a server announces costs it nothing, bytes that came cost as
 * much to send as to remove.  So all that is announced and has not come yet
 * takes a quarter at most, and everything that is under way the half.
 */
#ifndef SYMCACHED_SPACE_WISH_H
#define SYMCACHED_SPACE_WISH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum wish_kind {
    WISH_CLAIM, /* for a length that was announced */
    WISH_BODY,  /* for what has come, and what is made of it */
    WISH_KINDS
};

struct wish {
    enum wish_kind kind;
    dev_t device;
    uint64_t bytes; /* to be free beside cache.min_free */
};

/* What there is on a file system, in bytes. */
struct wish_space {
    uint64_t free;      /* beside cache.min_free */
    uint64_t removable; /* beside what goes for that */
    uint64_t claimed;   /* is reserved, and has not come yet */
    uint64_t arrived;   /* of what is under way */
};

/* The file systems on which wishes wait at a time. */
#define WISHES 8

/* Those that wait: the largest of each file system, the oldest first. */
struct wishes {
    struct wish wishes[WISHES];
    size_t n;
};

/* One for which there is no place is made again by who asks again. */
void wishes_add(struct wishes *wishes, const struct wish *wish);

/* The first one; of 0 bytes if there is none. */
struct wish wishes_take(struct wishes *wishes);

/* The most that all of a kind may take together. */
uint64_t wish_share(const struct wish_space *space, enum wish_kind kind);

/* The most that is granted now; for more nothing is removed at all. */
uint64_t wish_most(const struct wish_space *space, enum wish_kind kind);

/*
 * What has to be free so that a wish has room, what is made of it as well,
 * and some of the next ones; 0 if it is refused.
 */
uint64_t wish_grant(const struct wish_space *space, enum wish_kind kind,
                    uint64_t bytes);

/* Adds what is under way in a root's work folders. */
void wish_look(const char *root, struct wish_space *space);

#endif
