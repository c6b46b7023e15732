/*
 * Copyright (C) the ngx_symcache authors
 *
 * The places of a directory at which a file may lie.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "in_place.h"
#include "intake.h"

/* What is looked for; members mean what they do in struct unpack_request. */
struct dir_search {
    int root;           /* open */
    const char **names; /* relative to it */
    size_t n;
    size_t index2;
    bool beneath;
    bool any_case; /* where the exact name does not exist */
    bool is_flat; /* the first place is not one to be opened */
    time_t unchanged;
    time_t settled;
    uint64_t max;
    int socket; /* takes the files that are left where they are; or -1 */
};

struct dir_places {
    size_t first; /* index of the first of n places that count */
    size_t n;
    int fds[UNPACK_PLACES];
    int errors[UNPACK_PLACES];   /* errno where there is no descriptor */
    bool pointer[UNPACK_PLACES]; /* it is a file.ptr */
    struct in_place in_place[UNPACK_PLACES];
};

/* Is the name that of a file.ptr? */
bool dir_places_is_pointer(const char *name);

/* Opens the places that count.  places is all zeroes. */
void dir_places_open(struct dir_places *places,
                     const struct dir_search *search);

/* Opens the file at the first place that counts, where the names are spelled as
 * index2.txt is.  Returns its descriptor and *place, or -1 with errno. */
int dir_places_open_first(const struct dir_search *search, size_t *place);

/* Returns the letter of intake.h for a place that could not be opened; *why
 * gets the reason in words. */
char dir_places_unopened(int error, const char **why);

/* Does a file keep that size for a second?  One that is being copied grows. */
bool dir_places_settled(int fd, uint64_t size);
