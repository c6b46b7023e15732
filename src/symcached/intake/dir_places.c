/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dir_places.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "casefold_open.h"

/* Leaves only the places for the number of tiers that the store has. */
static void tiers(struct dir_places *places, const struct dir_search *search,
                  bool any_case)
{
    size_t index2 = search->index2;

    if (index2 == 0 || index2 >= places->n) {
        return;
    }

    if (casefold_has(search->root, search->names[index2], any_case) == 0) {
        places->first = index2 + 1;
    } else if (casefold_absent(errno)) {
        places->n = index2;
    } else {
        places->fds[index2] = -1;
        places->errors[index2] = errno;
    }
}

bool dir_places_is_pointer(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL && strcmp(slash, "/file.ptr") == 0;
}

/* Returns -1 with ENODATA instead of a file that is empty and stays so. */
static int without_void(int fd)
{
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && in_place_is_void(&st)) {
        close(fd);
        errno = ENODATA;
        return -1;
    }
    return fd;
}

int dir_places_open_first(const struct dir_search *search, size_t *place)
{
    struct dir_places places = {.n = search->n};

    tiers(&places, search, false);
    *place = places.first;
    return without_void(casefold_open(search->root,
                                      search->names[places.first],
                                      search->beneath, search->any_case));
}

/* Opens the file at a place.  If its name is not known, this also covers the
 * next places in the same folder.  Returns the number of places. */
static size_t open_place(struct dir_places *places,
                         const struct dir_search *search, size_t i)
{
    size_t n = casefold_count_unnamed(search->names + i, places->n - i);

    if (n > 0) {
        casefold_open_unnamed(search->root, search->names + i, n,
                              search->beneath, places->fds + i,
                              places->errors + i);
        return n;
    }
    places->fds[i] = casefold_open(search->root, search->names[i],
                                   search->beneath, search->any_case);
    places->errors[i] = errno;
    return 1;
}

/* Opens the places that count.  Returns false if none of them exists. */
static bool open_all(struct dir_places *places, const struct dir_search *search)
{
    bool there = search->is_flat;
    size_t i, opened = 0;

    for (i = places->first + search->is_flat; i < places->n; i++) {
        if (search->index2 != 0 && i == search->index2) {
            there = true;
            continue;
        }
        if (i >= opened) {
            opened = i + open_place(places, search, i);
        }
        places->pointer[i] = dir_places_is_pointer(search->names[i]);
        if (places->fds[i] >= 0) {
            places->fds[i] = without_void(places->fds[i]);
            places->errors[i] = errno;
        }
        if (places->fds[i] >= 0 && !places->pointer[i] &&
            search->unchanged != 0) {
            in_place_map(&places->in_place[i], search->socket, i,
                         places->fds[i], search->unchanged, search->settled,
                         search->max);
        }
        there |= places->fds[i] >= 0 || !casefold_absent(places->errors[i]);
    }
    return there;
}

void dir_places_open(struct dir_places *places, const struct dir_search *search)
{
    places->n = search->n;
    tiers(places, search, false);
    if (open_all(places, search) || places->n == search->n) {
        return;
    }

    /* It does not exist in one tier.  index2.txt may be spelled in another
     * case, too, and finding out costs as much as the other place. */
    places->n = search->n;
    tiers(places, search, true);
    if (places->n == search->n) {
        (void)open_all(places, search);
    }
}

char dir_places_unopened(int error, const char **why)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
        *why = "no such file";
        return 'N';
    case ENODATA:
        *why = "an empty file";
        return 'N';
    case EXDEV:
        *why = "a symbolic link leads out of the directory";
        return 'E';
    case ENOLINK:
        *why = "a symbolic link leads nowhere";
        return 'E';
    case EINVAL:
        *why = "not a regular file";
        return 'U';
    default:
        *why = strerror(error);
        return 'E';
    }
}

bool dir_places_settled(int fd, uint64_t size)
{
    static const struct timespec moment = {1, 0};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    return lseek(fd, 0, SEEK_END) == (off_t)size;
}
