/*
 * Copyright (C) the ngx_symcache authors
 *
 * The name of a list of uploaded bundles of scripts: those that have a debug
 * id, or those of a release.  Lists are folders of the index of uploads, and
 * files that are asked for by SYMCACHE_HINT_ARTIFACTS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "proto/key.h"

/* "<UUID>" in lower case, or "release-<hex digits of a SHA-256>", and a NUL.
 */
#define ARTIFACT_LIST_SIZE (sizeof("release-") + 64)

#define ARTIFACTS_FOLDER ".artifacts" /* of all lists, next to the uploads */
#define ARTIFACTS_SUM 40 /* hex digits, which an entry is called by */

/* In the folder of a release, for people: its name and that of the dist, a line
 * each. */
#define ARTIFACTS_RELEASE ".release"

/* Names the list of a debug id in any case.  Returns false if it is none, or
 * has an age. */
bool artifact_list_of_id(char name[ARTIFACT_LIST_SIZE], const char *debug_id);

/* That of a release and a dist, which may be NULL with a size of 0. */
void artifact_list_of_release(char name[ARTIFACT_LIST_SIZE],
                              const char *release, size_t size,
                              const char *dist, size_t dist_size);

/* Sets the key of a list: the key of a file at a URL, whose id is the SHA-256
 * of the list's name. */
void artifact_list_key(symcache_key_t *key, const char *name);
