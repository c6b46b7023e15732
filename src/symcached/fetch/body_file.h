/*
 * Copyright (C) the ngx_symcache authors
 *
 * A body on its way into a file: bounded, with room for it, and so kept that
 * a transfer that breaks can go on.
 */
#ifndef SYMCACHED_FETCH_BODY_FILE_H
#define SYMCACHED_FETCH_BODY_FILE_H

#include "config/config.h"
#include "resume.h"
#include "classify.h"

enum body_file_problem {
    BODY_FILE_GOOD,
    BODY_FILE_TOO_LARGE,
    BODY_FILE_NO_SPACE,
    BODY_FILE_FAILED, /* to be written */
    BODY_FILE_RANGE   /* is not the one that was asked for */
};

struct body_file {
    int fd;
    uint64_t max; /* bytes */
    const struct cache_config *cache;
    struct resume resume;
    bool rest;             /* of a body that broke off is what comes */
    struct digest *digest; /* of what is in the file; NULL = not asked for */
    char expected[SYMCACHE_DIGEST_TEXT + 1];         /* of the file, or "" */
    char expected_content[SYMCACHE_DIGEST_TEXT + 1]; /* by Content-Digest */
    uint64_t looked; /* bytes at which the room was last looked at */
    enum body_file_problem problem;
    char reason[256];
};

/*
 * The next len bytes of a body came, which are counted in the answer that
 * easy receives; rest: of a 206 that was asked for.  Returns false if no more
 * is wanted; problem says why.
 */
bool body_file_receive(struct body_file *body_file,
                       const struct fetch_answer *answer, CURL *easy,
                       bool rest, const void *data, size_t len);

/* There was no room, but something is being removed. */
bool body_file_awaits_space(const struct body_file *body_file);

/* What the problem means. */
void body_file_judge(const struct body_file *body_file,
                     struct classification *class);

/*
 * A body came to its end; rest: that of a 206 which was asked for.  What came
 * before this answer counts only where it is continued.
 */
void body_file_finish(struct body_file *body_file, struct fetch_answer *answer,
                      bool rest, struct classification *class);

void body_file_free(struct body_file *body_file);

#endif
