/*
 * Copyright (C) the ngx_symcache authors
 *
 * What files of steps share: an upload that is worked on, and what comes next.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include "base/workdir.h"
#include "peers.h"
#include "unpacking.h"
#include "upload.h"

struct upload {
    LIST_ENTRY(upload) entry;
    struct uploads *uploads;
    struct config *config;
    struct upload_request request;
    char *texts; /* of the request */
    char *debug_ids; /* of artifacts; or NULL */
    char *doubts;    /* about files of these; or NULL */
    char work[WORKDIR_PATH_MAX];
    int in; /* the body */
    int disk; /* struct publication, which gets it */
    struct unpacking unpacking;
    struct publication *publication; /* the thread's, once it runs */
    struct task *task;
    bool shares; /* files go into the tier before they have their names, */
    bool shared; /* and are there */
    bool awaits_turn;  /* UPLOADS_MAX others are worked on */
    bool awaits_other; /* another upload changes one of these files before */
    struct tier_copy *tier_copy;
    struct invalidation *invalidation;
    struct peer_notification *notification;
    char untold[PEERS_UNTOLD];
    struct task *completion;
    char part[SYMCACHE_NAME_MAX + 1]; /* file of a part; "" where it is the
                                         whole one */
    struct task *join;
    struct tier_get *get; /* a part that another machine has taken */
    int got;              /* its content, once it is there; or -1 */
    unsigned missing;     /* which one it is */
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
    LIST_HEAD(, upload) running; /* or waiting for their turn */
    unsigned n;                  /* of those that run */
    unsigned nwaiting;
    bool stopping;
    char *root; /* that the work folder is in */
    struct workdir *workdir;
    struct peers *peers;
    struct recoveries *recoveries;
    struct removals *removals;
    struct cleaner *cleaner;
    struct assemblies *assemblies;
    LIST_HEAD(, bundle_listing) told; /* by other machines */
};

/* Step 2: gives the files their names; or with "shares" only looks whether they
 * may have them. */
void upload_publish(struct upload *upload);

/* Answers, and frees the upload. */
void upload_finish(struct upload *upload, int status);

void upload_refuse(struct upload *upload, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what is larger than "uploads.max_size". */
void upload_refuse_size(struct upload *upload, const char *what);

/* Prints " file=<name>/<id>/<file>" for the log, or "" if it has no path. */
void upload_path_print(char *text, size_t size, const struct upload *upload);

/* The same for what this machine does not do. */
void upload_refuse_errno(struct upload *upload, int errnum, const char *what);
