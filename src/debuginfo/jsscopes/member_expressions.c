/*
 * Copyright (C) the ngx_symcache authors
 *
 * A primary expression and what follows it: members, calls, templates, and
 * "new" before it.
 */
#include "parser.h"

static bool parse_call_arguments(struct jsparser *js)
{
    bool is_spread;

    if (!parser_expect(js, '(')) {
        return false;
    }
    while (!is_sign(&js->t, ')')) {
        if (!parser_accept(js, SIGN_SPREAD, &is_spread) ||
            !jsparse_assignment(js)) {
            return false;
        }
        if (!is_sign(&js->t, ')') && !parser_expect(js, ',')) {
            return false;
        }
    }
    return parser_next(js);
}

bool jsparse_template(struct jsparser *js)
{
    int rc;

    for (;;) {
        rc = lexer_template(&js->lexer);
        js->t.end = js->lexer.at;
        if (rc < 0) {
            return parser_fail(js, JSSCOPES_BAD_SYNTAX,
                               "a template has no end");
        }
        if (!parser_next(js)) {
            return false;
        }
        if (rc == 0) {
            return true;
        }
        if (!jsparse_expression(js)) {
            return false;
        }
        if (!is_sign(&js->t, '}')) {
            return parser_unexpected(js);
        }
        js->lexer.at = js->t.end;
    }
}

/* The parts of "[...]" after an object, if the expression in it was one
 * token. */
static bool refer_computed_member(struct jsparser *js, const struct token *t)
{
    struct jsscopes_part part;
    static const struct jsscopes_part computed = {"[<computed>]", 12, false};
    static const struct jsscopes_part open = {"[", 1, false};
    static const struct jsscopes_part close = {"]", 1, false};

    if (js->last_start != t->start || t->type == TOKEN_TEMPLATE ||
        t->word == WORD_THIS) {
        return parser_refer(js, &computed);
    }
    if (is_identifier(t)) {
        part = parser_identifier(js, t);
        return parser_refer(js, &open) && parser_refer(js, &part) &&
               parser_refer(js, &close);
    }
    return literal_part(js, t, false, &part) && parser_refer(js, &part);
}

/* Reads "[...]" after an object. */
static bool parse_index_member(struct jsparser *js, enum ref_kind *ref)
{
    struct token first;

    if (!parser_next(js)) {
        return false;
    }
    first = js->t;
    if (!jsparse_expression(js)) {
        return false;
    }
    first.end = first.start == js->last_start ? js->last_end : first.end;
    if (!is_sign(&js->t, ']')) {
        return parser_unexpected(js);
    }
    if (*ref != REF_NONE) {
        if (!refer_computed_member(js, &first)) {
            return false;
        }
        *ref = REF_MEMBER;
    }
    return parser_next(js);
}

/* Reads a name after "." or "?.". */
static bool parse_member(struct jsparser *js, enum ref_kind *ref)
{
    struct jsscopes_part part = parser_identifier(js, &js->t);
    static const struct jsscopes_part dot = {".", 1, false};

    if (js->t.type != TOKEN_NAME && js->t.type != TOKEN_PRIVATE) {
        return parser_unexpected(js);
    }
    if (*ref != REF_NONE) {
        if (js->t.type == TOKEN_NAME &&
            (!parser_refer(js, &dot) || !parser_refer(js, &part))) {
            return false;
        }
        *ref = REF_MEMBER;
    }
    return parser_next(js);
}

/* Reads what follows "?.". */
static bool parse_optional_member(struct jsparser *js)
{
    enum ref_kind ref = REF_NONE;

    if (!parser_next(js)) {
        return false;
    }
    if (is_sign(&js->t, '(')) {
        return parse_call_arguments(js);
    }
    if (is_sign(&js->t, '[')) {
        return parse_index_member(js, &ref);
    }
    return js->t.type == TOKEN_TEMPLATE ? jsparse_template(js)
                                        : parse_member(js, &ref);
}

/* Reads members, calls and templates after an operand. */
static bool parse_members(struct jsparser *js, bool has_calls)
{
    bool ok = true;
    enum ref_kind ref = js->ref;

    while (ok && !js->was_arrow) {
        if (is_sign(&js->t, '.')) {
            ok = parser_next(js) && parse_member(js, &ref);
        } else if (is_sign(&js->t, '[')) {
            ok = parse_index_member(js, &ref);
        } else if (is_sign(&js->t, '(') && has_calls) {
            ref = REF_NONE;
            ok = parse_call_arguments(js);
        } else if (is_sign(&js->t, SIGN_OPTIONAL) && has_calls) {
            ref = REF_NONE;
            ok = parse_optional_member(js);
        } else if (js->t.type == TOKEN_TEMPLATE) {
            ref = REF_NONE;
            ok = jsparse_template(js);
        } else {
            break;
        }
    }
    js->ref = ref;
    return ok;
}

/* Reads "new", what is made, and arguments, if there are any. */
static bool parse_new_expression(struct jsparser *js)
{
    if (!parser_next(js)) {
        return false;
    }
    if (is_sign(&js->t, '.')) { /* new.target */
        js->ref = REF_NONE;
        return parser_next(js) && js->t.type == TOKEN_NAME && parser_next(js);
    }
    if (!parser_enter(js)) {
        return false;
    }
    if (js->t.word == WORD_NEW ? !parse_new_expression(js)
                               : !jsparse_primary(js)) {
        return false;
    }
    parser_leave(js);
    if (!parse_members(js, false)) {
        return false;
    }
    js->ref = REF_NONE;
    return !is_sign(&js->t, '(') || parse_call_arguments(js);
}

bool jsparse_operand(struct jsparser *js)
{
    bool ok, has_no_in = js->has_no_in;

    js->num_refs = js->ref_base;
    js->ref = REF_NONE;
    js->was_arrow = false;
    js->has_no_in = false; /* in brackets it is an operator */
    ok = (js->t.word == WORD_NEW ? parse_new_expression(js)
                                 : jsparse_primary(js)) &&
         parse_members(js, true);
    js->has_no_in = has_no_in;
    return ok;
}
