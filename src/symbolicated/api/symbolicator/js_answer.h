/*
 * Copyright (C) the ngx_symcache authors
 *
 * The answer to POST /symbolicate-js.
 */
#pragma once

#include "js_modules.h"

/* Writes what js_modules_find() has found.  Beyond files->most bytes it is not
 * written to its end, and is no JSON then.  Returns 0, or -1 without memory. */
int js_answer_write(struct js_files *files, const struct js_place *places,
                    struct json_writer *w);
