/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a frame of a shrunk program was, as R8's retrace answers it: where a
 * mapping does not say which of several methods is meant, or which of several
 * lines, each of them is a stack of its own.
 */
#pragma once

#include "remap.h"

/* Frames that called each other. */
struct jvm_stack {
    uint32_t first; /* of the frames, the innermost */
    uint32_t count;
    struct symc_string arguments; /* of the innermost */
};

struct jvm_alternatives {
    struct jvm_mapped_frames frames;
    struct jvm_stack stacks[JVM_FRAMES_MAX]; /* by their innermost frames */
    size_t num_stacks;
    bool is_ambiguous;  /* a frame without a line stays so */
    bool is_only_class; /* the mapping has no method of this name */
};

/* As jvm_remap_frame(), but for JVM_CLEARED: there are no stacks then. */
enum jvm_outcome jvm_find_alternatives(struct jvm_mapping *mapping,
                                       const struct jvm_frame *frame,
                                       const struct symc_string *descriptor,
                                       uint64_t *work,
                                       struct jvm_alternatives *alternatives);

/* Do both frames read the same? */
bool jvm_is_same_frame(const struct jvm_mapped *a, const struct jvm_mapped *b,
                       bool with_line);
