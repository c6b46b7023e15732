/*
 * Copyright (C) the ngx_symcache authors
 *
 * A stack trace of JavaScript: its lines, and what its frames come from.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "reports/jstrace/jstrace.h"
#include "symbolicate.h"
#include "symbolication/symbolication.h"

struct script_line {
    const char *data;
    size_t size;
    bool is_frame;
    struct jstrace_frame frame;
    bool has_map;  /* its script has a source map, which was read */
    bool is_bare;  /* has_map, but it is a module without lines and names */
    bool is_found; /* then the next ones are what it comes from */
    bool is_ignored;
    struct symc_frames symbols; /* of a module: the next ones are made of it */
    struct symc_string function;
    struct symc_string file;
    uint64_t line; /* 0: it is unknown, as the column of a module is */
    uint64_t column;
    const cJSON *why; /* of a server; or NULL */
};

struct script_trace {
    struct script_line *lines;
    size_t count;
    size_t room;
    struct arena names;
    char release[600]; /* and dist that a server is asked for, in words */
};

/* Bundlers have "#x" in a map as the name of a private member, of which the
 * scope has "#" already.  Symbolicator calls it "##x", and so do servers. */
size_t script_drop_second_hash(char *name, size_t size);

/*
 * Prints all lines, or all frames as JSON, and why nothing was found if so.
 * Returns an exit code, which then is code_of_nothing.
 */
int script_print_trace(struct script_trace *trace, bool is_json,
                       int code_of_nothing, const char *why);

/* Prints the trace with the names that a server has.  Returns an exit code. */
int script_request_names(const struct settings *settings,
                         const struct script_options *options,
                         struct script_trace *trace);
