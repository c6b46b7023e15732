/*
 * Copyright (C) the ngx_symcache authors
 *
 * How files of scripts are called in frames.
 */
#pragma once

#include "derived/symcache/symcache.h"

/* The names of a file in a frame. */
struct js_names {
    struct symc_string filename; /* a part of its name in the map */
    struct symc_string module;   /* absent: the frame's own stays */
};

/*
 * The names of a file that is called name in the map, and is at abs_path.
 * has_module: the frame came with a module.  The module is written into a
 * buffer for as many bytes as the longer of both has.
 */
struct js_names js_file_names(struct symc_string name,
                              struct symc_string abs_path, bool has_module,
                              char *module);

/* Writes the name of the module of a path or URL: without host, extension,
 * hashes, versions and folders that say nothing.  to has room for path.size
 * bytes; returns the size. */
size_t js_module_name(struct symc_string path, char *to);
