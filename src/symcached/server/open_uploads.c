/*
 * Copyright (C) the ngx_symcache authors
 */
#include "open_uploads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/secret.h"

#define UNUSED_MS (3600 * 1000)

void open_upload_forget(struct open_upload *upload)
{
    struct open_uploads *list = upload->list;

    TAILQ_REMOVE(&list->all, upload, next);
    if (list->drop != NULL) {
        list->drop(upload);
    }
    free(upload);
}

void open_uploads_forget_all(struct open_uploads *list)
{
    while (!TAILQ_EMPTY(&list->all)) {
        open_upload_forget(TAILQ_FIRST(&list->all));
    }
}

void open_uploads_expire(struct open_uploads *list)
{
    struct open_upload *upload, *next;

    for (upload = TAILQ_FIRST(&list->all); upload != NULL; upload = next) {
        next = TAILQ_NEXT(upload, next);
        if (upload->req == NULL && clock_ms() - upload->used > UNUSED_MS) {
            open_upload_forget(upload);
        }
    }
}

static bool has_place(struct open_uploads *list, const char *user)
{
    struct open_upload *upload, *oldest = NULL;
    size_t n = 0;

    TAILQ_FOREACH(upload, &list->all, next)
    {
        if (strcmp(upload->user, user) == 0) {
            n++;
            oldest = oldest == NULL && upload->req == NULL ? upload : oldest;
        }
    }
    if (n >= list->most && oldest != NULL) {
        open_upload_forget(oldest);
        n--;
    }
    return n < list->most;
}

void *open_uploads_add(struct open_uploads *list, const char *user,
                       size_t size)
{
    struct open_upload *upload =
        has_place(list, user) ? calloc(1, size) : NULL;
    uint8_t bytes[OPEN_UPLOAD_KEY / 2];

    if (upload == NULL ||
        getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        free(upload);
        return NULL;
    }
    hex_print(upload->key, bytes, sizeof(bytes), HEX_LOWER);
    upload->list = list;
    upload->used = clock_ms();
    snprintf(upload->user, sizeof(upload->user), "%s", user);
    TAILQ_INSERT_TAIL(&list->all, upload, next);
    return upload;
}

void *open_uploads_find(const struct open_uploads *list, const char *key)
{
    struct open_upload *upload, *found = NULL;

    TAILQ_FOREACH(upload, &list->all, next)
    {
        if (secret_is_equal(key, upload->key)) {
            found = upload;
        }
    }
    return found;
}
