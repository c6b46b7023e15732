/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lists of files as a Sentry gives them, read and remembered for an hour.
 */
#ifndef SYMCACHED_SOURCE_SENTRY_LIST_H
#define SYMCACHED_SOURCE_SENTRY_LIST_H

#include <stddef.h>
#include <stdint.h>

#define SENTRY_FILES_MAX 64 /* of a list that count */
#define SENTRY_ID_MAX 128   /* bytes of the id of a file */

struct sentry_file {
    unsigned formats;  /* a bit 1 << FORMAT_...; 0: nothing here reads it */
    unsigned features; /* a set of SYMCACHE_HAS_...; 0: not known */
    char id[SENTRY_ID_MAX + 1];
};

struct sentry_list {
    struct sentry_file *files; /* in the server's order */
    size_t n;
    uint64_t fetched; /* as of clock_ms() */
};

struct sentry_lists;

struct sentry_lists *sentry_lists_new(void);
void sentry_lists_free(struct sentry_lists *lists); /* NULL is allowed */

/* The list that is remembered of a URL, or NULL.  Empty ones are not. */
const struct sentry_list *sentry_lists_find(struct sentry_lists *lists,
                                            const char *url);

/*
 * Reads the answer of a URL, in the place of a former one: a JSON list of
 * objects, of which "id" and "symbolType" count, and "data.features" if it is
 * there.  Returns it, or NULL with a reason.  It is valid until the next call
 * but sentry_lists_find().
 */
const struct sentry_list *sentry_lists_add(struct sentry_lists *lists,
                                           const char *url, const char *text,
                                           size_t size, char *error,
                                           size_t error_size);

#endif
