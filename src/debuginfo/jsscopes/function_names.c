/*
 * Copyright (C) the ngx_symcache authors
 *
 * How functions are called: by what is around them, from the inside out, until
 * a function, variable, assignment or class declaration ends the name.
 */
#include <string.h>

#include "base/array.h"
#include "parser.h"

/* A name that is put together from its end. */
struct name {
    struct jsparser *js;
    size_t first; /* of its parts, the last one first */
    bool has_failed;
};

#define STATIC_PART(text)                                                     \
    {                                                                         \
        text, sizeof(text) - 1, false                                         \
    }

static const struct jsscopes_part dot = STATIC_PART(".");

static size_t size_of(const struct name *name)
{
    return name->js->scopes->num_parts - name->first;
}

/* Puts a part in front. */
static void put_part(struct name *name, const struct jsscopes_part *part)
{
    struct jsscopes *s = name->js->scopes;

    if (s->num_parts >= name->js->work_max) {
        parser_fail(name->js, JSSCOPES_LIMIT,
                    "names of too many parts for its size");
        name->has_failed = true;
        return;
    }
    if (s->num_parts >= UINT32_MAX ||
        array_need(&s->parts, &s->part_room, s->num_parts + 1,
                   sizeof(*s->parts)) != 0) {
        name->has_failed = true;
        return;
    }
    s->parts[s->num_parts++] = *part;
}

static void put_dot(struct name *name)
{
    if (size_of(name) > 0) {
        put_part(name, &dot);
    }
}

static void put_key(struct name *name, const struct key *key)
{
    unsigned i;

    for (i = key->count; i > 0; i--) {
        put_part(name, &key->parts[i - 1]);
    }
}

static void put_refs(struct name *name, const struct node *node)
{
    size_t i;

    for (i = node->num_refs; i > 0; i--) {
        put_part(name, &name->js->refs[node->first_ref + i - 1]);
    }
}

/* Puts what a node adds in front; returns whether the name ends there. */
static bool put_node(struct name *name, const struct node *node)
{
    switch (node->kind) {
    case NODE_FUNCTION:
        return true;
    case NODE_CLASS:
    case NODE_VARIABLE:
        put_dot(name);
        put_part(name, &node->name);
        return true;
    case NODE_CLASS_EXPRESSION:
        put_dot(name);
        put_part(name, &node->name);
        return false;
    case NODE_PROPERTY:
        if (node->key->count > 0) {
            put_dot(name);
            put_key(name, node->key);
        }
        return false;
    case NODE_METHOD:
        put_key(name, node->key);
        return false;
    case NODE_ASSIGNMENT:
        if (!node->is_member) {
            put_dot(name);
        }
        put_refs(name, node);
        return true;
    case NODE_OBJECT:
        break;
    }
    return false;
}

/* Puts together what the nodes give from the innermost one on. */
static void infer_name(struct name *name, const struct node *node)
{
    bool is_in_object = false, is_end = false;
    char accessor = '\0';
    static const struct jsscopes_part object = STATIC_PART("<object>.");
    static const struct jsscopes_part get = STATIC_PART("get ");
    static const struct jsscopes_part set = STATIC_PART("set ");

    for (; node != NULL && !is_end; node = node->up) {
        is_in_object = is_in_object || node->kind == NODE_OBJECT;
        if (node->kind == NODE_METHOD && !node->key->is_private) {
            accessor = node->accessor;
        }
        is_end = put_node(name, node);
        is_in_object =
            is_in_object && (!is_end || node->kind == NODE_FUNCTION);
    }
    if (is_in_object && size_of(name) > 0) {
        put_part(name, &object);
    }
    if (accessor != '\0') {
        put_part(name, accessor == 'g' ? &get : &set);
    }
}

/* Turns the parts round, and adds the scope. */
static long finish_name(struct name *name, uint32_t start)
{
    size_t i, n = size_of(name);
    struct jsscopes *s = name->js->scopes;
    struct jsscopes_part *parts, part;
    struct jsscope *scope;

    if (name->has_failed ||
        array_need(&s->list, &s->room, s->count + 1, sizeof(*s->list)) != 0) {
        parser_fail(name->js, JSSCOPES_NO_MEMORY, "out of memory");
        return -1;
    }
    /* none may have been allocated */
    parts = n > 0 ? s->parts + name->first : s->parts;
    for (i = 0; i < n / 2; i++) {
        part = parts[i];
        parts[i] = parts[n - 1 - i];
        parts[n - 1 - i] = part;
    }
    scope = &s->list[s->count];
    scope->start = scope->end = start;
    scope->first_part = (uint32_t)name->first;
    scope->num_parts = (uint32_t)n;
    return (long)s->count++;
}

static struct name begin_name(struct jsparser *js)
{
    struct name name = {js, js->scopes->num_parts, false};

    return name;
}

/* The own name is instead of the last part; parts are in reverse order. */
static void set_own(struct name *name, const struct jsscopes_part *own)
{
    if (own == NULL || name->has_failed) {
        return;
    }
    if (size_of(name) == 0) {
        put_part(name, own);
    } else {
        name->js->scopes->parts[name->first] = *own;
    }
}

long scope_function(struct jsparser *js, uint32_t start,
                    const struct jsscopes_part *own)
{
    struct name name = begin_name(js);

    infer_name(&name, js->node);
    set_own(&name, own);
    return finish_name(&name, start);
}

long scope_class(struct jsparser *js, uint32_t start,
                 const struct jsscopes_part *own)
{
    struct name name = begin_name(js);
    static const struct jsscopes_part new = STATIC_PART("new ");

    infer_name(&name, js->node);
    set_own(&name, own);
    if (size_of(&name) > 0) {
        put_part(&name, &new);
    }
    return finish_name(&name, start);
}

long scope_accessor(struct jsparser *js, uint32_t start, bool is_getter,
                    const struct key *key)
{
    struct name name = begin_name(js);
    size_t first;
    static const struct jsscopes_part get = STATIC_PART("get ");
    static const struct jsscopes_part set = STATIC_PART("set ");

    put_key(&name, key);
    first = js->scopes->num_parts;
    put_part(&name, &dot);
    name.first = js->scopes->num_parts;
    infer_name(&name, js->node);
    if (size_of(&name) == 0 && !name.has_failed) {
        js->scopes->num_parts = first; /* without the dot */
    }
    name.first = first - key->count;
    put_part(&name, is_getter ? &get : &set);
    return finish_name(&name, start);
}
