/*
 * Copyright (C) the ngx_symcache authors
 *
 * A part of a file, as the body of a request: no more than was announced, and
 * no less.  libcurl itself would send a file that grows to its end, and the
 * server take what is too much for another request; and it would wait for the
 * answer to a body that ends too early, for which the server waits.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct file_body {
    FILE *file;
    off_t begin;
    off_t size;
    off_t left;
};

/* Prepares a request that sends size bytes of a file.  If the file ends before,
 * it fails with CURLE_ABORTED_BY_CALLBACK. */
void file_body_begin(struct file_body *body, CURL *curl, FILE *file,
                     off_t begin, off_t size);

/* Is this the digest of a whole file, as SYMCACHE_HEADER_DIGEST has it? */
bool file_body_has_digest(FILE *file, const char *text);
