/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expressions.  Which operator binds more strongly makes no difference to
 * names, so operands and operators are read in a row.
 */
#include <string.h>

#include "base/array.h"
#include "parser.h"

bool parser_refer(struct parser *p, const struct jsscopes_part *part)
{
    if (array_need(&p->refs, &p->ref_room, p->num_refs + 1,
                   sizeof(*p->refs)) != 0) {
        return parser_fail(p, JSSCOPES_NO_MEMORY, "out of memory");
    }
    p->refs[p->num_refs++] = *part;
    return true;
}

bool parser_is_pattern(const struct parser *p, uint32_t start)
{
    size_t at = 0;

    return table_next(&p->patterns, table_hash_number(&p->patterns, start),
                      &at) != 0;
}

bool parser_note_pattern(struct parser *p, uint32_t start)
{
    return table_add(&p->patterns, table_hash_number(&p->patterns, start),
                     (uintptr_t)start + 1) == 0 ||
           parser_fail(p, JSSCOPES_NO_MEMORY, "out of memory");
}

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

/* Is a token an operator before an operand? */
static bool is_prefix(const struct parser *p)
{
    switch (p->t.word) {
    case WORD_TYPEOF:
    case WORD_VOID:
    case WORD_DELETE:
        return true;
    case WORD_AWAIT:
        return p->is_async;
    default:
        break;
    }
    switch (p->t.sign) {
    case '!':
    case '~':
    case '+':
    case '-':
    case SIGN2('+', '+'):
    case SIGN2('-', '-'):
        return true;
    default:
        return false;
    }
}

static bool parse_unary(struct parser *p)
{
    bool is_plain = true;

    while (is_prefix(p)) {
        is_plain = false;
        if (!parser_next(p)) {
            return false;
        }
    }
    if (!jsparse_operand(p)) {
        return false;
    }
    if (!p->was_arrow && !p->t.is_on_new_line &&
        (is_sign(&p->t, SIGN2('+', '+')) || is_sign(&p->t, SIGN2('-', '-')))) {
        is_plain = false;
        if (!parser_next(p)) {
            return false;
        }
    }
    p->ref = is_plain ? p->ref : REF_NONE;
    return true;
}

/* Is the token an operator between two operands? */
static bool is_infix(const struct parser *p)
{
    static const uint32_t signs[] = {'+',
                                     '-',
                                     '*',
                                     '/',
                                     '%',
                                     '&',
                                     '|',
                                     '^',
                                     '<',
                                     '>',
                                     SIGN2('=', '='),
                                     SIGN2('!', '='),
                                     SIGN3('=', '=', '='),
                                     SIGN3('!', '=', '='),
                                     SIGN2('<', '='),
                                     SIGN2('>', '='),
                                     SIGN2('&', '&'),
                                     SIGN2('|', '|'),
                                     SIGN2('?', '?'),
                                     SIGN2('<', '<'),
                                     SIGN2('>', '>'),
                                     SIGN3('>', '>', '>'),
                                     SIGN2('*', '*')};
    size_t i;

    if (p->t.word == WORD_IN) {
        return !p->has_no_in;
    }
    if (p->t.word == WORD_INSTANCEOF) {
        return true;
    }
    for (i = 0; p->t.sign != 0 && i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (p->t.sign == signs[i]) {
            return true;
        }
    }
    return false;
}

/* Is the token "=", or "+=" and the like? */
static bool is_assignment(const struct parser *p)
{
    uint32_t before = p->t.sign >> 8;

    return p->t.sign == '=' ||
           ((p->t.sign & 0xFF) == '=' && before != 0 &&
            (before > 0xFF
                 ? before != SIGN2('=', '=') && before != SIGN2('!', '=')
                 : memchr("+-*/%&|^", (int)before, 8) != NULL));
}

/* Reads what is assigned to the operand before. */
static bool parse_value(struct parser *p)
{
    bool ok;
    struct node node = {.up = p->node,
                        .kind = NODE_ASSIGNMENT,
                        .is_member = p->ref == REF_MEMBER,
                        .first_ref = p->ref_base,
                        .num_refs = p->num_refs - p->ref_base};

    if (p->ref == REF_NAME || p->ref == REF_MEMBER) {
        p->node = &node;
    }
    ok = parser_next(p) && jsparse_assignment(p);
    p->node = node.up;
    return ok;
}

/* Reads "yield" and what it gives. */
static bool parse_yield(struct parser *p)
{
    bool is_star;

    if (!parser_next(p)) {
        return false;
    }
    if (p->t.is_on_new_line || p->t.type == TOKEN_END ||
        p->t.word == WORD_IN || p->t.word == WORD_OF ||
        (p->t.sign != 0 && p->t.sign < 0x80 &&
         strchr(")]},;:?", (int)p->t.sign) != NULL)) {
        return true;
    }
    return parser_accept(p, '*', &is_star) && jsparse_assignment(p);
}

/* Reads operands and operators up to "?", "=", or something else. */
static bool parse_operands(struct parser *p)
{
    if (!parse_unary(p)) {
        return false;
    }
    while (!p->was_arrow && is_infix(p)) {
        if (!parser_next(p) || !parse_unary(p)) {
            return false;
        }
        p->ref = REF_NONE;
    }
    return true;
}

/* Reads "?", a value, and ":". */
static bool parse_choice(struct parser *p)
{
    bool has_no_in = p->has_no_in;

    p->has_no_in = false;
    if (!parser_next(p) || !jsparse_assignment(p)) {
        return false;
    }
    p->has_no_in = has_no_in;
    return parser_expect(p, ':');
}

static bool parse_tail(struct parser *p)
{
    for (;;) {
        if (p->t.word == WORD_YIELD && p->is_generator) {
            return parse_yield(p);
        }
        if (!parse_operands(p)) {
            return false;
        }
        if (p->was_arrow) {
            return true;
        }
        if (is_assignment(p)) {
            return parse_value(p);
        }
        if (!is_sign(&p->t, '?')) {
            return true;
        }
        if (!parse_choice(p)) {
            return false;
        }
    }
}

bool jsparse_assignment(struct parser *p)
{
    bool ok;
    size_t base = p->ref_base;

    if (!parser_enter(p)) {
        return false;
    }
    p->ref_base = p->num_refs;
    ok = parse_tail(p);
    p->num_refs = p->ref_base;
    p->ref_base = base;
    p->ref = REF_NONE;
    p->was_arrow = false;
    parser_leave(p);
    return ok;
}

bool jsparse_expression(struct parser *p)
{
    if (!jsparse_assignment(p)) {
        return false;
    }
    while (is_sign(&p->t, ',')) {
        if (!parser_next(p) || !jsparse_assignment(p)) {
            return false;
        }
    }
    return true;
}
