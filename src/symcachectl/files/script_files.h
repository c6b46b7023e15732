/*
 * Copyright (C) the ngx_symcache authors
 *
 * JsCaches of the scripts that a stack trace names, made when they are first
 * asked for.
 */
#ifndef SYMCACHECTL_FILES_SCRIPT_FILES_H
#define SYMCACHECTL_FILES_SCRIPT_FILES_H

#include "derived/jscache/jscache.h"

#define SCRIPT_FILES_MAX 256 /* of one trace */

struct script_file {
    char *url;
    bool is_there;
    struct jscache_reader reader; /* if it is */
};

struct script_files {
    const char *maps; /* a folder, or NULL */
    struct script_file files[SCRIPT_FILES_MAX];
    size_t count;
};

/* Returns the JsCache of a script, which stays open until the process ends; or
 * NULL if there is none, after printing what is wrong with its map. */
const struct jscache_reader *script_files_find(struct script_files *files,
                                               const char *url, size_t size);

#endif
