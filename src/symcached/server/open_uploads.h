/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploads that clients of one protocol have begun and not completed.  Each has
 * a key, by which it can be found.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "upload_page.h"


#define OPEN_UPLOAD_KEY 32 /* hex digits */

/* The beginning of what a protocol knows of an upload. */
struct open_upload {
    TAILQ_ENTRY(open_upload) next;
    struct open_uploads *list;
    struct evhttp_request *req; /* while one is worked on, or NULL */
    uint64_t used;              /* clock_ms() */
    char user[UPLOAD_USER_SIZE];
    char key[OPEN_UPLOAD_KEY + 1];
};

struct open_uploads {
    TAILQ_HEAD(, open_upload) all; /* the oldest first */
    size_t most;                   /* of one user */
    void (*drop)(struct open_upload *upload); /* frees what is in it; or NULL */
};

/* Adds one of so many bytes, which are zero behind the beginning.  A user's
 * oldest one goes if there are as many as may be: a client that was killed does
 * not complete its own.  Returns NULL if it is in use, or without memory. */
void *open_uploads_add(struct open_uploads *list, const char *user,
                       size_t size);

/* Every client that knows the key may upload: it is as good as a token.
 * Returns NULL if there is none. */
void *open_uploads_find(const struct open_uploads *list, const char *key);

/* Drops those that no client went on with for an hour. */
void open_uploads_expire(struct open_uploads *list);

void open_upload_forget(struct open_upload *upload);
void open_uploads_forget_all(struct open_uploads *list);
