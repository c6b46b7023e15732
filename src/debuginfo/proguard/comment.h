/*
 * Copyright (C) the ngx_symcache authors
 *
 * Comments that R8 writes in JSON about the class or method above them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "derived/proguardcache/proguardcache.h"
#include "json/json.h"
#include "record.h"

enum proguard_comment_id {
    PROGUARD_OTHER, /* nothing here needs it, or it is malformed */
    PROGUARD_SOURCE_FILE,
    PROGUARD_SYNTHESIZED,
    PROGUARD_OUTLINE,
    PROGUARD_OUTLINE_CALLSITE,
    PROGUARD_REWRITE_FRAME
};

/* Must be all zero at the beginning; can be used again. */
struct proguard_comment {
    enum proguard_comment_id id;
    struct proguard_text file; /* SOURCE_FILE: the name */
    struct proguardcache_pair *pairs; /* OUTLINE_CALLSITE */
    size_t num_pairs;
    size_t pair_room;
    struct proguard_text descriptor; /* REWRITE_FRAME: what must be thrown */
    uint32_t removed;                /* ... and how many frames go */
    struct json json;
    char *text; /* a copy, as the reader of JSON changes it */
    size_t text_room;
};

/* Reads a comment.  Its texts last as long as the mapping, or until the next
 * comment is read.  Returns 0, or -1 when out of memory. */
int proguard_comment_read(struct proguard_comment *comment,
                          const struct proguard_text *text);
void proguard_comment_free(struct proguard_comment *comment);
