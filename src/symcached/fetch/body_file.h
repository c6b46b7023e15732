/*
 * Copyright (C) the ngx_symcache authors
 *
 * Receives a body into a file, within limits of size and disk space, and keeps
 * it in such a way that an interrupted transfer can be resumed.
 */
#pragma once

#include "config/config.h"
#include "resume.h"
#include "classify.h"

enum body_file_problem {
    BODY_FILE_GOOD,
    BODY_FILE_TOO_LARGE,
    BODY_FILE_NO_SPACE,
    BODY_FILE_FAILED, /* the file cannot be written */
    BODY_FILE_RANGE   /* not the range that was asked for */
};

struct body_file {
    int fd;                 /* -1: not open yet */
    int (*open)(void *arg); /* opens it; most answers have no file */
    void *open_arg;
    uint64_t max; /* bytes */
    const struct cache_config *cache;
    struct resume resume;
    unsigned char *gathered; /* bytes that are not written yet; or NULL */
    size_t ngathered;
    bool rest;             /* the rest of an interrupted body is arriving */
    struct digest *digest; /* of the file's content; NULL = none is expected */
    char expected[SYMCACHE_DIGEST_TEXT + 1];         /* of the file, or "" */
    char expected_content[SYMCACHE_DIGEST_TEXT + 1]; /* by Content-Digest */
    uint64_t looked; /* size of the file when disk space was last checked */
    bool may_be_empty;
    enum body_file_problem problem;
    char reason[256];
};

/*
 * Takes the next len bytes of a body; easy is the handle that receives the
 * answer.  rest is true for a 206 that was asked for.  Returns false if the
 * transfer is to be ended; problem says why.
 */
bool body_file_receive(struct body_file *body_file,
                       const struct fetch_response *response, CURL *easy,
                       bool rest, const void *data, size_t len);

/* Writes what has arrived so far, and appends the headers that ask for the
 * rest, as resume_headers() does. */
struct curl_slist *body_file_headers(struct body_file *body_file,
                                     const char *url, struct curl_slist *list);

/* Is disk space missing that is being freed at present? */
bool body_file_awaits_space(const struct body_file *body_file);

/* Classifies the problem. */
void body_file_judge(const struct body_file *body_file,
                     struct classification *class);

/*
 * The body is complete.  rest is true for a 206 that was asked for: only then
 * do the bytes of earlier answers belong to the file.
 */
void body_file_finish(struct body_file *body_file,
                      struct fetch_response *response, bool rest,
                      struct classification *class);

void body_file_free(struct body_file *body_file);
