/*
 * Copyright (C) the ngx_symcache authors
 *
 * What upload.c and joining.c share: an upload that is worked on, and its
 * steps.
 */
#ifndef SYMCACHED_UPLOAD_STATE_H
#define SYMCACHED_UPLOAD_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "base/workdir.h"
#include "symcached/intake/report.h"
#include "upload.h"

struct upload {
    LIST_ENTRY(upload) entry;
    struct uploads *uploads;
    struct config *config;
    struct upload_request request;
    char *texts; /* of the request */
    char work[WORKDIR_PATH_MAX];
    char next[48]; /* where the next process begins */
    uint64_t left; /* bytes that may still come out */
    unsigned batch;
    int in;
    int report;
    int scratch;
    int outs[UPLOAD_OUTS];
    struct child *child;
    struct publication *publication; /* the thread's, once it runs */
    struct task *task;
    bool shares; /* files go into the tier before they have their names, */
    bool shared; /* and are there */
    struct sharing *sharing;
    struct invalidation *invalidation;
    struct telling *telling;
    char part[SYMCACHE_NAME_MAX + 1]; /* file of a part; "" where it is the
                                         whole one */
    struct task *join;
    bool joins; /* the parts of a symbfile are read, or what they make */
    bool waits; /* to do so, for another upload that does */
    struct upload_result result;
    char archive[256];
    char text[UPLOAD_TEXT_SIZE];
    upload_done_fn done;
    void *arg;
};

struct uploads {
    struct event_base *base;
    struct scheduler *scheduler;
    LIST_HEAD(, upload) running;
    unsigned n;
    bool stopping;
    char *root; /* that the work folder is in */
    struct workdir *workdir;
    struct peers *peers;
    struct recoveries *recoveries;
    struct removals *removals;
    struct cleaner *cleaner;
};

/* Begins with step 1: child processes unpack what u->in is open for. */
void upload_unpack(struct upload *u);

/* Answers, and frees the upload. */
void upload_finish(struct upload *u, int status);

void upload_refuse(struct upload *u, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what this machine does not do. */
void upload_refuse_errno(struct upload *u, int errnum, const char *what);

#endif
