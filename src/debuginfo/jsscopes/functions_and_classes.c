/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions, classes, and object literals with their methods.
 */
#include <string.h>

#include "parser.h"

/* Sets the end of a scope, whose number may be -1. */
static bool end_function_scope(struct jsparser *js, long scope, bool ok)
{
    if (scope >= 0 && ok) {
        js->scopes->list[scope].end = js->last_end;
    }
    return scope >= 0 && ok;
}

/* What is around a function has no effect on what is in it. */
struct function_around {
    const struct node *node;
    bool is_async;
    bool is_generator;
};

static struct function_around enter_function(struct jsparser *js,
                                             const struct node *node,
                                             bool is_async, bool is_generator)
{
    struct function_around around = {js->node, js->is_async, js->is_generator};

    js->node = node;
    js->is_async = is_async;
    js->is_generator = is_generator;
    return around;
}

static void leave_function(struct jsparser *js,
                           const struct function_around *around)
{
    js->node = around->node;
    js->is_async = around->is_async;
    js->is_generator = around->is_generator;
}

/* Reads parameters and a body; functions in them are below node. */
static bool parse_function_parts(struct jsparser *js, const struct node *node,
                                 bool is_async, bool is_generator)
{
    bool ok, has_no_in = js->has_no_in;
    struct function_around around =
        enter_function(js, node, is_async, is_generator);

    js->has_no_in = false;
    ok = parser_expect(js, '(') && jsparse_elements(js, ')') &&
         jsparse_block(js);
    js->has_no_in = has_no_in;
    leave_function(js, &around);
    return ok;
}

/* Reads parameters and body of a function. */
static bool parse_function_rest(struct jsparser *js, bool is_async,
                                bool is_generator)
{
    const struct node node = {.up = js->node, .kind = NODE_FUNCTION};

    return parse_function_parts(js, &node, is_async, is_generator);
}

bool jsparse_function(struct jsparser *js, uint32_t start, bool is_async)
{
    bool is_generator;
    long scope;
    struct jsscopes_part own = {NULL, 0, false};

    if (!parser_accept(js, '*', &is_generator)) {
        return false;
    }
    if (is_identifier(&js->t)) {
        own = parser_identifier(js, &js->t);
        if (!parser_next(js)) {
            return false;
        }
    }
    scope = scope_function(js, start, own.size > 0 ? &own : NULL);
    return scope >= 0 &&
           end_function_scope(js, scope,
                              parse_function_rest(js, is_async, is_generator));
}

/* Reads "=>" and the body, below node. */
static bool parse_arrow_body(struct jsparser *js, const struct node *node,
                             bool is_async)
{
    bool ok;
    struct function_around around = enter_function(js, node, is_async, false);

    ok = parser_expect(js, SIGN_ARROW) &&
         (is_sign(&js->t, '{') ? jsparse_block(js) : jsparse_assignment(js));
    leave_function(js, &around);
    js->was_arrow = ok;
    js->ref = REF_NONE;
    return ok;
}

bool jsparse_arrow(struct jsparser *js, uint32_t start, bool is_async)
{
    const struct node node = {.up = js->node, .kind = NODE_FUNCTION};
    long scope = scope_function(js, start, NULL);

    return scope >= 0 && end_function_scope(
                             js, scope, parse_arrow_body(js, &node, is_async));
}

bool jsparse_arrow_parameters(struct jsparser *js, uint32_t start,
                              bool is_async)
{
    bool ok;
    const struct node node = {.up = js->node, .kind = NODE_FUNCTION};
    long scope = scope_function(js, start, NULL);
    struct function_around around;

    if (scope < 0) {
        return false;
    }
    around = enter_function(js, &node, is_async, false);
    ok = parser_expect(js, '(') && jsparse_elements(js, ')');
    leave_function(js, &around);
    return end_function_scope(js, scope,
                              ok && parse_arrow_body(js, &node, is_async));
}

/* The words before the key of a member. */
struct class_modifiers {
    bool is_static;
    bool is_async;
    bool is_generator;
    char accessor; /* 'g', 's', or 0 */
};

/* Is a word at js->t a modifier, and not a key itself? */
static bool is_class_modifier(const struct jsparser *js, bool allows_line)
{
    struct token next = parser_peek(js);

    if (next.is_on_new_line && !allows_line) {
        return false;
    }
    return next.type != TOKEN_END &&
           !(next.sign != 0 && next.sign < 0x80 &&
             strchr("(=;},:", (int)next.sign) != NULL);
}

static bool parse_class_modifiers(struct jsparser *js, bool is_class,
                                  struct class_modifiers *modifiers)
{
    memset(modifiers, 0, sizeof(*modifiers));
    if (is_class && js->t.word == WORD_STATIC && is_class_modifier(js, true)) {
        modifiers->is_static = true;
        if (!parser_next(js)) {
            return false;
        }
    }
    if (js->t.word == WORD_ASYNC && is_class_modifier(js, false)) {
        modifiers->is_async = true;
        if (!parser_next(js)) {
            return false;
        }
    }
    if (!parser_accept(js, '*', &modifiers->is_generator)) {
        return false;
    }
    if ((js->t.word == WORD_GET || js->t.word == WORD_SET) &&
        !modifiers->is_async && !modifiers->is_generator &&
        is_class_modifier(js, true) && parser_peek(js).sign != '*') {
        modifiers->accessor = js->t.word == WORD_GET ? 'g' : 's';
        return parser_next(js);
    }
    return true;
}

/* Reads a method after its key. */
static bool parse_class_method(struct jsparser *js, uint32_t start,
                               const struct class_modifiers *modifiers,
                               const struct key *key)
{
    bool ok;
    long scope = 0;
    bool has_scope = !key->is_constructor || modifiers->is_static;
    struct node node = {.up = js->node,
                        .kind = NODE_METHOD,
                        .accessor = modifiers->accessor,
                        .key = key};

    js->node = &node;
    if (has_scope) {
        scope = scope_function(js, start, NULL);
    }
    ok = scope >= 0 &&
         parse_function_rest(js, modifiers->is_async, modifiers->is_generator);
    js->node = node.up;
    return has_scope ? end_function_scope(js, scope, ok) : ok;
}

/* Reads the value of a field after its key. */
static bool parse_class_field(struct jsparser *js)
{
    bool is_there, ok;
    struct function_around around = enter_function(js, js->node, false, false);

    ok = parser_accept(js, '=', &is_there) &&
         (!is_there || jsparse_assignment(js));
    leave_function(js, &around);
    return ok && jsparse_semicolon(js);
}

static bool parse_class_member(struct jsparser *js)
{
    uint32_t start = js->t.start;
    struct class_modifiers modifiers;
    struct key key;
    struct function_around around;
    bool ok;

    if (js->t.word == WORD_STATIC) {
        struct token next = parser_peek(js);

        if (is_sign(&next, '{')) {
            around = enter_function(js, js->node, false, false);
            ok = parser_next(js) && jsparse_block(js);
            leave_function(js, &around);
            return ok;
        }
    }
    if (!parse_class_modifiers(js, true, &modifiers) ||
        !jsparse_key(js, &key)) {
        return false;
    }
    return is_sign(&js->t, '(')
               ? parse_class_method(js, start, &modifiers, &key)
               : parse_class_field(js);
}

static bool parse_class_body(struct jsparser *js)
{
    bool is_there;

    if (!parser_expect(js, '{')) {
        return false;
    }
    while (!is_sign(&js->t, '}')) {
        if (!parser_accept(js, ';', &is_there) ||
            (!is_there && !parse_class_member(js))) {
            return false;
        }
    }
    return parser_next(js);
}

bool jsparse_class(struct jsparser *js, bool is_declaration)
{
    bool ok;
    long scope;
    uint32_t start = js->t.start;
    size_t base = js->ref_base;
    struct node node = {.up = js->node,
                        .kind = is_declaration ? NODE_CLASS
                                               : NODE_CLASS_EXPRESSION};

    if (!parser_enter(js) || !parser_next(js)) {
        return false;
    }
    if (is_identifier(&js->t)) {
        node.name = parser_identifier(js, &js->t);
        js->node = &node;
        if (!parser_next(js)) {
            return false;
        }
    }
    scope = scope_class(js, start, node.name.size > 0 ? &node.name : NULL);
    ok = scope >= 0;
    if (ok && js->t.word == WORD_EXTENDS) {
        js->ref_base = js->num_refs;
        ok = parser_next(js) && jsparse_operand(js);
        js->num_refs = js->ref_base;
        js->ref_base = base;
    }
    ok = ok && parse_class_body(js);
    js->node = node.up;
    js->ref = REF_NONE;
    js->was_arrow = false;
    parser_leave(js);
    return end_function_scope(js, scope, ok);
}

/* Reads a getter or setter of a literal after its key.  It does not end the
 * names of what is in it. */
static bool parse_accessor_function(struct jsparser *js, uint32_t start,
                                    const struct class_modifiers *modifiers,
                                    const struct key *key)
{
    long scope = scope_accessor(js, start, modifiers->accessor == 'g', key);

    return scope >= 0 &&
           end_function_scope(
               js, scope, parse_function_parts(js, js->node, false, false));
}

/* Reads what follows the key of a literal's member. */
static bool parse_value_or_function(struct jsparser *js, uint32_t start,
                                    const struct class_modifiers *modifiers,
                                    const struct key *key)
{
    bool ok;
    long scope;
    struct node node = {.up = js->node, .kind = NODE_PROPERTY, .key = key};

    if (modifiers->accessor != '\0') {
        return parse_accessor_function(js, start, modifiers, key);
    }
    if (is_sign(&js->t, '(')) {
        js->node = &node;
        scope = scope_function(js, start, NULL);
        ok = scope >= 0 && parse_function_rest(js, modifiers->is_async,
                                               modifiers->is_generator);
        js->node = node.up;
        return end_function_scope(js, scope, ok);
    }
    if (is_sign(&js->t, ':')) {
        js->node = key->is_plain ? &node : js->node;
        ok = parser_next(js) && jsparse_assignment(js);
        js->node = node.up;
        return ok;
    }
    if (!key->is_plain) {
        return parser_unexpected(js);
    }
    /* {a = 1} is a pattern, which is seen after the brace */
    return !is_sign(&js->t, '=') ||
           (parser_next(js) && jsparse_assignment(js));
}

bool jsparse_object(struct jsparser *js)
{
    bool is_there, ok = true;
    uint32_t start;
    struct class_modifiers modifiers;
    struct key key;
    struct node node = {.up = js->node, .kind = NODE_OBJECT};

    if (!parser_expect(js, '{')) {
        return false;
    }
    js->node = &node;
    while (ok && !is_sign(&js->t, '}')) {
        start = js->t.start;
        ok = parser_accept(js, SIGN_SPREAD, &is_there) &&
             (is_there ? jsparse_assignment(js)
                       : parse_class_modifiers(js, false, &modifiers) &&
                             jsparse_key(js, &key) &&
                             parse_value_or_function(js, start, &modifiers,
                                                     &key)) &&
             (is_sign(&js->t, '}') || parser_expect(js, ','));
    }
    js->node = node.up;
    return ok && parser_next(js);
}
