/*
 * Copyright (C) the ngx_symcache authors
 *
 * A minidump, read and walked in a child process that can open nothing but
 * files of a store.
 */
#ifndef SYMCACHECTL_FILES_DUMP_WALK_H
#define SYMCACHECTL_FILES_DUMP_WALK_H

#include <cjson/cJSON.h>

/*
 * Returns what there is to know without names, for the caller to free; or NULL
 * after printing what is wrong, with *code set.  root is a store, or NULL.
 *
 * It is an answer of Symbolicator's POST /minidump, whose frames have return
 * addresses, and "lookup" for addresses in the instructions; and it has
 * "socorro", with what the JSON of minidump-stackwalk has besides.
 */
cJSON *dump_walk(const char *file, const char *root, int *code);

#endif
