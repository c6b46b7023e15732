/*
 * Copyright (C) the ngx_symcache authors
 *
 * The output file.  It is written under a temporary name, and renamed when it
 * is complete.  So a reader sees a whole file or none, and also after a power
 * failure if it was made durable.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "debuginfo/failure.h"

struct output_file {
    int fd;
    int is_stdout;
    char temporary[PATH_MAX]; /* "" = there is none, or none any more */
};

/*
 * Can path be replaced by an output?  It can if nothing is there, or a regular
 * file that is not one of n inputs under whatever name; inputs may be NULL.
 * Returns 0, or -1 with failure set.
 */
int output_file_check(const char *path, const char *const *inputs, size_t n,
                      struct failure *failure);

/*
 * Opens the temporary file beside path, or in directory if path is NULL; "-"
 * is standard output.  Returns 0, or -1 with failure set.
 */
int output_file_open(struct output_file *output, const char *path,
                     const char *directory, struct failure *failure);

/* Makes the directories up to the last slash of a path.  Returns 0, or -1 with
 * failure set. */
int output_file_make_directories(const char *path, struct failure *failure);

/* Gives the file its final name, durably or not.  Returns 0, or -1 with
 * failure set. */
int output_file_publish(struct output_file *output, const char *path,
                        bool is_durable, struct failure *failure);

/* Closes the file, and removes it if it was not published.  May be called
 * twice. */
void output_file_close(struct output_file *output);
