/*
 * Copyright (C) the ngx_symcache authors
 *
 * Profiles that get their names from the files of a store, without a daemon.
 */
#ifndef SYMCACHECTL_STORE_STORE_PROFILE_H
#define SYMCACHECTL_STORE_STORE_PROFILE_H

#include <stddef.h>

/*
 * Prints a profile, which may be packed and may be changed, with names of the
 * SymCaches below root, unpacked; file is what messages call it.  It is read in
 * a sandbox, in which nothing but the store can be opened afterwards.  Returns
 * an exit code, after printing what is wrong.
 */
int store_profile_show(const char *root, const char *file, char *data,
                       size_t size);

#endif
