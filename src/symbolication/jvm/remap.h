/*
 * Copyright (C) the ngx_symcache authors
 *
 * What frames.c, by Symbolicator's rules, and alternatives.c, by those of R8's
 * retrace, share.
 */
#ifndef SYMBOLICATION_JVM_REMAP_H
#define SYMBOLICATION_JVM_REMAP_H

#include "frames.h"

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

#endif
