/*
 * Copyright (C) the ngx_symcache authors
 *
 * The list of what was found, each file once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <cjson/cJSON.h>

#define RESULTS_MAX 1000

struct results {
    cJSON *list; /* an array */
    int n;
    bool is_cut;
};

/* Adds a file; file and archive may be NULL.  More than RESULTS_MAX are left
 * out, which is noted. */
void results_add(struct results *results, const char *type,
                 const char *build_id, const char *file, const char *archive);

/*
 * Adds the answer of a debuginfod server.  Results that do not follow its
 * documentation are left out.  Returns false if the answer is invalid, or
 * reports that it is not complete.
 */
bool results_add_answer(struct results *results, const char *text,
                        size_t size);
