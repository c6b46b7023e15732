/*
 * Copyright (C) the ngx_symcache authors
 *
 * A crash report is read in a child process, which gives up its rights first.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdio.h>

/*
 * Runs work in a child, which writes JSON to out, or returns an exit code after
 * printing what is wrong; file is what messages call the report.  Returns what
 * it wrote, for the caller to free; or NULL with *code set.
 */
cJSON *report_child_read(const char *file, int (*work)(void *arg, FILE *out),
                         void *arg, int *code);
