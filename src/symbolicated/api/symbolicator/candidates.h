/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a module was looked for, as Symbolicator tells it: the member
 * "candidates" of a module.
 */
#pragma once

#include "native_answer.h"

/*
 * The status of a module that could not be had.  That is what became of it at
 * the first place, even if that is known not to have it; unless no place has
 * failed: then this machine has.
 */
enum symbolicator_status
symbolicator_failure(const struct symbolicator_result *result);

/*
 * Writes the member, unless there is nothing in it: each place that was looked
 * in for one of the sources that count, by source and location, and each link
 * that was followed.  is_walked: also for the module's CFI.
 */
void symbolicator_candidates_write(
    struct json_writer *w, const struct symbolication_config *config,
    const struct symbolicator_request *request, size_t index,
    const struct symbolicator_result *result, bool is_walked,
    const struct source_links *links);
