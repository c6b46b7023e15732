/*
 * Copyright (C) the ngx_symcache authors
 *
 * A primary expression and what follows it: members, calls, templates, and
 * "new" before it.
 */
#include "parser.h"

static bool parse_call_arguments(struct parser *p)
{
    bool is_spread;

    if (!parser_expect(p, '(')) {
        return false;
    }
    while (!is_sign(&p->t, ')')) {
        if (!parser_accept(p, SIGN_SPREAD, &is_spread) ||
            !jsparse_assignment(p)) {
            return false;
        }
        if (!is_sign(&p->t, ')') && !parser_expect(p, ',')) {
            return false;
        }
    }
    return parser_next(p);
}

bool jsparse_template(struct parser *p)
{
    int rc;

    for (;;) {
        rc = lexer_template(&p->lexer);
        p->t.end = p->lexer.at;
        if (rc < 0) {
            return parser_fail(p, JSSCOPES_BAD_SYNTAX,
                               "a template has no end");
        }
        if (!parser_next(p)) {
            return false;
        }
        if (rc == 0) {
            return true;
        }
        if (!jsparse_expression(p)) {
            return false;
        }
        if (!is_sign(&p->t, '}')) {
            return parser_unexpected(p);
        }
        p->lexer.at = p->t.end;
    }
}

/* The parts of "[...]" after an object, if the expression in it was one
 * token. */
static bool refer_computed(struct parser *p, const struct token *t)
{
    struct jsscopes_part part;
    static const struct jsscopes_part computed = {"[<computed>]", 12, false};
    static const struct jsscopes_part open = {"[", 1, false};
    static const struct jsscopes_part close = {"]", 1, false};

    if (p->last_start != t->start || t->type == TOKEN_TEMPLATE ||
        t->word == WORD_THIS) {
        return parser_refer(p, &computed);
    }
    if (is_identifier(t)) {
        part = parser_identifier(p, t);
        return parser_refer(p, &open) && parser_refer(p, &part) &&
               parser_refer(p, &close);
    }
    return literal_part(p, t, false, &part) && parser_refer(p, &part);
}

/* Reads "[...]" after an object. */
static bool parse_index(struct parser *p, enum ref_kind *ref)
{
    struct token first;

    if (!parser_next(p)) {
        return false;
    }
    first = p->t;
    if (!jsparse_expression(p)) {
        return false;
    }
    first.end = first.start == p->last_start ? p->last_end : first.end;
    if (!is_sign(&p->t, ']')) {
        return parser_unexpected(p);
    }
    if (*ref != REF_NONE) {
        if (!refer_computed(p, &first)) {
            return false;
        }
        *ref = REF_MEMBER;
    }
    return parser_next(p);
}

/* Reads a name after "." or "?.". */
static bool parse_member(struct parser *p, enum ref_kind *ref)
{
    struct jsscopes_part part = parser_identifier(p, &p->t);
    static const struct jsscopes_part dot = {".", 1, false};

    if (p->t.type != TOKEN_NAME && p->t.type != TOKEN_PRIVATE) {
        return parser_unexpected(p);
    }
    if (*ref != REF_NONE) {
        if (p->t.type == TOKEN_NAME &&
            (!parser_refer(p, &dot) || !parser_refer(p, &part))) {
            return false;
        }
        *ref = REF_MEMBER;
    }
    return parser_next(p);
}

/* Reads what follows "?.". */
static bool parse_optional(struct parser *p)
{
    enum ref_kind ref = REF_NONE;

    if (!parser_next(p)) {
        return false;
    }
    if (is_sign(&p->t, '(')) {
        return parse_call_arguments(p);
    }
    if (is_sign(&p->t, '[')) {
        return parse_index(p, &ref);
    }
    return p->t.type == TOKEN_TEMPLATE ? jsparse_template(p)
                                       : parse_member(p, &ref);
}

/* Reads members, calls and templates after an operand. */
static bool parse_members(struct parser *p, bool has_calls)
{
    bool ok = true;
    enum ref_kind ref = p->ref;

    while (ok && !p->was_arrow) {
        if (is_sign(&p->t, '.')) {
            ok = parser_next(p) && parse_member(p, &ref);
        } else if (is_sign(&p->t, '[')) {
            ok = parse_index(p, &ref);
        } else if (is_sign(&p->t, '(') && has_calls) {
            ref = REF_NONE;
            ok = parse_call_arguments(p);
        } else if (is_sign(&p->t, SIGN_OPTIONAL) && has_calls) {
            ref = REF_NONE;
            ok = parse_optional(p);
        } else if (p->t.type == TOKEN_TEMPLATE) {
            ref = REF_NONE;
            ok = jsparse_template(p);
        } else {
            break;
        }
    }
    p->ref = ref;
    return ok;
}

/* Reads "new", what is made, and arguments, if there are any. */
static bool parse_new(struct parser *p)
{
    if (!parser_next(p)) {
        return false;
    }
    if (is_sign(&p->t, '.')) { /* new.target */
        p->ref = REF_NONE;
        return parser_next(p) && p->t.type == TOKEN_NAME && parser_next(p);
    }
    if (!parser_enter(p)) {
        return false;
    }
    if (p->t.word == WORD_NEW ? !parse_new(p) : !jsparse_primary(p)) {
        return false;
    }
    parser_leave(p);
    if (!parse_members(p, false)) {
        return false;
    }
    p->ref = REF_NONE;
    return !is_sign(&p->t, '(') || parse_call_arguments(p);
}

bool jsparse_operand(struct parser *p)
{
    bool ok, has_no_in = p->has_no_in;

    p->num_refs = p->ref_base;
    p->ref = REF_NONE;
    p->was_arrow = false;
    p->has_no_in = false; /* in brackets it is an operator */
    ok = (p->t.word == WORD_NEW ? parse_new(p) : jsparse_primary(p)) &&
         parse_members(p, true);
    p->has_no_in = has_no_in;
    return ok;
}
