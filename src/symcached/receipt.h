/*
 * Copyright (C) the ngx_symcache authors
 *
 * A body on its way into a file: bounded, with room for it, and so kept that
 * a transfer that breaks can go on.
 */
#ifndef SYMCACHED_RECEIPT_H
#define SYMCACHED_RECEIPT_H

#include "config.h"
#include "resume.h"
#include "verdict.h"

enum receipt_problem {
    RECEIPT_GOOD,
    RECEIPT_TOO_LARGE,
    RECEIPT_NO_ROOM,
    RECEIPT_FAILED, /* to be written */
    RECEIPT_RANGE   /* is not the one that was asked for */
};

struct receipt {
    int fd;
    uint64_t max; /* bytes */
    const struct cache_config *cache;
    struct resume resume;
    uint64_t looked; /* bytes at which the room was last looked at */
    enum receipt_problem problem;
    char reason[256];
};

/* Each returns false if no more is wanted; problem says why. */

/* A whole body of length bytes (-1 = not known) begins. */
bool receipt_begin(struct receipt *receipt, const char *url, int64_t length);

/* A part with 206 begins. */
bool receipt_continue(struct receipt *receipt);

bool receipt_write(struct receipt *receipt, const void *data, size_t len);

/* What the problem means. */
void receipt_judge(const struct receipt *receipt, struct verdict *verdict);

#endif
