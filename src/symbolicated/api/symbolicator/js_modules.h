/*
 * Copyright (C) the ngx_symcache authors
 *
 * What frames of scripts come from: the script, its map, the place there, and
 * the text of the original file.
 */
#pragma once

#include "js_files.h"
#include "symbolication/js/js.h"
#include "symbolication/symbolication.h"

/* In the order in which answers have them. */
enum js_error_type {
    JS_ERROR_LOCATION,
    JS_ERROR_CONTENT,
    JS_ERROR_SOURCE,
    JS_ERROR_MALFORMED,
    JS_ERROR_MAP,
    JS_ERROR_DISABLED,
    JS_ERROR_FAILED, /* whether there is a file is not known */
    JS_NO_ERROR
};

/* What has become of a script. */
struct js_module {
    bool is_wanted; /* by a frame with a line */
    const struct js_file *script;
    const struct js_file *map;           /* NULL: embedded, or none */
    const struct jscache_reader *reader; /* NULL: there is none */
    const struct api_module *cache;      /* that has it; or NULL */
    bool is_embedded;
    enum js_error_type error;
    struct symc_string map_url; /* absolute; or the script's */
    struct symc_string map_key; /* by what it was looked for; or absent, */
    const char *map_id;         /* and "" */
    const char *resolved_with;
};

struct js_place {
    const struct js_module *module; /* NULL: line 0 */
    bool is_found;                  /* a token is */
    bool has_text;                  /* the map has that of its file */
    enum js_error_type error;
    struct jscache_token token;
    struct symc_string function, filename, name_module, abs_path;
    const struct js_file *source; /* whose text was looked for; or NULL */
};

/* Resolves all scripts, into modules, and then all frames, into places; it
 * stops at the frame at which files->told exceeds files->most.  Returns false
 * while something is pending, or without memory. */
bool js_modules_find(struct js_files *files, struct js_module *modules,
                     struct js_place *places, bool has_all_lines);
