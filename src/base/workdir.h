/*
 * Copyright (C) the ngx_symcache authors
 *
 * Directories for unfinished files.  Each process that works in a root has its
 * own, <root>/.tmp/run-XXXXXX, and holds a lock on it.  The kernel releases
 * the lock of a process that was killed, so others can tell that its directory
 * is stale, and remove it.
 */
#pragma once

/* root (1024) + "/.tmp/run-XXXXXX/" + number + a PDB name */
#define WORKDIR_PATH_MAX 1400

struct workdir;

/*
 * Makes root and its .tmp where they are missing, and a directory for this
 * process.  On a full disk the directory is made later, when it is needed:
 * the process must be able to start, as it is the one that makes room by
 * cleaning.  Returns NULL with errno.
 */
struct workdir *workdir_open(const char *root);

/* Removes what dead processes left below <root>/.tmp, unless that is a link.
 * This may take long. */
void workdir_remove_stale(const char *root);

/* Removes the directory of this process and all that is in it. */
void workdir_close(struct workdir *workdir);

/*
 * Makes a new empty directory and writes its path into buf, which has room for
 * WORKDIR_PATH_MAX bytes.  Returns 0, or -1 with errno.
 */
int workdir_make(struct workdir *workdir, char *buf);

/*
 * Writes the path of a file that does not exist yet into buf, as above.
 * Returns 0, or -1 with errno if there is no directory for it.
 */
int workdir_file(struct workdir *workdir, char *buf);

/* Like "mkdir -p", also while a cleaner removes empty directories.  Returns 0,
 * or -1 with errno. */
int workdir_make_path(const char *path);

/* Like "rm -rf" of one path.  Symbolic links are not followed. */
void workdir_remove(const char *path);
