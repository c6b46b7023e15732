/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parses type and id records, as far as it is needed to write names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "types.h"

enum leaf_kind {
    LEAF_PRIMITIVE,
    LEAF_CLASS, /* class, structure, interface */
    LEAF_UNION,
    LEAF_ENUM,
    LEAF_POINTER,
    LEAF_MODIFIER,
    LEAF_ARRAY,
    LEAF_PROCEDURE,
    LEAF_METHOD,
    LEAF_ARGUMENTS,
    LEAF_FUNCTION_ID,
    LEAF_METHOD_ID,
    LEAF_STRING_ID,
    LEAF_STRING_LIST,
    LEAF_BUILD_INFO,    /* list */
    LEAF_SOURCE,        /* file and line in which a type is declared */
    LEAF_MODULE_SOURCE, /* the same in a module, by name */
    LEAF_MEMBER,        /* part of a class; list has the record's bytes */
    LEAF_OTHER,         /* never part of a name */
    LEAF_UNKNOWN        /* number is the kind in the record */
};

/* modes of pointers */
enum leaf_mode {
    LEAF_PLAIN_POINTER,
    LEAF_REFERENCE,
    LEAF_MEMBER_POINTER,
    LEAF_METHOD_POINTER,
    LEAF_RVALUE_REFERENCE
};

/* A parsed record.  Which of the fields are set depends on the kind. */
struct leaf {
    enum leaf_kind kind;
    uint32_t number;     /* primitive: index; unknown: kind in the record */
    uint32_t type;       /* target, element, return type, function type */
    uint32_t owner;      /* class of a method, scope of an id; 0 = none */
    uint32_t this_type;  /* of a method; 0 = static */
    uint32_t arguments;  /* index of the argument list */
    uint32_t attributes; /* of a pointer or function */
    int is_const;        /* modifier */
    int is_forward;      /* class, union */
    uint64_t size;       /* class, union, array: bytes */
    uint64_t last_size;  /* array: its last dimension */
    const char *name;
    uint32_t name_size;
    const char *unique_name; /* NULL if it has none */
    uint32_t unique_size;
    const uint8_t *list; /* count indices */
    uint32_t count;
    uint32_t file;
    uint32_t line;
    uint32_t module;
};

/* Parse a record.  Return 0, or -1 if it is damaged. */
int leaf_read_type(const struct types_record *record, struct leaf *leaf);
int leaf_read_id(const struct types_record *record, struct leaf *leaf);

/* Gets the name of a primitive type and its size in bytes.  Returns false if
 * there is no such type. */
bool leaf_primitive(uint32_t index, const char **name, unsigned *size,
                    int *is_pointer);

enum leaf_mode leaf_pointer_mode(const struct leaf *leaf);
unsigned leaf_pointer_size(const struct leaf *leaf);
