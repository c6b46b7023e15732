/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a frame of a shrunk program was in the original one: of one frame there
 * may come several, or none.  Answers are those of the "proguard" library,
 * version 5.10.4.
 *
 * Texts point into the request or the ProguardCache, without a NUL at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/proguardcache/proguardcache.h"

/* The most frames that one frame becomes; the rest is left out. */
#define JVM_FRAMES_MAX 512
/* The most members that are sorted by name for them. */
#define JVM_SORTED_MAX 8192

/* A frame as it was thrown.  Data of absent parameters is NULL. */
struct jvm_frame {
    struct symc_string class; /* with its package */
    struct symc_string method;
    struct symc_string parameters; /* types in Java's form, with commas */
    uint32_t line;                 /* 0: it is not known */
    bool without_synthesized;      /* what the compiler made is not wanted */
};

/* A frame of the original program.  Its file is two texts. */
struct jvm_mapped {
    struct symc_string class;
    struct symc_string method;
    struct symc_string file;
    struct symc_string extension; /* after the file; may be empty */
    bool has_line;
    uint32_t line;
    bool is_synthesized; /* made by the compiler */
};

/* A member that may be what a frame without a line is of. */
struct jvm_base_member {
    struct symc_string method;
    uint32_t place; /* among those of the frame */
};

/* The frames that one frame became. */
struct jvm_mapped_frames {
    struct jvm_mapped list[JVM_FRAMES_MAX];
    size_t count;
    size_t left_out; /* at least so many more there would be */
    struct jvm_base_member sorted[JVM_SORTED_MAX]; /* used while it is made */
};

/* A mapping, and what it carries from frame to frame of one trace. */
struct jvm_mapping {
    const struct proguardcache_reader *reader;
    bool has_outline;  /* the frame before was one of an outline, */
    uint32_t position; /* at this line */
};

enum jvm_outcome {
    JVM_UNKNOWN, /* the mapping does not know the class */
    JVM_MAPPED,
    JVM_OUTLINE, /* the frame has no place in the original program */
    JVM_CLEARED  /* rules removed all that the frame came to */
};

/* Finds the original name of a class. */
bool jvm_remap_class(const struct proguardcache_reader *reader,
                     struct symc_string renamed, struct symc_string *original);

/*
 * Finds the frames that one came of, the innermost first.  descriptor is that
 * of the exception if the frame has thrown it, such as "Ljava/lang/Error;",
 * and NULL otherwise.  *work is how many members may still be looked at, one
 * that is sorted among many counting several times; when it is used up, frames
 * are unknown.
 */
enum jvm_outcome jvm_remap_frame(struct jvm_mapping *mapping,
                                 const struct jvm_frame *frame,
                                 const struct symc_string *descriptor,
                                 uint64_t *work,
                                 struct jvm_mapped_frames *frames);

/* --- what remap.c, by Symbolicator's rules, and alternatives.c, by those of
 * R8's retrace, share */

/* A frame that is being remapped. */
struct remap {
    const struct proguardcache_reader *reader;
    const struct jvm_frame *frame;
    struct proguardcache_class class;
    bool has_parameters;
    struct proguardcache_slice slice; /* of members or parameters */
    uint32_t line;
    uint64_t skip;    /* frames that rules still remove */
    bool has_dropped; /* frames that the compiler made */
    uint64_t *work;   /* members that may still be looked at */
    struct jvm_mapped_frames *out;
};

static inline bool remap_is_set(uint32_t line)
{
    return line != PROGUARDCACHE_NONE;
}

static inline uint32_t remap_or_zero(uint32_t line)
{
    return remap_is_set(line) ? line : 0;
}

bool remap_is_same(struct symc_string a, struct symc_string b);

/* Finds the class and the members that the frame may be of.  JVM_MAPPED: there
 * is a class. */
enum jvm_outcome remap_begin(struct remap *r, struct jvm_mapping *mapping,
                             const struct jvm_frame *frame, uint64_t *work,
                             struct jvm_mapped_frames *frames);

/* Reads the lines of the i-th member of those that the frame may be of. */
bool remap_member_at(const struct remap *r, uint32_t i,
                     struct proguardcache_member *m);

/* Reads the class and the name of a member; the rest of *mapped is zero. */
void remap_read_member(const struct remap *r, struct proguardcache_member *m,
                       struct jvm_mapped *mapped);

/* Sets the file that the mapping names, or else one that is made up. */
void remap_set_file(const struct remap *r, struct symc_string file,
                    struct jvm_mapped *out);

/* Adds up how many frames the rules of a member remove for an exception. */
uint64_t remap_removed_by(const struct remap *r,
                          const struct proguardcache_member *m,
                          const struct symc_string *descriptor);
