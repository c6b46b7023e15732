/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers requests of symbolicated's protocols from the files of a store,
 * without a daemon.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stddef.h>

#include "derived/derived.h"

/*
 * Answers a request that is posted to path, such as "/symbolicate/v5", as
 * symbolicated does.  Modules that are not below root are missing; if root is
 * NULL, all are. body is the request's JSON, which is changed; name is its
 * name in messages.  A progress bar shows the modules that are opened.
 *
 * The files are read in a sandbox, in which nothing but them can be opened
 * afterwards.  Returns the answer, which the caller frees; or NULL after
 * printing the error, with *code set.
 */
cJSON *store_reader_answer(const char *root, const char *path,
                           const char *name, char *body, int *code);

/*
 * Enters the sandbox, in which only files below root can be opened, or none if
 * it is NULL, and returns root's descriptor or -1.  Sets *code, after printing
 * what is wrong, or to COMMAND_OK.  A process that is inside stays where it
 * is, with the root of the first call.
 */
int store_reader_enter(const char *root, int *code);

/* Watches a file that is mapped, in the sandbox: if it is cut short while it is
 * read, zeros take its place, and *is_cut becomes true. */
void store_reader_tell_cut(void *data, size_t size, atomic_bool *is_cut);

/* Opens a file of a store for as long as the process runs.  Returns its reader,
 * or NULL if there is none that is sound. */
const union derived_reader *store_reader_file(int root,
                                              const symcache_key_t *key);
