/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds the path of a source file from the three parts that a SymCache
 * stores.  Handles Windows and Unix paths on any system.  The result is the
 * same as that of the "symbolic" library.
 */
#pragma once

#include <stddef.h>

#include "string.h"

/* Returns the largest number of bytes that joining these parts may need. */
size_t symc_path_room(const struct symc_string *comp_dir,
                      const struct symc_string *directory,
                      const struct symc_string *name);

/*
 * Joins the parts into out, which has symc_path_room() bytes, and cleans
 * the result: "." is dropped, ".." removes the component before it, and all
 * separators become those of the system that the path is from.  An absent part
 * counts as empty.  Returns the length of the path; no NUL is added.
 */
size_t symc_path_join(const struct symc_string *comp_dir,
                      const struct symc_string *directory,
                      const struct symc_string *name, char *out);
