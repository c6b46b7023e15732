/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stack traces and exceptions of shrunk programs, by one mapping or several.
 * Answers are those of Symbolicator 26.8.0.
 */
#pragma once

#include "base/arena.h"
#include "remap.h"
#include "signature.h"

#define JVM_OUTPUTS_MAX 100000            /* frames of all traces */
#define JVM_WORK_MAX ((uint64_t)20000000) /* members that are looked at */
#define JVM_LOOKUP 8 /* looking into a file takes as long as so many */

/* A frame as it was sent; data of what is absent is NULL. */
struct jvm_traces_input {
    struct symc_string module; /* the class, with its package */
    struct symc_string function;
    struct symc_string signature;
    bool has_line;
    uint32_t line;
};

/* A frame of the answer. */
struct jvm_traces_output {
    uint32_t input; /* which frame of the trace it is of */
    bool is_mapped; /* if not, it is as it was sent */
    struct jvm_mapped frame;
    struct symc_string signature; /* data is NULL: it is as it was sent */
};

/* Must be all zero at the beginning, but for the mappings. */
struct jvm_traces {
    struct jvm_mapping *mappings; /* in the order in which they are tried */
    size_t num_mappings;
    struct jvm_traces_output *outputs; /* of all traces */
    size_t count;
    size_t room;
    size_t left_out; /* frames that are too many, and what was not looked for */
    uint64_t work;   /* that was done */
    struct jvm_mapped_frames *mapped;
    struct jvm_signature signature;
    struct arena texts;
};

/* Counts that something is looked for in a file.  Returns false if too much was
 * done already. */
bool jvm_traces_may_look(struct jvm_traces *traces);

/* Finds the original name of a class in one of the mappings. */
bool jvm_traces_class(struct jvm_traces *traces,
                      struct symc_string renamed,
                      struct symc_string *original);

/* Replaces type and module of an exception by the original ones, if they are
 * known.  Returns 0, or -1 when out of memory. */
int jvm_traces_exception(struct jvm_traces *traces, struct symc_string *type,
                         struct symc_string *module);

/*
 * Adds what the frames of a trace come to, the innermost first, as they were
 * given.  type and module are those of the exception that was thrown, as
 * jvm_traces_exception() left them; type.data is NULL without one.  Returns 0,
 * or -1 when out of memory.
 */
int jvm_traces_add(struct jvm_traces *traces,
                   const struct jvm_traces_input *inputs, size_t n,
                   struct symc_string type, struct symc_string module);
void jvm_traces_free(struct jvm_traces *traces);
