/*
 * Copyright (C) the ngx_symcache authors
 *
 * How much may be removed to make room for something else.  A request for space
 * originates outside, so it is judged by the present state of the file system
 * and never by earlier requests: repeating a request, from wherever, only finds
 * the room that was already made for the first one.
 *
 * A length that a server announces costs that server nothing, while bytes that
 * have arrived cost as much to send as to remove.  Therefore everything that
 * is announced but has not arrived gets a quarter at most, and everything that
 * is under way together gets half.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum space_request_kind {
    SPACE_ANNOUNCED, /* for a length that was announced */
    SPACE_ARRIVED,   /* for bytes that have arrived and what is made of them */
    SPACE_REQUEST_KINDS
};

struct space_request {
    enum space_request_kind kind;
    dev_t device;
    uint64_t bytes; /* that should be free in addition to cache.min_free */
    bool is_elsewhere; /* for a file in a tree that the pass does not clean: all
                          that it cleans may go for it */
};

/* The space of a file system, in bytes. */
struct space_usage {
    uint64_t free; /* in addition to cache.min_free */
    uint64_t
        removable; /* in addition to what must be removed for cache.min_free */
    uint64_t claimed; /* reserved for bytes that have not arrived yet */
    uint64_t arrived; /* part of files that are under way */
};

/* The number of file systems for which requests can wait. */
#define SPACE_REQUESTS_MAX 8

/* Waiting requests: the largest one of each file system, the oldest first. */
struct space_requests {
    struct space_request requests[SPACE_REQUESTS_MAX];
    size_t n;
};

/* A request that finds no place here is dropped: its maker asks again. */
void space_requests_add(struct space_requests *requests,
                        const struct space_request *request);

/* Takes the first one out.  Its bytes are 0 if there is none. */
struct space_request space_requests_take(struct space_requests *requests);

/* The limit for everything of this kind together. */
uint64_t space_request_share(const struct space_usage *space,
                             enum space_request_kind kind);

/*
 * The limit for one more request at present.  For a larger one nothing is
 * removed at all.
 */
uint64_t space_request_most(const struct space_usage *space,
                            enum space_request_kind kind);

/*
 * The number of bytes that must be free to grant a request: space for it, for
 * the files made from it, and for some of the next requests.  0 if the request
 * is refused.
 */
uint64_t space_request_grant(const struct space_usage *space,
                             enum space_request_kind kind, uint64_t bytes);

/* Adds the files that are being written in the work folders of a root. */
void space_request_look(const char *root, struct space_usage *space);
