/*
 * Copyright (C) the ngx_symcache authors
 */
#include "file_body.h"

#include <stdint.h>
#include <string.h>

#include "base/digest.h"
#include "proto/digest.h"

static size_t body_on_read(char *data, size_t size, size_t n, void *arg)
{
    struct file_body *body = arg;
    size_t room = size * n;

    if ((uintmax_t)body->left < room) {
        room = (size_t)body->left;
    }
    n = fread(data, 1, room, body->file);
    body->left -= (off_t)n;
    return n > 0 || room == 0 ? n : CURL_READFUNC_ABORT;
}

/* For another connection, if the server has closed the one that was kept. */
static int file_body_on_seek(void *arg, curl_off_t offset, int origin)
{
    struct file_body *body = arg;

    if (origin != SEEK_SET || offset < 0 || offset > body->size ||
        fseeko(body->file, body->begin + (off_t)offset, SEEK_SET) != 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    body->left = body->size - (off_t)offset;
    return CURL_SEEKFUNC_OK;
}

void file_body_begin(struct file_body *body, CURL *curl, FILE *file,
                     off_t begin, off_t size)
{
    *body = (struct file_body){file, begin, size, 0};
    (void)file_body_on_seek(body, 0, SEEK_SET); /* of a regular file */
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, body_on_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, body);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, file_body_on_seek);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, body);
}

bool file_body_has_digest(FILE *file, const char *text)
{
    char theirs[SYMCACHE_DIGEST_TEXT + 1], ours[SYMCACHE_DIGEST_TEXT + 1] = "";
    char buf[BUFSIZ];
    struct digest *digest;
    size_t n;

    if (!symcache_digest_read(text, strlen(text), theirs)) {
        return false;
    }
    digest = digest_new();
    rewind(file);
    while ((n = fread(buf, 1, sizeof(buf), file)) > 0) {
        digest_add(digest, buf, n);
    }
    if (digest != NULL && !ferror(file)) {
        digest_text(digest, ours);
    }
    digest_free(digest);
    return strcmp(theirs, ours) == 0;
}
