/*
 * Copyright (C) the ngx_symcache authors
 *
 * A minidump, read and walked in a sandbox, in which nothing but files of a
 * store can be opened.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * Returns the contents of a minidump without names, for the caller to free; or
 * NULL after printing the error, with *code set.  root is a store, or NULL.
 * stays: the process itself enters the sandbox, so that it can reach nothing
 * else afterwards; otherwise a child does, which takes half a millisecond.
 *
 * The result has the form of Symbolicator's answer to POST /minidump.  Its
 * frames have return addresses, and "lookup" for addresses in the
 * instructions; it also has "socorro", with the further members of
 * minidump-stackwalk's JSON.
 */
cJSON *minidump_json(const char *file, const char *root, bool stays,
                     int *code);

/* Makes the JSON of minidump-stackwalk 0.26, which Socorro reads, of such
 * contents and Symbolicator's answer with the names.  The caller frees it. */
cJSON *socorro_report(const cJSON *walked, const cJSON *answer);
