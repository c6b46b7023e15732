/*
 * Copyright (C) the ngx_symcache authors
 *
 * The names of the sections that lie among the downloads of a store.  Those of
 * one ELF file are in as many folders, among folders of all other files: who
 * had to list these to find them would hold the event loop up.  But there are
 * only some tens of names, which are kept in a file of their root.
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
