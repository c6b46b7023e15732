/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files get their names: all of them, or none if one may not be
 * replaced.  A disk takes its time for that, so it is done in a thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/build_list.h"
#include "debuginfo/identity/identity.h"
#include "retention.h"

struct event_base;

enum upload_fate {
    UPLOAD_NEW,
    UPLOAD_REPLACED,
    UPLOAD_SAME /* the same bytes were there already */
};

struct upload_file {
    struct symstore_path place;
    uint64_t size;
    char *tmp;    /* its path until it has its place */
    char *member; /* what the client calls it */
    enum upload_fate fate;
    enum upload_fate shared; /* in the tier of uploads: new or the same */
    bool has_come; /* it was in the tier, and not here */
    bool is_recent; /* it was here or in the tier for so short a time that
                       others may not have been told: it counts as changed */
    bool is_complete; /* it was here, and all had been told */
    char version[RETENTION_VERSION_SIZE]; /* once it has its name */
    bool is_unsure; /* it may not have been stored: what others have stays */
    bool is_made_of; /* only what was made of it is to be dropped */
    bool is_overtaken; /* another machine has changed it meanwhile */
};

/*
 * root and files live as long as the publication.  A file gets its name only
 * once its content is on the disk; when the publication is done, the names are
 * on the disk as well.
 */
struct publication {
    char *root;
    int disk; /* a folder that was opened before a file was written: the kernel
                 reports failed writes only to descriptors that are older than
                 the first report.  Or -1; owned */
    bool replace; /* other bytes that are there */
    bool compares; /* no file gets its name yet */
    bool removes;  /* read from an intent: the files were to be removed */
    unsigned expires; /* seconds from now on; 0 = never */
    struct build_labels labels; /* of the build that has the files */
    char *user; /* who has sent them; or NULL */
    bool shortens; /* expires counts for what is there and would stay longer */
    struct upload_file *files;
    size_t nfiles;
    char *conflict; /* the sentence that tells of two contents for one place;
                       then no file got its name.  Or NULL */
    int errnum;     /* why not all files got their names, or 0 */
    int index_errnum; /* why not all are in the index, or 0 */
    struct intent *intent; /* from its start until publication_settled() */
};

/* Writes the path of a file below "uploads.root". */
void upload_file_path(char path[PATH_MAX], const struct symstore_path *place,
                      bool is_try);

/* Writes the path of an entry of the file in the index (upload_index.h), of
 * those with the numbers from 0 on.  Returns false if there are no more. */
bool upload_index_path(char path[PATH_MAX], const struct symstore_path *place,
                       bool is_try, size_t i);

/* Returns NULL when out of memory. */
struct publication *publication_new(const char *root);
void publication_free(struct publication *publication);

/* Moves files and intent into a new one; the owner frees the former one.
 * Returns NULL when out of memory. */
struct publication *publication_take_over(struct publication *publication);

/* All other machines have been told, or the client has been told to send it
 * again. */
void publication_settled(struct publication *publication);

/* Adds a file.  Returns it, or NULL when out of memory. */
struct upload_file *publication_add(struct publication *publication,
                                    const struct symstore_path *place,
                                    const char *tmp, const char *member);

/* Have they files for one place?  When out of memory, they may. */
bool publications_overlap(const struct publication *a,
                          const struct publication *b);

/* Keeps all publications from changing what is at any place, as other threads
 * do that look at files and then remove them.  It can take as long as one that
 * compares files: not for the loop. */
void publication_lock(void);
void publication_unlock(void);

/* The same for the loop: returns false where it would have to wait. */
bool publication_try_lock(void);

/*
 * Publishes in a thread.  done is called once, but never from inside; late
 * means that the disk does not answer.  The publication is freed after that.
 * Returns NULL with errno; the publication is then freed as well.
 */
struct task *publication_start(struct event_base *base,
                               struct publication *publication,
                               void (*done)(void *arg, bool late), void *arg);

/*
 * Others have been told: drops the intent in a thread, and if all know, notes
 * of the files that their upload is complete.  done is called once, but never
 * from inside, also where the disk does not answer.  The publication stays the
 * caller's.  Returns NULL with errno; the next process then tells them again.
 */
struct task *publication_complete(struct event_base *base,
                                  struct publication *publication,
                                  bool all_know, void (*done)(void *arg),
                                  void *arg);
