/*
 * Copyright (C) the ngx_symcache authors
 *
 * <root>/.transcoders, the versions that symcached makes: nginx reads them
 * from there.
 */
#ifndef SYMCACHED_STORE_TRANSCODER_VERSIONS_H
#define SYMCACHED_STORE_TRANSCODER_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include "proto/version.h"

/*
 * For a .transcoders that cannot be written: removes the former one if it
 * names other versions, because nginx had better know nothing.
 */
void transcoder_versions_remove_outdated(const char *root,
                                         const symcache_version_t *versions,
                                         size_t n);

/* Writes <root>/.transcoders durably; tmp is the path of an unused file. */
int transcoder_versions_write(const char *root, const char *tmp,
                              const symcache_version_t *versions, size_t n);

/* Is it there?  A folder that does not answer counts as if it were. */
bool transcoder_versions_exist(const char *root);

#endif
