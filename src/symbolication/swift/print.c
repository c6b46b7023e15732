/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>
#include <string.h>

#include "node.h"

/* Nodes that are written.  Subtrees are shared, so a short name could be huge.
 */
#define STEPS 20000

struct printer {
    struct swift *s;
    bool is_full;
    char *room;
    size_t size, used;
    unsigned steps, depth;
    bool has_failed;
};

static void print(struct printer *p, swift_ref ref);

static void put(struct printer *p, const char *text, size_t size)
{
    if (size > p->size - p->used) {
        p->has_failed = true;
        return;
    }
    memcpy(p->room + p->used, text, size);
    p->used += size;
}

static void put_text(struct printer *p, const char *text)
{
    if (text != NULL) {
        put(p, text, strlen(text));
    }
}

static void put_number(struct printer *p, unsigned number)
{
    char text[16];

    put(p, text, (size_t)snprintf(text, sizeof(text), "%u", number));
}

static struct swift_node *at(struct printer *p, swift_ref ref)
{
    return swift_at(p->s, ref);
}

static swift_ref kid(struct printer *p, swift_ref ref, size_t i)
{
    return swift_kid(p->s, ref, i);
}

/* All children, with text between them. */
static void print_kids(struct printer *p, swift_ref ref, const char *between)
{
    size_t i;

    for (i = 0; i < at(p, ref)->num_kids; i++) {
        put_text(p, i > 0 ? between : "");
        print(p, kid(p, ref, i));
    }
}

/* contexts ----------------------------------------------------------------- */

/* Does a context stand in front of a name, and not after it? */
static bool is_in_front(struct printer *p, swift_ref ref)
{
    switch (at(p, ref)->kind) {
    case SWIFT_MODULE:
    case SWIFT_EXTENSION:
    case SWIFT_BOUND:
        return true;
    case SWIFT_NOMINAL:
        return at(p, kid(p, ref, 1))->kind != SWIFT_LOCAL;
    default:
        return false;
    }
}

static void print_in_front(struct printer *p, swift_ref context)
{
    size_t before = p->used;

    if (is_in_front(p, context) &&
        (p->is_full || at(p, context)->kind != SWIFT_MODULE)) {
        print(p, context);
        put_text(p, p->used > before ? "." : "");
    }
}

static void print_behind(struct printer *p, swift_ref context)
{
    if (!is_in_front(p, context)) {
        put_text(p, " in ");
        print(p, context);
    }
}

/* types -------------------------------------------------------------------- */

/* The type in a node of the kind TYPE, or itself. */
static swift_ref inner(struct printer *p, swift_ref ref)
{
    return at(p, ref)->kind == SWIFT_TYPE ? kid(p, ref, 0) : ref;
}

static void print_element(struct printer *p, swift_ref ref)
{
    if (kid(p, ref, 1) != 0) {
        print(p, kid(p, ref, 1));
        put_text(p, ": ");
    }
    print(p, kid(p, ref, 0));
    put_text(p, at(p, ref)->number != 0 ? "..." : "");
}

/* A list of parameters; labels may be 0. */
static void print_parameters(struct printer *p, swift_ref type,
                             swift_ref labels)
{
    swift_ref tuple = inner(p, type), label;
    size_t i, n = at(p, tuple)->num_kids;
    bool is_tuple = at(p, tuple)->kind == SWIFT_TUPLE;
    bool has_labels = false;

    for (i = 0; i < at(p, labels)->num_kids; i++) {
        has_labels = has_labels ||
                     at(p, kid(p, labels, i))->kind == SWIFT_IDENTIFIER;
    }
    put_text(p, "(");
    for (i = 0; i < (is_tuple ? n : 1) && !p->has_failed; i++) {
        label = has_labels ? kid(p, labels, i) : 0;
        put_text(p, i > 0 ? ", " : "");
        if (at(p, label)->kind == SWIFT_IDENTIFIER) {
            print(p, label);
        }
        put_text(p, !has_labels                                ? ""
                    : at(p, label)->kind == SWIFT_IDENTIFIER ? ": "
                                                               : "_: ");
        print(p, is_tuple ? kid(p, tuple, i) : type);
    }
    put_text(p, ")");
}

static void print_result(struct printer *p, swift_ref function)
{
    unsigned flags = at(p, function)->flags;

    put_text(p, (flags & SWIFT_IS_ASYNC) != 0 ? " async" : "");
    put_text(p, (flags & SWIFT_IS_THROWING) != 0 ? " throws" : "");
    put_text(p, " -> ");
    print(p, kid(p, function, 1));
}

static void print_function_type(struct printer *p, swift_ref ref)
{
    put_text(p, at(p, ref)->text);
    if (kid(p, ref, 2) != 0) {
        put_text(p, "@");
        print(p, kid(p, kid(p, ref, 2), 0));
        put_text(p, " ");
    }
    put_text(p, (at(p, ref)->flags & SWIFT_IS_SENDABLE) != 0 ? "@Sendable "
                                                               : "");
    print_parameters(p, kid(p, ref, 0), 0);
    print_result(p, ref);
}

static bool is_standard(struct printer *p, swift_ref nominal, const char *name)
{
    const struct swift_node *module = at(p, kid(p, nominal, 0));
    const struct swift_node *node = at(p, kid(p, nominal, 1));

    return module->kind == SWIFT_MODULE && module->size == 5 &&
           memcmp(module->text, "Swift", 5) == 0 && node->text != NULL &&
           node->size == strlen(name) &&
           memcmp(node->text, name, node->size) == 0;
}

/* Does what stands after a type need brackets around it? */
static bool is_simple(struct printer *p, swift_ref type)
{
    swift_ref ref = inner(p, type);

    return at(p, ref)->kind != SWIFT_FUNCTION_TYPE &&
           (at(p, ref)->kind != SWIFT_PROTOCOLS ||
            at(p, ref)->num_kids < 2);
}

static void print_argument(struct printer *p, swift_ref type)
{
    bool is_plain = is_simple(p, type);

    put_text(p, is_plain ? "" : "(");
    print(p, type);
    put_text(p, is_plain ? "" : ")");
}

/* Types of the standard library that have a short form.  Returns false for
 * others. */
static bool print_standard(struct printer *p, swift_ref nominal, swift_ref list)
{
    if (is_standard(p, nominal, "Optional") && at(p, list)->num_kids == 1) {
        print_argument(p, kid(p, list, 0));
        put_text(p, "?");
        return true;
    }
    if (is_standard(p, nominal, "Array") && at(p, list)->num_kids == 1) {
        put_text(p, "[");
        print(p, kid(p, list, 0));
        put_text(p, "]");
        return true;
    }
    if (is_standard(p, nominal, "Dictionary") && at(p, list)->num_kids == 2) {
        put_text(p, "[");
        print_kids(p, list, " : ");
        put_text(p, "]");
        return true;
    }
    return false;
}

/* Prints a nested type with its generic arguments: the child of this level has
 * the arguments of the type itself, lower ones those of the types around it.
 */
static void print_level(struct printer *p, swift_ref ref, swift_ref nominal,
                        size_t level)
{
    swift_ref context = kid(p, nominal, 0), outer = context;

    if (at(p, context)->kind == SWIFT_EXTENSION) {
        outer = kid(p, context, 1);
    }
    if (level > 1 && at(p, outer)->kind == SWIFT_NOMINAL) {
        if (p->is_full && outer != context) {
            put_text(p, "(extension in ");
            print(p, kid(p, context, 0));
            put_text(p, "):");
        }
        if (level == 2 && print_standard(p, outer, kid(p, ref, 1))) {
            put_text(p, "."); /* [A : B] of Dictionary<A, B> */
        } else {
            print_level(p, ref, outer, level - 1);
            put_text(p, ".");
        }
    } else {
        print_in_front(p, context);
    }
    print(p, kid(p, nominal, 1));
    if (at(p, kid(p, ref, level))->num_kids > 0) {
        put_text(p, "<");
        print_kids(p, kid(p, ref, level), ", ");
        put_text(p, ">");
    }
    print_behind(p, context);
}

static void print_parameter(struct printer *p, unsigned number)
{
    unsigned index = number & 0xffff, depth = number >> 16;
    char c;

    do {
        c = (char)('A' + index % 26);
        put(p, &c, 1);
        index /= 26;
    } while (index > 0);
    if (depth > 0) {
        put_number(p, depth);
    }
}

static void print_signature(struct printer *p, swift_ref ref)
{
    unsigned depth, i;
    bool has_requirements = false;
    swift_ref item;

    put_text(p, "<");
    for (depth = 0; depth < at(p, ref)->num_kids; depth++) {
        item = kid(p, ref, depth);
        if (at(p, item)->kind != SWIFT_COUNT) {
            break;
        }
        put_text(p, depth > 0 ? "><" : "");
        for (i = 0; i < at(p, item)->number && !p->has_failed; i++) {
            put_text(p, i > 0 ? ", " : "");
            print_parameter(p, depth << 16 | i);
        }
    }
    for (; p->is_full && depth < at(p, ref)->num_kids; depth++) {
        put_text(p, has_requirements ? ", " : " where ");
        has_requirements = true;
        print(p, kid(p, ref, depth));
    }
    put_text(p, ">");
}

static void print_associated(struct printer *p, swift_ref ref)
{
    print(p, kid(p, ref, 0));
    put_text(p, ".");
    if (p->is_full && kid(p, ref, 2) != 0) {
        print(p, kid(p, ref, 2));
        put_text(p, ".");
    }
    print(p, kid(p, ref, 1));
}

static void print_around(struct printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    put_text(p, node->text);
    if (node->behind != NULL) {
        print_argument(p, kid(p, ref, 0));
    } else {
        print(p, kid(p, ref, 0));
    }
    put_text(p, node->behind);
}

/* entities ----------------------------------------------------------------- */

static void print_signed(struct printer *p, swift_ref type, swift_ref labels)
{
    swift_ref ref = inner(p, type);

    if (at(p, ref)->kind == SWIFT_GENERIC) {
        print_signature(p, kid(p, ref, 0));
        ref = inner(p, kid(p, ref, 1));
    }
    if (at(p, ref)->kind != SWIFT_FUNCTION_TYPE) {
        p->has_failed = true;
        return;
    }
    print_parameters(p, kid(p, ref, 0), labels);
    if (p->is_full) {
        print_result(p, ref);
    }
}

static void print_function(struct printer *p, swift_ref ref)
{
    swift_ref context = kid(p, ref, 0), name = kid(p, ref, 1);

    print_in_front(p, context);
    print(p, name);
    put_text(p, at(p, name)->kind == SWIFT_LOCAL ? " " : "");
    print_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    print_behind(p, context);
}

static void print_initializer(struct printer *p, swift_ref ref)
{
    swift_ref context = kid(p, ref, 0);

    print_in_front(p, context);
    if (p->is_full && kid(p, ref, 1) != 0) {
        print(p, kid(p, ref, 1));
        put_text(p, ".");
    }
    put_text(p, at(p, ref)->text);
    print_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    print_behind(p, context);
}

/* A variable or a subscript, with the word for what accesses it; or NULL. */
static void print_storage(struct printer *p, swift_ref ref, const char *word)
{
    bool is_subscript = at(p, ref)->kind == SWIFT_SUBSCRIPT;
    swift_ref context = kid(p, ref, 0);

    print_in_front(p, context);
    if (is_subscript) {
        put_text(p, "subscript");
    } else {
        print(p, kid(p, ref, 1));
    }
    put_text(p, word != NULL ? "." : "");
    put_text(p, word);
    if (is_subscript) {
        put_text(p, p->is_full ? " : " : "");
        print_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    } else if (p->is_full) {
        put_text(p, " : ");
        print(p, kid(p, ref, 3));
    }
    print_behind(p, context);
}

static void print_member(struct printer *p, swift_ref ref)
{
    print_in_front(p, kid(p, ref, 0));
    put_text(p, at(p, ref)->text);
    print_behind(p, kid(p, ref, 0));
}

static void print_closure(struct printer *p, swift_ref ref)
{
    put_text(p, at(p, ref)->text);
    put_number(p, at(p, ref)->number + 1);
    if (p->is_full) {
        put_text(p, " ");
        print_signed(p, kid(p, ref, 1), 0);
    }
    put_text(p, " in ");
    print(p, kid(p, ref, 0));
}

static void print_extension(struct printer *p, swift_ref ref)
{
    if (p->is_full) {
        put_text(p, "(extension in ");
        print(p, kid(p, ref, 0));
        put_text(p, "):");
    }
    print(p, kid(p, ref, 1));
    if (p->is_full && kid(p, ref, 2) != 0) {
        print_signature(p, kid(p, ref, 2));
    }
}

static void print_private(struct printer *p, swift_ref ref)
{
    if (!p->is_full) {
        print(p, kid(p, ref, 1));
        return;
    }
    put_text(p, "(");
    if (kid(p, ref, 1) != 0) {
        print(p, kid(p, ref, 1));
        put_text(p, " ");
    }
    put_text(p, "in ");
    print(p, kid(p, ref, 0));
    put_text(p, ")");
}

static void print_conformance(struct printer *p, swift_ref ref)
{
    if (p->is_full && kid(p, ref, 0) != 0) {
        print_signature(p, kid(p, ref, 0));
        put_text(p, " ");
    }
    print(p, kid(p, ref, 1));
    if (p->is_full) {
        put_text(p, " : ");
        print(p, kid(p, ref, 2));
        put_text(p, " in ");
        print(p, kid(p, ref, 3));
    }
}

static void print_attribute(struct printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);
    bool is_generic = strncmp(node->text, "generic", 7) == 0;

    if (node->number != 0) {
        if (!p->is_full) {
            return; /* a part of an asynchronous function */
        }
        put_text(p, "(");
        put_number(p, node->number - 1);
        put_text(p, ") ");
    }
    if (!p->is_full &&
        (is_generic || strncmp(node->text, "function", 8) == 0)) {
        put_text(p, "specialized ");
        return;
    }
    put_text(p, node->text);
    if (is_generic) {
        put_text(p, " <");
        print_kids(p, ref, ", ");
        put_text(p, "> of ");
    }
}

/* all ---------------------------------------------------------------------- */

static void print_type(struct printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    switch (node->kind) {
    case SWIFT_TYPE:
        print(p, kid(p, ref, 0));
        break;
    case SWIFT_FUNCTION_TYPE:
        print_function_type(p, ref);
        break;
    case SWIFT_TUPLE:
        put_text(p, "(");
        print_kids(p, ref, ", ");
        put_text(p, ")");
        break;
    case SWIFT_ELEMENT:
        print_element(p, ref);
        break;
    case SWIFT_BOUND:
        if (node->num_kids != 2 ||
            !print_standard(p, kid(p, ref, 0), kid(p, ref, 1))) {
            print_level(p, ref, kid(p, ref, 0), node->num_kids - 1u);
        }
        break;
    case SWIFT_AROUND:
        print_around(p, ref);
        break;
    case SWIFT_PROTOCOLS:
        put_text(p, node->num_kids == 0 ? "Any" : "");
        print_kids(p, ref, " & ");
        break;
    case SWIFT_PARAMETER:
        print_parameter(p, node->number);
        break;
    case SWIFT_ASSOCIATED:
        print_associated(p, ref);
        break;
    case SWIFT_BUILTIN:
        put_text(p, node->text);
        if (node->number != 0) {
            put_number(p, node->number);
        }
        break;
    case SWIFT_REQUIREMENT:
        print(p, kid(p, ref, 0));
        put_text(p, node->behind);
        print(p, kid(p, ref, 1));
        break;
    case SWIFT_GENERIC:
        print_signature(p, kid(p, ref, 0));
        print(p, kid(p, ref, 1));
        break;
    default:
        p->has_failed = true;
        break;
    }
}

static void print_entity(struct printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    switch (node->kind) {
    case SWIFT_FUNCTION:
        print_function(p, ref);
        break;
    case SWIFT_VARIABLE:
    case SWIFT_SUBSCRIPT:
        print_storage(p, ref, NULL);
        break;
    case SWIFT_ACCESSOR:
        print_storage(p, kid(p, ref, 0), node->text);
        break;
    case SWIFT_INIT:
        print_initializer(p, ref);
        break;
    case SWIFT_MEMBER:
        print_member(p, ref);
        break;
    case SWIFT_CLOSURE:
        print_closure(p, ref);
        break;
    case SWIFT_DEFAULT_ARGUMENT:
        put_text(p, "default argument ");
        put_number(p, node->number);
        put_text(p, " of ");
        print(p, kid(p, ref, 0));
        break;
    case SWIFT_STATIC:
        put_text(p, "static ");
        print(p, kid(p, ref, 0));
        break;
    case SWIFT_CONFORMANCE:
        print_conformance(p, ref);
        break;
    case SWIFT_WITNESS:
        put_text(p, "protocol witness for ");
        print(p, kid(p, ref, 0));
        put_text(p, " in conformance ");
        print(p, kid(p, ref, 1));
        break;
    case SWIFT_FOR:
        put(p, node->text, node->size);
        print_kids(p, ref, node->behind != NULL ? node->behind : "");
        break;
    case SWIFT_ATTRIBUTE:
        print_attribute(p, ref);
        break;
    default:
        print_type(p, ref);
        break;
    }
}

static void print(struct printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    if (p->has_failed || p->depth == SWIFT_DEPTH || ++p->steps > STEPS) {
        p->has_failed = true;
        return;
    }
    p->depth++;
    switch (node->kind) {
    case SWIFT_NONE:
        break;
    case SWIFT_IDENTIFIER:
    case SWIFT_MODULE:
        put(p, node->text, node->size);
        break;
    case SWIFT_OPERATOR:
        put(p, node->text, node->size);
        put_text(p, node->behind);
        break;
    case SWIFT_PRIVATE:
        print_private(p, ref);
        break;
    case SWIFT_LOCAL:
        print(p, kid(p, ref, 0));
        put_text(p, " #");
        put_number(p, node->number + 1);
        break;
    case SWIFT_NOMINAL:
        print_in_front(p, kid(p, ref, 0));
        print(p, kid(p, ref, 1));
        print_behind(p, kid(p, ref, 0));
        break;
    case SWIFT_EXTENSION:
        print_extension(p, ref);
        break;
    default:
        print_entity(p, ref);
        break;
    }
    p->depth--;
}

/* Attributes were read last and stand in front. */
size_t swift_print(struct swift *s, bool is_full, char *room, size_t size)
{
    struct printer p = {.s = s, .is_full = is_full, .room = room, .size = size};
    size_t n = s->depth, i;

    while (n > 0 && s->nodes[s->stack[n - 1]].kind == SWIFT_ATTRIBUTE) {
        print(&p, s->stack[--n]);
    }
    for (i = 0; i < n; i++) {
        print(&p, s->stack[i]);
    }
    if (n > 1) {
        return 0; /* more than a name */
    }
    return p.has_failed ? 0 : p.used;
}
