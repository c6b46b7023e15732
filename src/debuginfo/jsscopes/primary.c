/*
 * Copyright (C) the ngx_symcache authors
 *
 * What expressions begin with: names, literals, and what is in brackets.
 *
 * Whether brackets are an expression or a pattern is only seen after them.
 * They are read as an expression first.  If they turn out to be a pattern, and
 * there are functions in them, whose names this changes, they are read again,
 * and are known to be a pattern from then on.
 */
#include "parser.h"

/* Is there an arrow, which must be on the same line? */
static bool is_arrow(const struct parser *p)
{
    return is_sign(&p->t, SIGN_ARROW) && !p->t.is_on_new_line;
}

/* Reads "(" ... ")" as expressions, of which there may be none, and "...x" may
 * be one, if an arrow follows. */
static bool parse_primary_brackets(struct parser *p, bool *is_expression)
{
    bool is_spread;

    *is_expression = true;
    if (!parser_expect(p, '(')) {
        return false;
    }
    if (is_sign(&p->t, ')')) {
        *is_expression = false;
    }
    while (!is_sign(&p->t, ')')) {
        if (!parser_accept(p, SIGN_SPREAD, &is_spread) ||
            !jsparse_assignment(p)) {
            return false;
        }
        *is_expression = *is_expression && !is_spread;
        if (!is_sign(&p->t, ')')) {
            if (!parser_expect(p, ',')) {
                return false;
            }
            *is_expression = *is_expression && !is_sign(&p->t, ')');
        }
    }
    return parser_next(p);
}

/* Reads brackets at p->t, which may be the parameters of an arrow function
 * that began at start.  *is_expression: they are none, and can be an
 * expression. */
static bool parse_maybe_arrow(struct parser *p, uint32_t start, bool is_async,
                              bool *is_expression)
{
    struct state state = parser_state(p);

    if (parser_is_pattern(p, state.t.start)) {
        *is_expression = false;
        return jsparse_arrow_parameters(p, start, is_async);
    }
    if (!parse_primary_brackets(p, is_expression)) {
        return false;
    }
    if (!is_arrow(p)) {
        return true;
    }
    *is_expression = false;
    if (p->scopes->count == state.num_scopes) {
        return jsparse_arrow(p, start, is_async);
    }
    parser_restore(p, &state);
    return parser_note_pattern(p, state.t.start) &&
           jsparse_arrow_parameters(p, start, is_async);
}

static bool parse_primary_parentheses(struct parser *p)
{
    bool is_expression;

    if (!parse_maybe_arrow(p, p->t.start, false, &is_expression)) {
        return false;
    }
    p->ref = REF_NONE;
    return is_expression || p->was_arrow || parser_unexpected(p);
}

static bool parse_primary_name(struct parser *p)
{
    struct token t = p->t;
    struct jsscopes_part part = parser_identifier(p, &t);

    if (!parser_next(p)) {
        return false;
    }
    if (is_arrow(p)) {
        return jsparse_arrow(p, t.start, false);
    }
    p->ref = REF_NAME;
    return parser_refer(p, &part);
}

/* Reads what begins with "async": a function, a call, or the name alone. */
static bool parse_primary_async(struct parser *p)
{
    bool is_expression;
    uint32_t start = p->t.start;
    struct token next = parser_peek(p);

    if (next.is_on_new_line) {
        return parse_primary_name(p);
    }
    if (next.word == WORD_FUNCTION) {
        return parser_next(p) && parser_next(p) &&
               jsparse_function(p, start, true);
    }
    if (is_identifier(&next)) {
        return parser_next(p) && parser_next(p) &&
               (is_arrow(p) ? jsparse_arrow(p, start, true)
                            : parser_unexpected(p));
    }
    if (is_sign(&next, '(')) {
        p->ref = REF_NONE;
        return parser_next(p) &&
               parse_maybe_arrow(p, start, true, &is_expression);
    }
    return parse_primary_name(p);
}

/* Reads "[" ... "]" as an array. */
static bool parse_primary_array(struct parser *p)
{
    bool is_there;

    if (!parser_expect(p, '[')) {
        return false;
    }
    while (!is_sign(&p->t, ']')) {
        if (!parser_accept(p, ',', &is_there)) {
            return false;
        }
        if (is_there) {
            continue;
        }
        if (!parser_accept(p, SIGN_SPREAD, &is_there) ||
            !jsparse_assignment(p)) {
            return false;
        }
        if (!is_sign(&p->t, ']') && !parser_expect(p, ',')) {
            return false;
        }
    }
    return parser_next(p);
}

/* Reads an array or object, or a pattern that looks like one. */
static bool parse_maybe_pattern(struct parser *p)
{
    bool ok;
    struct state state = parser_state(p);

    if (parser_is_pattern(p, state.t.start)) {
        ok = jsparse_pattern(p);
    } else {
        ok = is_sign(&p->t, '[') ? parse_primary_array(p) : jsparse_object(p);
        if (ok && is_sign(&p->t, '=') &&
            p->scopes->count != state.num_scopes) {
            parser_restore(p, &state);
            ok = parser_note_pattern(p, state.t.start) && jsparse_pattern(p);
        }
    }
    p->ref = REF_NONE;
    return ok;
}

static bool parse_primary_regex(struct parser *p)
{
    if (!lexer_regex(&p->lexer, &p->t)) {
        return parser_fail(p, JSSCOPES_BAD_SYNTAX,
                           "a regular expression has no end");
    }
    return parser_next(p);
}

/* Reads "import(...)" or "import.meta". */
static bool parse_primary_import(struct parser *p)
{
    return parser_next(p) && (is_sign(&p->t, '(') || is_sign(&p->t, '.') ||
                              parser_unexpected(p));
}

static bool parse_primary_this(struct parser *p)
{
    struct jsscopes_part part = {"this", 4, false};

    p->ref = REF_OBJECT;
    return parser_refer(p, &part) && parser_next(p);
}

static bool parse_primary_word(struct parser *p)
{
    uint32_t start = p->t.start;

    switch (p->t.word) {
    case WORD_FUNCTION:
        return parser_next(p) && jsparse_function(p, start, false);
    case WORD_CLASS:
        return jsparse_class(p, false);
    case WORD_ASYNC:
        return parse_primary_async(p);
    case WORD_THIS:
        return parse_primary_this(p);
    case WORD_IMPORT:
        return parse_primary_import(p);
    case WORD_NULL:
    case WORD_TRUE:
    case WORD_FALSE:
    case WORD_SUPER:
        return parser_next(p);
    default:
        return is_identifier(&p->t) ? parse_primary_name(p)
                                    : parser_unexpected(p);
    }
}

bool jsparse_primary(struct parser *p)
{
    p->ref = REF_NONE;
    switch (p->t.type) {
    case TOKEN_NAME:
        return parse_primary_word(p);
    case TOKEN_NUMBER:
    case TOKEN_BIGINT:
    case TOKEN_STRING:
    case TOKEN_PRIVATE: /* before "in" */
        return parser_next(p);
    case TOKEN_TEMPLATE:
        return jsparse_template(p);
    default:
        break;
    }
    switch (p->t.sign) {
    case '(':
        return parse_primary_parentheses(p);
    case '[':
    case '{':
        return parse_maybe_pattern(p);
    case '/':
    case SIGN2('/', '='):
        return parse_primary_regex(p);
    default:
        return parser_unexpected(p);
    }
}
