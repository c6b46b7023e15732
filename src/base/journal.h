/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file of records that are appended, one a line, each behind a checksum:
 *
 *   0123456789abcdef<TAB>RECORD\n
 *
 * So a crash costs the last records at most: a line that was cut off, or that
 * the disk has lost, is not a record.  Several processes may append, and each
 * reads what the others have written; what is remembered of the file is only
 * how far it was read.  Nothing is synced, see durable.h.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* The longest record; it has no line end and no NUL. */
#define JOURNAL_RECORD_MAX 8192

#define JOURNAL_CHECKSUM 16 /* characters */

/* How far a journal was read.  All zero: nothing of it. */
struct journal {
    dev_t dev;
    ino_t ino;
    off_t read; /* up to the end of a line */
    off_t size; /* what is behind `read` is a line that was cut off */
    struct timespec changed;
    off_t last; /* where the last record that was read begins */
    char last_checksum[JOURNAL_CHECKSUM + 1]; /* "": there was none */
};

/* record is NULL if there is another file, or none: what was read before is no
 * longer said. */
typedef void (*journal_fn)(void *arg, const char *record);

/* Calls fn for each record that was not read yet, in the order in which they
 * were written.  Returns 0; or -1 with errno, and then the next call reads what
 * this one has not. */
int journal_read(struct journal *journal, const char *path, journal_fn fn,
                 void *arg);

/*
 * Appends a record, in a file that is made if there is none.  fn is called for
 * it at once where all that is in front of it was read, and 1 returned.
 * Otherwise, or without fn, it is to be read like those of others; returns 0,
 * or -1 with errno.
 */
int journal_append(struct journal *journal, const char *path,
                   const char *record, journal_fn fn, void *arg);

/*
 * Writes the file anew: records are put into the stream that begin returns, or
 * NULL with errno.  The end gives it its name; it returns 0, or -1 with errno,
 * and then the former file is still there.  EAGAIN: somebody has written
 * behind what was read by journal, which would be lost; NULL takes no notice.
 * It is also what begin says while another process writes it anew.
 */
FILE *journal_rewrite_begin(const char *path);
void journal_rewrite_put(FILE *f, const char *record);
int journal_rewrite_end(const struct journal *journal, FILE *f,
                        const char *path);
