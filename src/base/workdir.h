/*
 * Copyright (C) the ngx_symcache authors
 *
 * Room for unfinished files: <root>/.tmp/run-XXXXXX, one for each process
 * that works in the root, held by a lock.  What a process left that was
 * killed has no lock any more, and is removed by the next that looks.
 */
#ifndef BASE_WORKDIR_H
#define BASE_WORKDIR_H

#include <stddef.h>

/* root (1024) + "/.tmp/run-XXXXXX/" + number + a PDB name */
#define WORKDIR_PATH_MAX 1400

struct workdir;

/*
 * Makes root and its .tmp where they are missing and takes an own directory.
 * On a full disk that is put off until it is needed: the one who opens it is
 * also the one who makes room.  NULL with errno.
 */
struct workdir *workdir_open(const char *root);

/* Removes what dead processes left below <root>/.tmp; may take its time. */
void workdir_remove_stale(const char *root);

/* Removes the own directory and all that is in it. */
void workdir_close(struct workdir *workdir);

/*
 * Makes a new empty directory and writes its path into buf, of size
 * WORKDIR_PATH_MAX.  Returns 0, or -1 with errno.
 */
int workdir_make(struct workdir *workdir, char *buf);

/*
 * Writes the path of a file that does not exist yet.  Returns 0, or -1 with
 * errno if there is no directory for it.
 */
int workdir_file(struct workdir *workdir, char *buf);

/* mkdir -p; 0, or -1 with errno. */
int workdir_make_path(const char *path);

/* rm -rf of one path; follows no symbolic link. */
void workdir_remove(const char *path);

#endif
