/*
 * Copyright (C) the ngx_symcache authors
 *
 * An upload or a removal first writes its planned changes to the disk.  If the
 * process is killed before it has told the other machines, the next process
 * reads there which files to report.
 *
 * An intent is a file <root>/.changing/XXXXXX that its process holds a lock
 * on.  It has a line for each file: name, id and file of its path, and the ids
 * by which it may be asked for, with tabs between.  The first line of a
 * removal says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "publication.h"

struct intent;

/* Returns 0 with *intent, or an errno. */
int write_ahead_log_write(struct intent **intent, const char *root,
                          bool removes, const struct upload_file *files,
                          size_t n);

/* The same for the loop, of one file. */
int write_ahead_log_note(struct intent **intent, const char *root,
                         bool removes, const struct upload_file *file);

/* Others have been told, or nothing has changed.  NULL is allowed, here and
 * below. */
void write_ahead_log_drop(struct intent *intent);

/* The same for the loop; on a disk that hangs, the next process may find it. */
void write_ahead_log_settle(struct intent *intent);

/* Leaves it to the next process. */
void write_ahead_log_leave(struct intent *intent);

/*
 * Finds one that a dead process has left, and reads its files into a
 * publication.  Returns NULL if there is none.  When it is dropped, the next
 * one can be found.
 */
struct intent *write_ahead_log_take(const char *root,
                                    struct publication *files);
