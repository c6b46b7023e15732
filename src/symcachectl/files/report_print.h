/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <cjson/cJSON.h>

/* Prints the answer to a crash report for people. */
void report_print(const cJSON *answer);

/* Prints threads, and the modules that are not found, only. */
void report_print_stacks(const cJSON *answer);

/* The last part of a path of either kind of slashes. */
const char *report_last_part(const char *path);
