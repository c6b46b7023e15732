/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions, classes, and object literals with their methods.
 */
#include <string.h>

#include "parser.h"

/* Sets the end of a scope, whose number may be -1. */
static bool end_function_scope(struct parser *p, long scope, bool ok)
{
    if (scope >= 0 && ok) {
        p->scopes->list[scope].end = p->last_end;
    }
    return scope >= 0 && ok;
}

/* What is around a function has no effect on what is in it. */
struct around {
    const struct node *node;
    bool is_async;
    bool is_generator;
};

static struct around enter_function(struct parser *p, const struct node *node,
                                    bool is_async, bool is_generator)
{
    struct around around = {p->node, p->is_async, p->is_generator};

    p->node = node;
    p->is_async = is_async;
    p->is_generator = is_generator;
    return around;
}

static void leave_function(struct parser *p, const struct around *around)
{
    p->node = around->node;
    p->is_async = around->is_async;
    p->is_generator = around->is_generator;
}

/* Reads parameters and a body; functions in them are below node. */
static bool parse_parts(struct parser *p, const struct node *node,
                        bool is_async, bool is_generator)
{
    bool ok, has_no_in = p->has_no_in;
    struct around around = enter_function(p, node, is_async, is_generator);

    p->has_no_in = false;
    ok = parser_expect(p, '(') && jsparse_elements(p, ')') && jsparse_block(p);
    p->has_no_in = has_no_in;
    leave_function(p, &around);
    return ok;
}

/* Reads parameters and body of a function. */
static bool parse_function_rest(struct parser *p, bool is_async,
                                bool is_generator)
{
    const struct node node = {.up = p->node, .kind = NODE_FUNCTION};

    return parse_parts(p, &node, is_async, is_generator);
}

bool jsparse_function(struct parser *p, uint32_t start, bool is_async)
{
    bool is_generator;
    long scope;
    struct jsscopes_part own = {NULL, 0, false};

    if (!parser_accept(p, '*', &is_generator)) {
        return false;
    }
    if (is_identifier(&p->t)) {
        own = parser_identifier(p, &p->t);
        if (!parser_next(p)) {
            return false;
        }
    }
    scope = scope_function(p, start, own.size > 0 ? &own : NULL);
    return scope >= 0 &&
           end_function_scope(p, scope,
                              parse_function_rest(p, is_async, is_generator));
}

/* Reads "=>" and the body, below node. */
static bool parse_arrow_body(struct parser *p, const struct node *node,
                             bool is_async)
{
    bool ok;
    struct around around = enter_function(p, node, is_async, false);

    ok = parser_expect(p, SIGN_ARROW) &&
         (is_sign(&p->t, '{') ? jsparse_block(p) : jsparse_assignment(p));
    leave_function(p, &around);
    p->was_arrow = ok;
    p->ref = REF_NONE;
    return ok;
}

bool jsparse_arrow(struct parser *p, uint32_t start, bool is_async)
{
    const struct node node = {.up = p->node, .kind = NODE_FUNCTION};
    long scope = scope_function(p, start, NULL);

    return scope >= 0 &&
           end_function_scope(p, scope, parse_arrow_body(p, &node, is_async));
}

bool jsparse_arrow_parameters(struct parser *p, uint32_t start, bool is_async)
{
    bool ok;
    const struct node node = {.up = p->node, .kind = NODE_FUNCTION};
    long scope = scope_function(p, start, NULL);
    struct around around;

    if (scope < 0) {
        return false;
    }
    around = enter_function(p, &node, is_async, false);
    ok = parser_expect(p, '(') && jsparse_elements(p, ')');
    leave_function(p, &around);
    return end_function_scope(p, scope,
                              ok && parse_arrow_body(p, &node, is_async));
}

/* The words before the key of a member. */
struct class_modifiers {
    bool is_static;
    bool is_async;
    bool is_generator;
    char accessor; /* 'g', 's', or 0 */
};

/* Is a word at p->t a modifier, and not a key itself? */
static bool is_class_modifier(const struct parser *p, bool allows_line)
{
    struct token next = parser_peek(p);

    if (next.is_on_new_line && !allows_line) {
        return false;
    }
    return next.type != TOKEN_END &&
           !(next.sign != 0 && next.sign < 0x80 &&
             strchr("(=;},:", (int)next.sign) != NULL);
}

static bool parse_class_modifiers(struct parser *p, bool is_class,
                                  struct class_modifiers *m)
{
    memset(m, 0, sizeof(*m));
    if (is_class && p->t.word == WORD_STATIC && is_class_modifier(p, true)) {
        m->is_static = true;
        if (!parser_next(p)) {
            return false;
        }
    }
    if (p->t.word == WORD_ASYNC && is_class_modifier(p, false)) {
        m->is_async = true;
        if (!parser_next(p)) {
            return false;
        }
    }
    if (!parser_accept(p, '*', &m->is_generator)) {
        return false;
    }
    if ((p->t.word == WORD_GET || p->t.word == WORD_SET) && !m->is_async &&
        !m->is_generator && is_class_modifier(p, true) &&
        parser_peek(p).sign != '*') {
        m->accessor = p->t.word == WORD_GET ? 'g' : 's';
        return parser_next(p);
    }
    return true;
}

/* Reads a method after its key. */
static bool parse_class_method(struct parser *p, uint32_t start,
                               const struct class_modifiers *m,
                               const struct key *key)
{
    bool ok;
    long scope = 0;
    bool has_scope = !key->is_constructor || m->is_static;
    struct node node = {.up = p->node,
                        .kind = NODE_METHOD,
                        .accessor = m->accessor,
                        .key = key};

    p->node = &node;
    if (has_scope) {
        scope = scope_function(p, start, NULL);
    }
    ok = scope >= 0 && parse_function_rest(p, m->is_async, m->is_generator);
    p->node = node.up;
    return has_scope ? end_function_scope(p, scope, ok) : ok;
}

/* Reads the value of a field after its key. */
static bool parse_class_field(struct parser *p)
{
    bool is_there, ok;
    struct around around = enter_function(p, p->node, false, false);

    ok = parser_accept(p, '=', &is_there) &&
         (!is_there || jsparse_assignment(p));
    leave_function(p, &around);
    return ok && jsparse_semicolon(p);
}

static bool parse_class_member(struct parser *p)
{
    uint32_t start = p->t.start;
    struct class_modifiers m;
    struct key key;
    struct around around;
    bool ok;

    if (p->t.word == WORD_STATIC) {
        struct token next = parser_peek(p);

        if (is_sign(&next, '{')) {
            around = enter_function(p, p->node, false, false);
            ok = parser_next(p) && jsparse_block(p);
            leave_function(p, &around);
            return ok;
        }
    }
    if (!parse_class_modifiers(p, true, &m) || !jsparse_key(p, &key)) {
        return false;
    }
    return is_sign(&p->t, '(') ? parse_class_method(p, start, &m, &key)
                               : parse_class_field(p);
}

static bool parse_class_body(struct parser *p)
{
    bool is_there;

    if (!parser_expect(p, '{')) {
        return false;
    }
    while (!is_sign(&p->t, '}')) {
        if (!parser_accept(p, ';', &is_there) ||
            (!is_there && !parse_class_member(p))) {
            return false;
        }
    }
    return parser_next(p);
}

bool jsparse_class(struct parser *p, bool is_declaration)
{
    bool ok;
    long scope;
    uint32_t start = p->t.start;
    size_t base = p->ref_base;
    struct node node = {.up = p->node,
                        .kind = is_declaration ? NODE_CLASS
                                               : NODE_CLASS_EXPRESSION};

    if (!parser_enter(p) || !parser_next(p)) {
        return false;
    }
    if (is_identifier(&p->t)) {
        node.name = parser_identifier(p, &p->t);
        p->node = &node;
        if (!parser_next(p)) {
            return false;
        }
    }
    scope = scope_class(p, start, node.name.size > 0 ? &node.name : NULL);
    ok = scope >= 0;
    if (ok && p->t.word == WORD_EXTENDS) {
        p->ref_base = p->num_refs;
        ok = parser_next(p) && jsparse_operand(p);
        p->num_refs = p->ref_base;
        p->ref_base = base;
    }
    ok = ok && parse_class_body(p);
    p->node = node.up;
    p->ref = REF_NONE;
    p->was_arrow = false;
    parser_leave(p);
    return end_function_scope(p, scope, ok);
}

/* Reads a getter or setter of a literal after its key.  It does not end the
 * names of what is in it. */
static bool parse_accessor(struct parser *p, uint32_t start,
                           const struct class_modifiers *m,
                           const struct key *key)
{
    long scope = scope_accessor(p, start, m->accessor == 'g', key);

    return scope >= 0 &&
           end_function_scope(p, scope, parse_parts(p, p->node, false, false));
}

/* Reads what follows the key of a literal's member. */
static bool parse_property_value(struct parser *p, uint32_t start,
                                 const struct class_modifiers *m,
                                 const struct key *key)
{
    bool ok;
    long scope;
    struct node node = {.up = p->node, .kind = NODE_PROPERTY, .key = key};

    if (m->accessor != '\0') {
        return parse_accessor(p, start, m, key);
    }
    if (is_sign(&p->t, '(')) {
        p->node = &node;
        scope = scope_function(p, start, NULL);
        ok =
            scope >= 0 && parse_function_rest(p, m->is_async, m->is_generator);
        p->node = node.up;
        return end_function_scope(p, scope, ok);
    }
    if (is_sign(&p->t, ':')) {
        p->node = key->is_plain ? &node : p->node;
        ok = parser_next(p) && jsparse_assignment(p);
        p->node = node.up;
        return ok;
    }
    if (!key->is_plain) {
        return parser_unexpected(p);
    }
    /* {a = 1} is a pattern, which is seen after the brace */
    return !is_sign(&p->t, '=') || (parser_next(p) && jsparse_assignment(p));
}

bool jsparse_object(struct parser *p)
{
    bool is_there, ok = true;
    uint32_t start;
    struct class_modifiers m;
    struct key key;
    struct node node = {.up = p->node, .kind = NODE_OBJECT};

    if (!parser_expect(p, '{')) {
        return false;
    }
    p->node = &node;
    while (ok && !is_sign(&p->t, '}')) {
        start = p->t.start;
        ok = parser_accept(p, SIGN_SPREAD, &is_there) &&
             (is_there ? jsparse_assignment(p)
                       : parse_class_modifiers(p, false, &m) &&
                             jsparse_key(p, &key) &&
                             parse_property_value(p, start, &m, &key)) &&
             (is_sign(&p->t, '}') || parser_expect(p, ','));
    }
    p->node = node.up;
    return ok && parser_next(p);
}
