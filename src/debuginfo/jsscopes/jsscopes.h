/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds the functions of a script, and how people call them, as the library
 * js-source-scopes does: "Cart.add", "get registry.size", "new Cart".
 *
 * The parser keeps no tree: what a function is called depends on what is
 * around it, and this is on the stack while it is read.  It reads what
 * ECMAScript 2026 allows, as a module or a script, and some of what that
 * forbids.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"

#define JSSCOPES_SIZE_MAX ((size_t)256 << 20) /* of a script */

/* A part of a name. */
struct jsscopes_part {
    const char *text; /* in the script, in the arena, or static */
    uint32_t size;
    bool is_identifier; /* in the script: a source map may know another */
};

/* A function or a class. */
struct jsscope {
    uint32_t start; /* in bytes from the beginning of the script */
    uint32_t end;
    uint32_t first_part;
    uint32_t num_parts; /* 0: it has no name */
};

struct jsscopes {
    struct jsscope *list; /* in the order of their starts; they nest */
    size_t count;
    size_t room;
    struct jsscopes_part *parts;
    size_t num_parts;
    size_t part_room;
    struct arena arena;
};

enum jsscopes_status {
    JSSCOPES_OK = 0,
    JSSCOPES_NO_MEMORY = -1,
    JSSCOPES_BAD_SYNTAX = -2,
    JSSCOPES_LIMIT = -3 /* too large, too deep, or too much work */
};

/* Why and where a script cannot be read. */
struct jsscopes_error {
    const char *reason; /* static */
    size_t at;          /* bytes from the beginning */
};

/* Reads a script of UTF-8.  *scopes is all zero at first, and must be freed in
 * any case; after a failure it is of no use. */
enum jsscopes_status jsscopes_read(struct jsscopes *scopes, const char *script,
                                   size_t size, struct jsscopes_error *error);
void jsscopes_free(struct jsscopes *scopes);

/* Decodes the escapes of an identifier, such as \u00F6, where it is, and
 * returns its size then. */
size_t jsscopes_unescape(char *name, size_t size);

#define JSSCOPES_OUTSIDE UINT32_MAX

/* A place from which on the innermost scope is another one. */
struct jsscopes_change {
    uint32_t at;    /* in bytes */
    uint32_t scope; /* a number, or JSSCOPES_OUTSIDE */
};

/*
 * Lists where the innermost scope changes, in ascending order, beginning with
 * the beginning of the script, if there is any scope.  Returns how many places
 * there are, and the list, which the caller frees; or -1 when out of memory.
 */
ssize_t jsscopes_index(const struct jsscopes *scopes,
                       struct jsscopes_change **list);
