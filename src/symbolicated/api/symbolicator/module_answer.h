/*
 * Copyright (C) the ngx_symcache authors
 *
 * What Symbolicator's protocol tells of a module: the items of "modules".
 */
#pragma once

#include "native_answer.h"

/* Writes the module with an index. */
void symbolicator_module_write(struct json_writer *w,
                               const struct symbolication_config *config,
                               const struct symbolicator_request *request,
                               size_t index,
                               const struct symbolicator_result *result,
                               const struct source_links *links);

/* Writes the member "features", which tells of a file that was found; has_cfi:
 * also of one by which stacks are walked; has_sources: of one with sources. */
void symbolicator_module_features_write(
    struct json_writer *w, const struct symbolicator_result *result,
    bool has_cfi, bool has_sources);
