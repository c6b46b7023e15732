/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expressions.  Which operator binds more strongly makes no difference to
 * names, so operands and operators are read in a row.
 */
#include "parser.h"

#include <string.h>

/* Is a token an operator before an operand? */
static bool is_prefix_expression(const struct jsparser *js)
{
    switch (js->t.word) {
    case WORD_TYPEOF:
    case WORD_VOID:
    case WORD_DELETE:
        return true;
    case WORD_AWAIT:
        return js->is_async;
    default:
        break;
    }
    switch (js->t.sign) {
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

static bool parse_unary_expression(struct jsparser *js)
{
    bool is_plain = true;

    while (is_prefix_expression(js)) {
        is_plain = false;
        if (!parser_next(js)) {
            return false;
        }
    }
    if (!jsparse_operand(js)) {
        return false;
    }
    if (!js->was_arrow && !js->t.is_on_new_line &&
        (is_sign(&js->t, SIGN2('+', '+')) ||
         is_sign(&js->t, SIGN2('-', '-')))) {
        is_plain = false;
        if (!parser_next(js)) {
            return false;
        }
    }
    js->ref = is_plain ? js->ref : REF_NONE;
    return true;
}

/* Is the token an operator between two operands? */
static bool is_infix_expression(const struct jsparser *js)
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

    if (js->t.word == WORD_IN) {
        return !js->has_no_in;
    }
    if (js->t.word == WORD_INSTANCEOF) {
        return true;
    }
    for (i = 0; js->t.sign != 0 && i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (js->t.sign == signs[i]) {
            return true;
        }
    }
    return false;
}

/* Is the token "=", or "+=" and the like? */
static bool is_assignment(const struct jsparser *js)
{
    uint32_t before = js->t.sign >> 8;

    return js->t.sign == '=' ||
           ((js->t.sign & 0xFF) == '=' && before != 0 &&
            (before > 0xFF
                 ? before != SIGN2('=', '=') && before != SIGN2('!', '=')
                 : memchr("+-*/%&|^", (int)before, 8) != NULL));
}

/* Reads what is assigned to the operand before. */
static bool parse_expression_value(struct jsparser *js)
{
    bool ok;
    struct node node = {.up = js->node,
                        .kind = NODE_ASSIGNMENT,
                        .is_member = js->ref == REF_MEMBER,
                        .first_ref = js->ref_base,
                        .num_refs = js->num_refs - js->ref_base};

    if (js->ref == REF_NAME || js->ref == REF_MEMBER) {
        js->node = &node;
    }
    ok = parser_next(js) && jsparse_assignment(js);
    js->node = node.up;
    return ok;
}

/* Reads "yield" and what it gives. */
static bool parse_yield_expression(struct jsparser *js)
{
    bool is_star;

    if (!parser_next(js)) {
        return false;
    }
    if (js->t.is_on_new_line || js->t.type == TOKEN_END ||
        js->t.word == WORD_IN || js->t.word == WORD_OF ||
        (js->t.sign != 0 && js->t.sign < 0x80 &&
         strchr(")]},;:?", (int)js->t.sign) != NULL)) {
        return true;
    }
    return parser_accept(js, '*', &is_star) && jsparse_assignment(js);
}

/* Reads operands and operators up to "?", "=", or something else. */
static bool parse_expression_operands(struct jsparser *js)
{
    if (!parse_unary_expression(js)) {
        return false;
    }
    while (!js->was_arrow && is_infix_expression(js)) {
        if (!parser_next(js) || !parse_unary_expression(js)) {
            return false;
        }
        js->ref = REF_NONE;
    }
    return true;
}

/* Reads "?", a value, and ":". */
static bool parse_choice_expression(struct jsparser *js)
{
    bool has_no_in = js->has_no_in;

    js->has_no_in = false;
    if (!parser_next(js) || !jsparse_assignment(js)) {
        return false;
    }
    js->has_no_in = has_no_in;
    return parser_expect(js, ':');
}

static bool parse_expression_tail(struct jsparser *js)
{
    for (;;) {
        if (js->t.word == WORD_YIELD && js->is_generator) {
            return parse_yield_expression(js);
        }
        if (!parse_expression_operands(js)) {
            return false;
        }
        if (js->was_arrow) {
            return true;
        }
        if (is_assignment(js)) {
            return parse_expression_value(js);
        }
        if (!is_sign(&js->t, '?')) {
            return true;
        }
        if (!parse_choice_expression(js)) {
            return false;
        }
    }
}

bool jsparse_assignment(struct jsparser *js)
{
    bool ok;
    size_t base = js->ref_base;

    if (!parser_enter(js)) {
        return false;
    }
    js->ref_base = js->num_refs;
    ok = parse_expression_tail(js);
    js->num_refs = js->ref_base;
    js->ref_base = base;
    js->ref = REF_NONE;
    js->was_arrow = false;
    parser_leave(js);
    return ok;
}

bool jsparse_expression(struct jsparser *js)
{
    if (!jsparse_assignment(js)) {
        return false;
    }
    while (is_sign(&js->t, ',')) {
        if (!parser_next(js) || !jsparse_assignment(js)) {
            return false;
        }
    }
    return true;
}
