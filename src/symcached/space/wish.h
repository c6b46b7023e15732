/*
 * Copyright (C) the ngx_symcache authors
 *
 * How much may be removed to make room for something else.  A wish for space
 * originates outside, so it is judged by the present state of the file system
 * and never by earlier wishes: repeating a wish, from wherever, only finds the
 * room that was already made for the first one.
 *
 * A length that a server announces costs that server nothing, while bytes that
 * have arrived cost as much to send as to remove.  Therefore everything that
 * is announced but has not arrived gets a quarter at most, and everything that
 * is under way together gets half.
 */
#ifndef SYMCACHED_SPACE_WISH_H
#define SYMCACHED_SPACE_WISH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum wish_kind {
    WISH_CLAIM, /* for a length that was announced */
    WISH_BODY,  /* for bytes that have arrived, and for what is made of them */
    WISH_KINDS
};

struct wish {
    enum wish_kind kind;
    dev_t device;
    uint64_t bytes; /* that should be free in addition to cache.min_free */
};

/* The space of a file system, in bytes. */
struct wish_space {
    uint64_t free; /* in addition to cache.min_free */
    uint64_t
        removable; /* in addition to what must be removed for cache.min_free */
    uint64_t claimed; /* reserved for bytes that have not arrived yet */
    uint64_t arrived; /* part of files that are under way */
};

/* The number of file systems for which wishes can wait. */
#define WISHES 8

/* Waiting wishes: the largest one of each file system, the oldest first. */
struct wishes {
    struct wish wishes[WISHES];
    size_t n;
};

/* A wish that finds no place here is dropped: whoever made it asks again. */
void wishes_add(struct wishes *wishes, const struct wish *wish);

/* Takes the first one out.  Its bytes are 0 if there is none. */
struct wish wishes_take(struct wishes *wishes);

/* The limit for everything of this kind together. */
uint64_t wish_share(const struct wish_space *space, enum wish_kind kind);

/*
 * The limit for one more wish at present.  For a larger one nothing is removed
 * at all.
 */
uint64_t wish_most(const struct wish_space *space, enum wish_kind kind);

/*
 * The number of bytes that must be free to grant a wish: room for it, for what
 * is made of it, and for some of the wishes that follow.  0 if the wish is
 * refused.
 */
uint64_t wish_grant(const struct wish_space *space, enum wish_kind kind,
                    uint64_t bytes);

/* Adds what is under way in the work folders of a root. */
void wish_look(const char *root, struct wish_space *space);

#endif
