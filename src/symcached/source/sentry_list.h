/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lists of files as a Sentry gives them, read and remembered for an hour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENTRY_FILES_MAX 64 /* of a list that count */
#define SENTRY_ID_MAX 128   /* bytes of the id of a file */
#define SENTRY_CURSOR_MAX 64

struct sentry_file {
    unsigned formats;  /* a bit 1 << FORMAT_...; 0: nothing here reads it */
    unsigned features; /* a set of SYMCACHE_HAS_...; 0: not known */
    char id[SENTRY_ID_MAX + 1];
};

struct sentry_list {
    struct sentry_file *files; /* in the server's order */
    size_t n;
    bool is_cut;      /* the server has more files than were read */
    uint64_t fetched; /* as of clock_ms() */
};

struct sentry_lists;

struct sentry_lists *sentry_lists_new(void);
void sentry_lists_free(struct sentry_lists *lists); /* NULL is allowed */

/* The list that is remembered of a URL, or NULL.  Empty ones are not. */
const struct sentry_list *sentry_lists_find(struct sentry_lists *lists,
                                            const char *url);

/*
 * Reads a page, whose files follow those that list has, up to
 * SENTRY_FILES_MAX: a JSON list of objects, of which "id" and "symbolType"
 * count, and "data.features" if it is there.  Returns false, with a reason, if
 * it is not such a list.
 */
bool sentry_list_read(struct sentry_list *list, const char *text, size_t size,
                      char *error, size_t error_size);

/* Remembers a list, in the place of a former one of the URL; the files are
 * copied.  Without memory it is not remembered. */
void sentry_lists_add(struct sentry_lists *lists, const char *url,
                      const struct sentry_list *list);

/*
 * Reads the cursor of the next page from the parameters of a link, as
 * rel="next"; results="true"; cursor="0:100:0".  Returns false if there is no
 * such page; cursor is "" if there is one and it is not known how to ask for
 * it.
 */
bool sentry_list_next(const char *link, char cursor[SENTRY_CURSOR_MAX + 1]);
