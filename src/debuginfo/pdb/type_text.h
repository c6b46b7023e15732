/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes types as C++ text, which is appended to s->text.  The functions limit
 * the depth of their recursion, since the types of a bad file may contain each
 * other in circles.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "class_size.h"
#include "crossref.h"
#include "leaf.h"
#include "text_buffer.h"
#include "types.h"

enum type_text_status {
    TYPE_TEXT_OK = 0,
    TYPE_TEXT_MISSING, /* an index that is not in the stream */
    TYPE_TEXT_UNKNOWN, /* a record of unknown kind */
    TYPE_TEXT_FAILED   /* damage, loop, unresolved reference */
};

/* A cache of argument lists: many functions have the same. */
#define TYPE_TEXT_LISTS 256
#define TYPE_TEXT_LIST_MAX 120

struct type_text_list {
    uint32_t index; /* of the argument list; 0 if the entry is free */
    uint32_t size;
    char text[TYPE_TEXT_LIST_MAX];
};

/* A cache of types of "this", which methods of a class share. */
#define TYPE_TEXT_THISES 256

struct type_text_this {
    uint32_t index; /* of the pointer; 0 if the entry is free */
    uint32_t owner;
    uint8_t is_this;
    uint8_t is_const;
};

struct type_names {
    struct type_text_list lists[TYPE_TEXT_LISTS];   /* by index */
    struct type_text_this thises[TYPE_TEXT_THISES]; /* by index */
    struct types types;
    struct types ids;
    struct crossref crossref;
    struct class_size forward;
    unsigned pointer_size;
    struct text text;   /* the result of the last call */
    struct arena arena; /* for records that are scattered in the file */
    uint32_t number;    /* the missing index, or the unknown kind */
    int is_local;       /* the result must not be used again: it depends on
                         * the module, or something was not found */
    uint64_t work;      /* types and texts written so far, in total */
};

/* Turns a reference of link-time generated code into an index. */
enum type_text_status type_text_resolve(struct type_names *s, uint32_t *index);

/* Finds a record of the type or id stream. */
enum type_text_status type_text_find(struct type_names *s, struct types *types,
                                     uint32_t index,
                                     struct types_record *record);

/* Stores the kind of an unknown record for the message, and returns the
 * status for it. */
enum type_text_status type_text_is_unknown(struct type_names *s,
                                           const struct leaf *leaf);

enum type_text_status type_text_load(struct type_names *s, uint32_t index,
                                     struct leaf *leaf);

/* Writes the type with this index.  If it is missing or unknown, the text says
 * so. */
enum type_text_status type_text_index(struct type_names *s, uint32_t index,
                                      unsigned depth);

/* As type_text_index(), for an index that is usually an argument list.  These
 * are cached, since many functions have the same. */
enum type_text_status type_text_arguments(struct type_names *s, uint32_t index,
                                          unsigned depth);

/* Writes the argument list of a method, and " const" after it if the method
 * is const and with_const is set. */
enum type_text_status type_text_method(struct type_names *s,
                                       const struct leaf *method,
                                       int with_const, unsigned depth);

void type_text_missing(struct type_names *s);
void type_text_unknown(struct type_names *s);
