/*
 * Copyright (C) the ngx_symcache authors
 *
 * The answer of POST /symbolicate-jvm, "status": "completed".
 */
#pragma once

#include "json/json.h"
#include "symbolicated/api/api.h"
#include "jvm_request.h"

/* Why a module could not be used. */
enum jvm_error {
    JVM_NO_ERROR,
    JVM_ERROR_MISSING,
    JVM_ERROR_INVALID,
    JVM_ERROR_FAILED /* whether there is one is not known */
};

/* Source files of the program, in the order in which they are asked. */
struct jvm_sources {
    const struct sourcecache_reader **list;
    size_t count;
};

/*
 * Remaps the request's traces by their mappings, and writes the answer. errors
 * has one for each module; those of source files are not reported. why has the
 * files if the client wants the attempts for each of them; else it is NULL.
 * An answer of more than most bytes is cut, and is not valid JSON then.
 * Returns 0, or -1 when out of memory; w->has_failed says the same.
 */
int jvm_answer_write(const struct jvm_request *request,
                     struct jvm_traces *traces,
                     const struct jvm_sources *sources,
                     const enum jvm_error *errors, const struct api_round *why,
                     size_t most, struct json_writer *w);
