/*
 * Copyright (C) the ngx_symcache authors
 *
 * The names of the sections that lie among the downloads of a store.  Each
 * section of an ELF file is in a folder of its own, among the folders of all
 * other files: listing these to find them would block the event loop.  But
 * there are only some tens of names, which are kept in a file of their root.
 */
#ifndef SYMCACHED_STORE_SECTION_NAMES_H
#define SYMCACHED_STORE_SECTION_NAMES_H

#include "proto/key.h"

/* Before a section gets its place below the root.  Returns 0, or -1 with
 * errno. */
int section_names_add(const char *root, const symcache_key_t *key);

/* Removes the sections of files of a build id. */
void section_names_discard(const char *root, const symcache_key_t *id);

#endif
