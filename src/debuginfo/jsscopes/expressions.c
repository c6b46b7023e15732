/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expressions.  Which operator binds more strongly makes no difference to
 * names, so operands and operators are read in a row.
 */
#include "parser.h"

#include <string.h>

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

static bool parse_unary_expression(struct parser *p)
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
static bool parse_expression_value(struct parser *p)
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
static bool parse_yield_expression(struct parser *p)
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
static bool parse_expression_operands(struct parser *p)
{
    if (!parse_unary_expression(p)) {
        return false;
    }
    while (!p->was_arrow && is_infix(p)) {
        if (!parser_next(p) || !parse_unary_expression(p)) {
            return false;
        }
        p->ref = REF_NONE;
    }
    return true;
}

/* Reads "?", a value, and ":". */
static bool parse_choice_expression(struct parser *p)
{
    bool has_no_in = p->has_no_in;

    p->has_no_in = false;
    if (!parser_next(p) || !jsparse_assignment(p)) {
        return false;
    }
    p->has_no_in = has_no_in;
    return parser_expect(p, ':');
}

static bool parse_expression_tail(struct parser *p)
{
    for (;;) {
        if (p->t.word == WORD_YIELD && p->is_generator) {
            return parse_yield_expression(p);
        }
        if (!parse_expression_operands(p)) {
            return false;
        }
        if (p->was_arrow) {
            return true;
        }
        if (is_assignment(p)) {
            return parse_expression_value(p);
        }
        if (!is_sign(&p->t, '?')) {
            return true;
        }
        if (!parse_choice_expression(p)) {
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
    ok = parse_expression_tail(p);
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
