/*
 * Copyright (C) the ngx_symcache authors
 */
#include "print.h"

/* Nodes that are written.  Subtrees are shared, so a short name could be huge.
 */
#define STEPS 20000

/* All children, with text between them. */
void swift_print_kids(struct swift_printer *p, swift_ref ref,
                      const char *between)
{
    size_t i;

    for (i = 0; i < at(p, ref)->num_kids; i++) {
        put_text(p, i > 0 ? between : "");
        swift_print_node(p, kid(p, ref, i));
    }
}

/* contexts ---------------------------------------------------------------- */

/* Does a context stand in front of a name, and not after it? */
static bool is_entity_in_front(struct swift_printer *p, swift_ref ref)
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

void swift_print_in_front(struct swift_printer *p, swift_ref context)
{
    size_t before = p->used;

    if (is_entity_in_front(p, context) &&
        (p->is_full || at(p, context)->kind != SWIFT_MODULE)) {
        swift_print_node(p, context);
        put_text(p, p->used > before ? "." : "");
    }
}

void swift_print_behind(struct swift_printer *p, swift_ref context)
{
    if (!is_entity_in_front(p, context)) {
        put_text(p, " in ");
        swift_print_node(p, context);
    }
}

/* entities ---------------------------------------------------------------- */

static void print_entity_thunk(struct swift_printer *p, swift_ref ref)
{
    if (!p->is_full) {
        put_text(p, "thunk for ");
        swift_print_node(p, kid(p, ref, 1));
        return;
    }
    put_text(p, at(p, ref)->text);
    if (kid(p, ref, 0) != 0) {
        swift_print_signature(p, kid(p, ref, 0));
        put_text(p, " ");
    }
    put_text(p, "from ");
    swift_print_node(p, kid(p, ref, 1));
    put_text(p, " to ");
    swift_print_node(p, kid(p, ref, 2));
}

static void print_entity_key_path(struct swift_printer *p, swift_ref ref)
{
    size_t i;

    put_text(p, at(p, ref)->text);
    swift_print_node(p, kid(p, ref, 0));
    for (i = 1; i < at(p, ref)->num_kids; i++) {
        put_text(p, i == 1 ? " : " : ", ");
        swift_print_node(p, kid(p, ref, i));
    }
    if (at(p, ref)->flags != 0) {
        put_text(p, ", serialized");
    }
}

static void print_entity_related(struct swift_printer *p, swift_ref ref)
{
    char letter = (char)at(p, ref)->number;

    put_text(p, "related decl '");
    put(p, &letter, 1);
    put_text(p, "' for ");
    swift_print_node(p, kid(p, ref, 0));
}

static void print_entity_signed(struct swift_printer *p, swift_ref type,
                                swift_ref labels)
{
    swift_ref ref = inner(p, type);

    if (at(p, ref)->kind == SWIFT_GENERIC) {
        swift_print_signature(p, kid(p, ref, 0));
        ref = inner(p, kid(p, ref, 1));
    }
    if (at(p, ref)->kind != SWIFT_FUNCTION_TYPE) {
        p->has_failed = true;
        return;
    }
    swift_print_parameters(p, kid(p, ref, 0), labels);
    swift_print_result(p, ref);
}

/* What stands in front of the parameters of a closure. */
static void print_closure_attributes(struct swift_printer *p, swift_ref type)
{
    swift_ref ref = inner(p, type);

    if (at(p, ref)->kind == SWIFT_GENERIC) {
        ref = inner(p, kid(p, ref, 1));
    }
    if (at(p, ref)->kind == SWIFT_FUNCTION_TYPE) {
        swift_print_function_attributes(p, ref);
    }
}

static void print_entity_function(struct swift_printer *p, swift_ref ref)
{
    swift_ref context = kid(p, ref, 0), name = kid(p, ref, 1);

    swift_print_in_front(p, context);
    swift_print_node(p, name);
    put_text(p, at(p, name)->kind == SWIFT_LOCAL ? " " : "");
    print_entity_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    swift_print_behind(p, context);
}

static void print_entity_initializer(struct swift_printer *p, swift_ref ref)
{
    swift_ref context = kid(p, ref, 0);

    swift_print_in_front(p, context);
    if (p->is_full && kid(p, ref, 1) != 0) {
        swift_print_node(p, kid(p, ref, 1));
        put_text(p, ".");
    }
    put_text(p, at(p, ref)->text);
    print_entity_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    swift_print_behind(p, context);
}

/* A variable or a subscript, with the word for what accesses it; or NULL. */
static void print_entity_storage(struct swift_printer *p, swift_ref ref,
                                 const char *word)
{
    bool is_subscript = at(p, ref)->kind == SWIFT_SUBSCRIPT;
    swift_ref context = kid(p, ref, 0), name = kid(p, ref, 1);
    bool is_local = word != NULL && at(p, name)->kind == SWIFT_LOCAL;

    put_text(p, is_local ? word : "");
    put_text(p, is_local ? " of " : "");
    swift_print_in_front(p, context);
    if (is_subscript) {
        put_text(p, "subscript");
    } else {
        swift_print_node(p, name);
    }
    if (word != NULL && !is_local) {
        put_text(p, ".");
        put_text(p, word);
    }
    if (is_subscript && (p->is_full || word == NULL)) {
        put_text(p, p->is_full ? " : " : "");
        print_entity_signed(p, kid(p, ref, 3), kid(p, ref, 2));
    } else if (p->is_full) {
        put_text(p, " : ");
        swift_print_node(p, kid(p, ref, 3));
    }
    swift_print_behind(p, context);
}

static void print_entity_member(struct swift_printer *p, swift_ref ref)
{
    swift_print_in_front(p, kid(p, ref, 0));
    put_text(p, at(p, ref)->text);
    swift_print_behind(p, kid(p, ref, 0));
}

static void print_entity_closure(struct swift_printer *p, swift_ref ref)
{
    put_text(p, at(p, ref)->text);
    put_number(p, at(p, ref)->number + 1);
    put_text(p, " ");
    print_closure_attributes(p, kid(p, ref, 1));
    print_entity_signed(p, kid(p, ref, 1), 0);
    put_text(p, " in ");
    swift_print_node(p, kid(p, ref, 0));
}

static void print_entity_extension(struct swift_printer *p, swift_ref ref)
{
    if (p->is_full) {
        put_text(p, "(extension in ");
        swift_print_node(p, kid(p, ref, 0));
        put_text(p, "):");
    }
    swift_print_node(p, kid(p, ref, 1));
    if (kid(p, ref, 2) != 0) {
        swift_print_signature(p, kid(p, ref, 2));
    }
}

static void print_entity_private(struct swift_printer *p, swift_ref ref)
{
    if (!p->is_full) {
        swift_print_node(p, kid(p, ref, 1));
        return;
    }
    put_text(p, "(");
    if (kid(p, ref, 1) != 0) {
        swift_print_node(p, kid(p, ref, 1));
        put_text(p, " ");
    }
    put_text(p, "in ");
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, ")");
}

static void print_entity_conformance(struct swift_printer *p, swift_ref ref)
{
    if (kid(p, ref, 0) != 0) {
        swift_print_signature(p, kid(p, ref, 0));
        put_text(p, " ");
    }
    swift_print_node(p, kid(p, ref, 1));
    if (p->is_full) {
        put_text(p, " : ");
        swift_print_node(p, kid(p, ref, 2));
        put_text(p, " in ");
        swift_print_node(p, kid(p, ref, 3));
    }
}

static void print_entity_witness(struct swift_printer *p, swift_ref ref)
{
    put_text(p, "protocol witness for ");
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, " in conformance ");
    swift_print_node(p, kid(p, ref, 1));
}

/* The words of an attribute in the form that is answered. */
static const char *entity_words(const char *words)
{
    static const struct {
        const char *words, *answered;
    } others[] = {
        {"partial apply forwarder for ", "partial apply for "},
        {"partial apply ObjC forwarder for ", "partial apply for "},
        {"merged ", ""},
        {"distributed thunk ", ""},
        {"back deployment thunk for ", ""},
    };
    size_t i;

    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(words, others[i].words) == 0) {
            return others[i].answered;
        }
    }
    return words;
}

static void print_entity_attribute(struct swift_printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);
    bool is_generic = strstr(node->text, "generic") != NULL;

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
        put_text(p, p->is_specialized ? "" : "specialized ");
        p->is_specialized = true;
        return;
    }
    put_text(p, p->is_full ? node->text : entity_words(node->text));
    if (node->behind != NULL) {
        put(p, node->behind, node->size);
        put_text(p, ") of ");
    }
    if (is_generic) {
        put_text(p, " <");
        swift_print_kids(p, ref, ", ");
        put_text(p, "> of ");
    }
}

static void print_entity_default_argument(struct swift_printer *p,
                                          swift_ref ref)
{
    put_text(p, "default argument ");
    put_number(p, at(p, ref)->number);
    put_text(p, " of ");
    swift_print_node(p, kid(p, ref, 0));
}

static void print_entity_value_witness(struct swift_printer *p, swift_ref ref)
{
    put(p, at(p, ref)->text, at(p, ref)->size);
    put_text(p, p->is_full ? " value witness for " : " for ");
    swift_print_node(p, kid(p, ref, 0));
}

/* all --------------------------------------------------------------------- */

static void print_entity(struct swift_printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    switch (node->kind) {
    case SWIFT_FUNCTION:
        print_entity_function(p, ref);
        break;
    case SWIFT_VARIABLE:
    case SWIFT_SUBSCRIPT:
        print_entity_storage(p, ref, NULL);
        break;
    case SWIFT_ACCESSOR:
        print_entity_storage(p, kid(p, ref, 0), node->text);
        break;
    case SWIFT_INIT:
        print_entity_initializer(p, ref);
        break;
    case SWIFT_MEMBER:
        print_entity_member(p, ref);
        break;
    case SWIFT_CLOSURE:
        print_entity_closure(p, ref);
        break;
    case SWIFT_DEFAULT_ARGUMENT:
        print_entity_default_argument(p, ref);
        break;
    case SWIFT_STATIC:
        put_text(p, "static ");
        swift_print_node(p, kid(p, ref, 0));
        break;
    case SWIFT_CONFORMANCE:
        print_entity_conformance(p, ref);
        break;
    case SWIFT_WITNESS:
        print_entity_witness(p, ref);
        break;
    case SWIFT_FOR:
    case SWIFT_INITIAL:
        put(p, node->text, node->size);
        swift_print_kids(p, ref, node->behind != NULL ? node->behind : "");
        break;
    case SWIFT_VALUE_WITNESS:
        print_entity_value_witness(p, ref);
        break;
    case SWIFT_ATTRIBUTE:
        print_entity_attribute(p, ref);
        break;
    case SWIFT_THUNK:
        print_entity_thunk(p, ref);
        break;
    case SWIFT_KEY_PATH:
        print_entity_key_path(p, ref);
        break;
    default:
        swift_print_type(p, ref);
        break;
    }
}

void swift_print_node(struct swift_printer *p, swift_ref ref)
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
        print_entity_private(p, ref);
        break;
    case SWIFT_RELATED:
        print_entity_related(p, ref);
        break;
    case SWIFT_LOCAL:
        swift_print_node(p, kid(p, ref, 0));
        put_text(p, " #");
        put_number(p, node->number + 1);
        break;
    case SWIFT_NOMINAL:
        swift_print_in_front(p, kid(p, ref, 0));
        swift_print_node(p, kid(p, ref, 1));
        swift_print_behind(p, kid(p, ref, 0));
        break;
    case SWIFT_EXTENSION:
        print_entity_extension(p, ref);
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
    struct swift_printer p = {
        .s = s, .is_full = is_full, .room = room, .size = size};
    size_t n = s->depth, i;

    while (n > 0 && s->nodes[s->stack[n - 1]].kind == SWIFT_ATTRIBUTE) {
        swift_print_node(&p, s->stack[--n]);
    }
    for (i = 0; i < n; i++) {
        swift_print_node(&p, s->stack[i]);
    }
    if (n > 1) {
        return 0; /* more than a name */
    }
    return p.has_failed ? 0 : p.used;
}
