/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of functions with their argument lists, as C++ text: no return type,
 * no class keys.
 */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "crossref.h"
#include "forward.h"
#include "leaf.h"
#include "text.h"
#include "types.h"

enum signature_status {
    SIGNATURE_OK = 0,
    SIGNATURE_MISSING, /* an index that is not in the stream */
    SIGNATURE_UNKNOWN, /* a record of unknown kind */
    SIGNATURE_FAILED   /* damage, loop, unresolved reference */
};

/* Argument lists written before; many functions have the same. */
#define SIGNATURE_LISTS 256
#define SIGNATURE_LIST_MAX 120

struct signature_list {
    uint32_t index; /* of the argument list; 0 = free */
    uint32_t size;
    char text[SIGNATURE_LIST_MAX];
};

/* Types of "this" that were looked at; methods of a class share them. */
#define SIGNATURE_THISES 256

struct signature_this {
    uint32_t index; /* of the pointer; 0 = free */
    uint32_t owner;
    uint8_t is_this;
    uint8_t is_const;
};

struct signature {
    struct signature_list lists[SIGNATURE_LISTS];   /* by index */
    struct signature_this thises[SIGNATURE_THISES]; /* by index */
    struct types types;
    struct types ids;
    struct crossref crossref;
    struct forward forward;
    unsigned pointer_size;
    struct text text;   /* the result of the last call */
    struct arena arena; /* for records that lie scattered */
    uint32_t number;    /* index that is missing, or kind that is unknown */
    int is_local;       /* the result is not to be used for another call: it
                         * depends on the module, or nothing was found */
    uint64_t work;      /* types and texts written so far, in all */
};

void signature_free(struct signature *signature);

/*
 * Writes name and arguments of a function of the given type into text.
 * Returns SIGNATURE_OK, or what is wrong; then the plain name is to be used.
 */
enum signature_status signature_function(struct signature *signature,
                                         const char *name, uint32_t name_size,
                                         uint32_t type);

/* Writes scope, name and arguments of the function that an id names.  When it
 * fails the inlined call is to be left out. */
enum signature_status signature_id(struct signature *signature, uint32_t id);

/* An id of this module to an index in the id stream.  Returns 0 or -1. */
int signature_resolve(struct signature *signature, uint32_t id,
                      uint32_t *index);

#endif
