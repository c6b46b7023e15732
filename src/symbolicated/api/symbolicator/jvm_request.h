/*
 * Copyright (C) the ngx_symcache authors
 *
 * The body of POST /symbolicate-jvm.
 */
#pragma once

#include "json/json.h"
#include "symbolication/jvm/jvm.h"

/* Members that a frame may have, in the order in which answers have them. */
enum jvm_frame_member {
    JVM_PLATFORM,
    JVM_FUNCTION,
    JVM_FILENAME,
    JVM_MODULE,
    JVM_ABS_PATH,
    JVM_LINENO,
    JVM_PRE_CONTEXT,
    JVM_CONTEXT_LINE,
    JVM_POST_CONTEXT,
    JVM_IN_APP,
    JVM_INDEX,
    JVM_SIGNATURE,
    JVM_METHOD_SYNTHESIZED,
    JVM_FRAME_MEMBERS
};

struct jvm_request_frame {
    struct jvm_traces_input input;
    uint32_t members[JVM_FRAME_MEMBERS]; /* values, or 0 */
};

struct jvm_request_exception {
    struct symc_string type; /* data is NULL: there is none */
    struct symc_string module;
};

struct jvm_request_stack {
    struct jvm_request_exception exception;
    size_t first; /* of its frames, which go from the innermost outwards */
    size_t count;
};

struct jvm_request_module {
    uint8_t guid[16];
    uint32_t age;
    bool is_source; /* and no mapping */
};

struct jvm_request {
    struct json json;
    uint32_t sources; /* a list */
    uint32_t classes; /* a list of strings, or 0 */
    struct symc_string release_package; /* data is NULL: there is none */
    bool wants_context;
    bool is_caller_first;
    struct jvm_request_exception *exceptions;
    size_t nexceptions;
    struct jvm_request_stack *stacks;
    size_t nstacks;
    struct jvm_request_frame *frames; /* of all stacks */
    size_t nframes;
    struct jvm_request_module *modules;
    size_t nmodules;
};

/*
 * Reads a body, whose text is changed and used until jvm_request_free().
 * Returns 0, or the status of the answer with a sentence in error: 400 if the
 * body is not JSON, 422 if it has another shape or too many parts, 500 without
 * memory.  The caller must free the request in either case.
 */
int jvm_request_read(struct jvm_request *request, char *body, size_t size,
                     size_t most_frames, size_t most_modules, char *error,
                     size_t error_size);
void jvm_request_free(struct jvm_request *request);
