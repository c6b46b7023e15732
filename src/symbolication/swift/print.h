/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writing the tree of a name: print_entities.c has contexts and entities,
 * print_types.c types.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "node.h"

struct swift_printer {
    struct swift *s;
    bool is_full;
    bool is_specialized; /* which the short form says once */
    char *room;
    size_t size, used;
    unsigned steps, depth;
    bool has_failed;
};

static inline void put(struct swift_printer *p, const char *text, size_t size)
{
    if (size > p->size - p->used) {
        p->has_failed = true;
        return;
    }
    memcpy(p->room + p->used, text, size);
    p->used += size;
}

static inline void put_text(struct swift_printer *p, const char *text)
{
    if (text != NULL) {
        put(p, text, strlen(text));
    }
}

static inline void put_number(struct swift_printer *p, unsigned number)
{
    char text[16];

    put(p, text, (size_t)snprintf(text, sizeof(text), "%u", number));
}

static inline struct swift_node *at(struct swift_printer *p, swift_ref ref)
{
    return swift_at(p->s, ref);
}

static inline swift_ref kid(struct swift_printer *p, swift_ref ref, size_t i)
{
    return swift_kid(p->s, ref, i);
}

/* The type in a node of the kind TYPE, or itself. */
static inline swift_ref inner(struct swift_printer *p, swift_ref ref)
{
    return at(p, ref)->kind == SWIFT_TYPE ? kid(p, ref, 0) : ref;
}

/* A node of any kind; all children, with text between them. */
void swift_print_node(struct swift_printer *p, swift_ref ref);
void swift_print_kids(struct swift_printer *p, swift_ref ref,
                      const char *between);

/* What stands in front of the parameters of a function type. */
void swift_print_function_attributes(struct swift_printer *p, swift_ref ref);

/* A context, if it stands before the name that it is of, or if behind. */
void swift_print_in_front(struct swift_printer *p, swift_ref context);
void swift_print_behind(struct swift_printer *p, swift_ref context);

/* Parts of functions: what is generic, parameters, of which labels may be 0,
 * and what stands after them. */
void swift_print_signature(struct swift_printer *p, swift_ref ref);
void swift_print_parameters(struct swift_printer *p, swift_ref type,
                            swift_ref labels);
void swift_print_result(struct swift_printer *p, swift_ref function);

/* A node that is of a type. */
void swift_print_type(struct swift_printer *p, swift_ref ref);
