/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that come in chunks, as Sentry's clients send them: each chunk is an
 * uploaded file under its SHA-1 until "uploads.parts_kept" is over, on every
 * machine that has the uploads.  A client says of which chunks a file is made,
 * and is told which of them are missing; when none is, the file is put
 * together and takes the steps of any upload (upload.h), one file after the
 * other.
 *
 * What has become of a file is remembered in memory.  After a restart the
 * client says once more what it wants, and the chunks are still there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "base/build_list.h"

struct cJSON;
struct uploads;

/* A SHA-1. */
struct upload_sum {
    uint8_t bytes[20];
};

enum assembly_state {
    ASSEMBLY_MISSING, /* chunks are; nothing is remembered */
    ASSEMBLY_WAITS,   /* it begins with this question */
    ASSEMBLY_RUNS,
    ASSEMBLY_DONE,
    ASSEMBLY_FAILED /* said once, then it is forgotten */
};

struct assembly_request {
    struct upload_sum sum;
    const char *name; /* without folders */
    const struct upload_sum *chunks;
    size_t nchunks;
    const struct cJSON *files; /* that the client asks for, by sum; or NULL */
    bool only_try;
    unsigned expires; /* seconds; 0 = never */
    struct build_labels labels;
    const char *user; /* or NULL */

    /* a bundle of scripts, which has no name */
    bool is_artifacts;
    const char *release; /* or NULL */
    const char *dist;    /* or NULL */
};

struct assembly_answer {
    enum assembly_state state;
    bool *missing;    /* of each chunk; to be freed; or NULL */
    const char *text; /* why it failed, or what is wrong with some of its
                         files; or NULL */
    const struct symstore_path *place; /* of what is done; or NULL */
};

struct assemblies;

/* Returns NULL without memory. */
struct assemblies *assemblies_new(struct uploads *uploads);
void assemblies_free(struct assemblies *assemblies); /* NULL is allowed */

/* What becomes of a file.  Of several files of one request for one place, one
 * with debug information stays, of these the largest, and all are done: a
 * build often has a program and its stripped copy.  Texts of the answer are
 * good until the next call.  Returns -1 if there is no room to remember one
 * more. */
int assemblies_ask(struct assemblies *assemblies,
                   const struct assembly_request *request,
                   struct assembly_answer *answer);

/* To be called when a file ends: ended from inside of what it is the end of,
 * which must not be disturbed; or stop, once, when no more files are taken. */
struct assembly_watch {
    LIST_ENTRY(assembly_watch) entry;
    struct assemblies *assemblies;
    void (*ended)(void *arg);
    void (*stop)(void *arg);
    void *arg;
};

/* Returns false if there are as many as can be. */
bool assemblies_watch(struct assemblies *assemblies,
                      struct assembly_watch *watch);
void assembly_unwatch(struct assembly_watch *watch);

/* Calls stop of all. */
void assemblies_stop(struct assemblies *assemblies);

/* An upload has ended: begins the next file that waits. */
void assemblies_next(struct assemblies *assemblies);
