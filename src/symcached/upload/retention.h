/*
 * Copyright (C) the ngx_symcache authors
 *
 * How long an uploaded file is kept.  The time of its last use is its atime,
 * which the file system sets ("relatime" is enough).  The wishes of the
 * uploader or the operator are in extended attributes of the file, so that
 * they are moved and removed with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct builds;
struct stat;

/*
 * Notes that the file is of no use after so many seconds; 0 removes such a
 * note, unless the file is new and has none.  Returns 0 or an errno: where the
 * file system has no such attributes, a file with a limit cannot be kept.
 */
int retention_set_expires(const char *path, unsigned seconds);

/* Notes of a new file that it has labels, or of one that is uploaded once more
 * that one upload has none: a file keeps the note only if all have.  Returns 0
 * or an errno, as above. */
int retention_set_labelled(const char *path, bool is_new, bool is_labelled);

/*
 * The same for an existing file that was uploaded once more: the longest time
 * that any of its uploaders asked for counts.  Returns 0 or an errno.
 */
int retention_extend(const char *path, unsigned seconds);

/* Notes who has sent a new file; NULL is not known.  Where the file system has
 * no such attributes, only the log has it. */
void retention_set_user(const char *path, const char *user);

/* Inode and time of the content: a file that takes the place, or is written to,
 * is another one. */
#define RETENTION_VERSION_SIZE 64

void retention_print_version(char text[RETENTION_VERSION_SIZE],
                             const struct stat *st);

/* Notes that the upload of this version is complete, or that none is known to
 * be.  Where the file system has no such attributes, that is not known. */
void retention_set_complete(const char *path, const char *version);
void retention_unset_complete(const char *path);
bool retention_is_complete(const char *path, const char *version);

/* Notes that the file is used now. */
void retention_touch(const char *path);

struct retention_rules {
    unsigned max_unused_for; /* seconds; 0 = for ever */
    unsigned max_age;        /* seconds since the upload; 0 = any */
    bool indexes; /* what is kept gets the entries that the index misses */
    const struct builds *builds; /* that files belong to; or NULL */
    bool is_try; /* no build keeps a file for longer than max_age */
    time_t now;  /* 0: the clock is not believed, and nothing goes */
    time_t begun; /* of the pass: labels of younger files may be missing in
                     builds */
};

/* A path of three parts, below the root. */
struct retention_found {
    char *path;
    uint64_t bytes;
    bool is_unused; /* that is all that there is against it */
    bool is_of_builds; /* it goes with its builds */
};

/* More are for the next pass. */
#define RETENTION_FOUND_MAX 1000

/* The files that a pass has removed, or found. */
struct retention_sum {
    uint64_t files;
    uint64_t bytes;
    struct retention_found *found; /* NULL: files are removed.  Otherwise they
                                      are listed here, in RETENTION_FOUND_MAX */
    size_t nfound;
    size_t left; /* files of builds that are to go and could not */
    int errnum;  /* 0, or why there are files that were not seen */
};

/*
 * Removes expired files from a tree of <name>/<id>/<file>, or lists them, and
 * adds them to sum.  A missing tree counts as empty.  This can take long.
 */
void retention_pass(const char *root, const struct retention_rules *rules,
                    struct retention_sum *sum);
