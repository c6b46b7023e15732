/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether the files of "uploads.root" are there.  An empty folder may be a new
 * root, or the mount point of a disk that is lost.  So every root has a file,
 * and an extended attribute of the downloads has the root in which it was made.
 */
#pragma once

struct config;

#define ROOT_MARK ".present"

/* Makes the file, if it can. */
void root_mark_make(const struct config *config);

/* Returns 0, or an errno if the root had the file and it is not there.  Where
 * the downloads have no attributes that is not known: 0. */
int root_mark_check(const struct config *config);
