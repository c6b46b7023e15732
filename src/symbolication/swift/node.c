/*
 * Copyright (C) the ngx_symcache authors
 */
#include "node.h"

#include <stdarg.h>
#include <string.h>

swift_ref swift_fail(struct swift *s)
{
    s->has_failed = true;
    return 0;
}

static swift_ref new_node(struct swift *s, enum swift_kind kind, size_t n)
{
    struct swift_node *node = &s->nodes[s->num_nodes];

    if (s->num_nodes == SWIFT_NODES || n > SWIFT_KIDS - s->num_kids) {
        return swift_fail(s);
    }
    memset(node, 0, sizeof(*node));
    node->kind = (uint8_t)kind;
    node->kids = (uint16_t)s->num_kids;
    node->num_kids = (uint16_t)n;
    s->num_kids += n;
    return (swift_ref)s->num_nodes++;
}

swift_ref swift_make(struct swift *s, enum swift_kind kind, size_t n, ...)
{
    swift_ref ref = new_node(s, kind, n);
    va_list args;
    size_t i;

    va_start(args, n);
    for (i = 0; ref != 0 && i < n; i++) {
        s->kids[s->nodes[ref].kids + i] = (swift_ref)va_arg(args, int);
    }
    va_end(args);
    return ref;
}

swift_ref swift_make_text(struct swift *s, enum swift_kind kind,
                          const char *text, swift_ref kid)
{
    swift_ref ref = kid != 0 ? swift_make(s, kind, 1, kid)
                             : swift_make(s, kind, 0);

    s->nodes[ref].text = text;
    s->nodes[ref].size = (uint16_t)strlen(text);
    return ref;
}

swift_ref swift_make_list(struct swift *s, enum swift_kind kind,
                          const swift_ref *reversed, size_t n)
{
    swift_ref ref = new_node(s, kind, n);
    size_t i;

    for (i = 0; ref != 0 && i < n; i++) {
        s->kids[s->nodes[ref].kids + i] = reversed[n - 1 - i];
    }
    return ref;
}

swift_ref swift_type(struct swift *s, swift_ref kid)
{
    return kid != 0 ? swift_make(s, SWIFT_TYPE, 1, kid) : 0;
}

/* the stack ---------------------------------------------------------------- */

void swift_push(struct swift *s, swift_ref ref)
{
    if (ref == 0 || s->depth == SWIFT_STACK) {
        s->has_failed = true;
        return;
    }
    s->stack[s->depth++] = ref;
}

swift_ref swift_pop(struct swift *s)
{
    return s->depth > 0 ? s->stack[--s->depth] : 0;
}

swift_ref swift_pop_kind(struct swift *s, enum swift_kind kind)
{
    if (s->depth == 0 || s->nodes[s->stack[s->depth - 1]].kind != kind) {
        return 0;
    }
    return s->stack[--s->depth];
}

static uint8_t top_kind(const struct swift *s)
{
    return s->depth > 0 ? s->nodes[s->stack[s->depth - 1]].kind : SWIFT_NONE;
}

swift_ref swift_pop_name(struct swift *s)
{
    switch (top_kind(s)) {
    case SWIFT_IDENTIFIER:
    case SWIFT_OPERATOR:
    case SWIFT_PRIVATE:
    case SWIFT_LOCAL:
    case SWIFT_RELATED:
        return swift_pop(s);
    default:
        return swift_fail(s);
    }
}

swift_ref swift_pop_module(struct swift *s)
{
    swift_ref ref = swift_pop_kind(s, SWIFT_MODULE), module;

    if (ref != 0) {
        return ref;
    }
    ref = swift_pop_kind(s, SWIFT_IDENTIFIER);
    if (ref == 0) {
        return swift_fail(s);
    }
    module = swift_make(s, SWIFT_MODULE, 0);
    s->nodes[module].text = s->nodes[ref].text;
    s->nodes[module].size = s->nodes[ref].size;
    return module;
}

bool swift_is_entity(const struct swift *s, swift_ref ref)
{
    switch (s->nodes[ref].kind) {
    case SWIFT_FUNCTION:
    case SWIFT_VARIABLE:
    case SWIFT_SUBSCRIPT:
    case SWIFT_INIT:
    case SWIFT_MEMBER:
    case SWIFT_ACCESSOR:
    case SWIFT_CLOSURE:
    case SWIFT_DEFAULT_ARGUMENT:
    case SWIFT_INITIAL:
    case SWIFT_STATIC:
        return true;
    default:
        return false;
    }
}

swift_ref swift_pop_context(struct swift *s)
{
    swift_ref ref;

    if (top_kind(s) == SWIFT_TYPE) {
        ref = swift_kid(s, s->stack[s->depth - 1], 0);
        if (s->nodes[ref].kind != SWIFT_NOMINAL &&
            s->nodes[ref].kind != SWIFT_BOUND) {
            return swift_fail(s);
        }
        s->depth--;
        return ref;
    }
    if (s->depth > 0 && (top_kind(s) == SWIFT_EXTENSION ||
                         swift_is_entity(s, s->stack[s->depth - 1]))) {
        return swift_pop(s);
    }
    return swift_pop_module(s);
}

swift_ref swift_pop_type(struct swift *s)
{
    swift_ref ref = swift_pop_kind(s, SWIFT_TYPE);

    return ref != 0 ? ref : swift_fail(s);
}

swift_ref swift_share(struct swift *s, swift_ref ref)
{
    if (ref == 0 || s->num_shared == SWIFT_STACK) {
        return swift_fail(s);
    }
    return s->shared[s->num_shared++] = ref;
}
