/*
 * Copyright (C) the ngx_symcache authors
 *
 * The answer of POST /symbolicate-jvm, "status": "completed".
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JVM_ANSWER_H
#define SYMBOLICATED_API_SYMBOLICATOR_JVM_ANSWER_H

#include "json/json.h"
#include "symbolicated/api/api.h"
#include "symbolication/symbolication.h"
#include "jvm_request.h"

/* What became of a module that could not be used. */
enum jvm_error { JVM_NO_ERROR, JVM_ERROR_MISSING, JVM_ERROR_INVALID };

/* Source files of the program, in the order in which they are asked. */
struct jvm_sources {
    const struct sourcecache_reader **list;
    size_t count;
};

/*
 * Remaps what the request has by the mappings of traces, and writes the
 * answer. errors has one for each module; those of sources are not told.  why
 * has the files, if what was asked for them is to be told; or is NULL.  Beyond
 * most bytes it is not written to its end, and is no JSON then.  Returns 0, or
 * -1 when out of memory; w->has_failed says the same.
 */
int jvm_answer_write(const struct jvm_request *request,
                     struct jvm_traces *traces,
                     const struct jvm_sources *sources,
                     const enum jvm_error *errors, const struct api_round *why,
                     size_t most, struct json_writer *w);

#endif
