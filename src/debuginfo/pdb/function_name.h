/*
 * Copyright (C) the ngx_symcache authors
 *
 * Formats names of functions with their argument lists as C++ text, without
 * return types and class keys.
 */
#ifndef DEBUGINFO_PDB_FUNCTION_NAME_H
#define DEBUGINFO_PDB_FUNCTION_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "crossref.h"
#include "class_size.h"
#include "leaf.h"
#include "text.h"
#include "types.h"

enum function_name_status {
    FUNCTION_NAME_OK = 0,
    FUNCTION_NAME_MISSING, /* an index that is not in the stream */
    FUNCTION_NAME_UNKNOWN, /* a record of unknown kind */
    FUNCTION_NAME_FAILED   /* damage, loop, unresolved reference */
};

/* A cache of argument lists: many functions have the same. */
#define FUNCTION_NAME_LISTS 256
#define FUNCTION_NAME_LIST_MAX 120

struct function_name_list {
    uint32_t index; /* of the argument list; 0 if the entry is free */
    uint32_t size;
    char text[FUNCTION_NAME_LIST_MAX];
};

/* A cache of types of "this", which methods of a class share. */
#define FUNCTION_NAME_THISES 256

struct function_name_this {
    uint32_t index; /* of the pointer; 0 if the entry is free */
    uint32_t owner;
    uint8_t is_this;
    uint8_t is_const;
};

struct function_names {
    struct function_name_list lists[FUNCTION_NAME_LISTS];   /* by index */
    struct function_name_this thises[FUNCTION_NAME_THISES]; /* by index */
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

void function_name_free(struct function_names *names);

/*
 * Writes the name and arguments of a function of the given type to text.
 * Returns FUNCTION_NAME_OK, or what is wrong; then the caller should use the
 * plain name.
 */
enum function_name_status function_name_function(struct function_names *names,
                                                 const char *name,
                                                 uint32_t name_size,
                                                 uint32_t type);

/* Writes scope, name and arguments of the function with this id to text.  If
 * this fails, the caller should leave out the inlined call. */
enum function_name_status function_name_id(struct function_names *names,
                                           uint32_t id);

/* Translates an id of this module to an index in the id stream.  Returns 0, or
 * -1 if there is none. */
int function_name_resolve(struct function_names *names, uint32_t id,
                          uint32_t *index);

#endif
