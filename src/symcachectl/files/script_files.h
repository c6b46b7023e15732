/*
 * Copyright (C) the ngx_symcache authors
 *
 * JsCaches of the scripts that a stack trace names, and SymCaches of its
 * modules of WebAssembly, made when they are first asked for.
 */
#pragma once

#include "derived/jscache/jscache.h"
#include "derived/symcache/symcache.h"
#include "reports/jstrace/jstrace.h"

#define SCRIPT_FILES_MAX 256 /* of one trace */

enum script_kind {
    SCRIPT_NONE,
    SCRIPT_MAP,   /* it has a source map, also as a module */
    SCRIPT_MODULE /* without a map, so that its names are those of DWARF */
};

struct script_file {
    char *url;
    enum script_kind kind;
    struct jscache_reader map;
    struct symc_reader module;
    uint64_t shift; /* of an offset in a trace, to one in module */
};

struct script_files {
    const char *maps; /* a folder, or NULL */
    struct jstrace_text nameless; /* the module that is in no file, if any */
    bool has_nameless; /* it is one alone */
    struct script_file files[SCRIPT_FILES_MAX];
    size_t count;
};

/* Notes a frame of the trace.  All are, before the first one is looked for. */
void script_files_note(struct script_files *files,
                       const struct jstrace_frame *frame);

/* Returns what there is of the script or module of a frame, which stays open
 * until the process ends, after printing what is wrong with it; or NULL. */
const struct script_file *script_files_find(struct script_files *files,
                                            const struct jstrace_frame *frame);
