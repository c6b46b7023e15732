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
static bool primary_is_arrow(const struct jsparser *js)
{
    return is_sign(&js->t, SIGN_ARROW) && !js->t.is_on_new_line;
}

/* Reads "(" ... ")" as expressions, of which there may be none, and "...x" may
 * be one, if an arrow follows. */
static bool parse_primary_brackets(struct jsparser *js, bool *is_expression)
{
    bool is_spread;

    *is_expression = true;
    if (!parser_expect(js, '(')) {
        return false;
    }
    if (is_sign(&js->t, ')')) {
        *is_expression = false;
    }
    while (!is_sign(&js->t, ')')) {
        if (!parser_accept(js, SIGN_SPREAD, &is_spread) ||
            !jsparse_assignment(js)) {
            return false;
        }
        *is_expression = *is_expression && !is_spread;
        if (!is_sign(&js->t, ')')) {
            if (!parser_expect(js, ',')) {
                return false;
            }
            *is_expression = *is_expression && !is_sign(&js->t, ')');
        }
    }
    return parser_next(js);
}

/* Reads brackets at js->t, which may be the parameters of an arrow function
 * that began at start.  *is_expression: they are none, and can be an
 * expression. */
static bool primary_maybe_arrow(struct jsparser *js, uint32_t start,
                                bool is_async, bool *is_expression)
{
    struct state state = parser_state(js);

    if (parser_is_pattern(js, state.t.start)) {
        *is_expression = false;
        return jsparse_arrow_parameters(js, start, is_async);
    }
    if (!parse_primary_brackets(js, is_expression)) {
        return false;
    }
    if (!primary_is_arrow(js)) {
        return true;
    }
    *is_expression = false;
    if (js->scopes->count == state.num_scopes) {
        return jsparse_arrow(js, start, is_async);
    }
    parser_restore(js, &state);
    return parser_note_pattern(js, state.t.start) &&
           jsparse_arrow_parameters(js, start, is_async);
}

static bool parse_primary_parentheses(struct jsparser *js)
{
    bool is_expression;

    if (!primary_maybe_arrow(js, js->t.start, false, &is_expression)) {
        return false;
    }
    js->ref = REF_NONE;
    return is_expression || js->was_arrow || parser_unexpected(js);
}

static bool parse_primary_name(struct jsparser *js)
{
    struct token t = js->t;
    struct jsscopes_part part = parser_identifier(js, &t);

    if (!parser_next(js)) {
        return false;
    }
    if (primary_is_arrow(js)) {
        return jsparse_arrow(js, t.start, false);
    }
    js->ref = REF_NAME;
    return parser_refer(js, &part);
}

/* Reads what begins with "async": a function, a call, or the name alone. */
static bool parse_primary_async(struct jsparser *js)
{
    bool is_expression;
    uint32_t start = js->t.start;
    struct token next = parser_peek(js);

    if (next.is_on_new_line) {
        return parse_primary_name(js);
    }
    if (next.word == WORD_FUNCTION) {
        return parser_next(js) && parser_next(js) &&
               jsparse_function(js, start, true);
    }
    if (is_identifier(&next)) {
        return parser_next(js) && parser_next(js) &&
               (primary_is_arrow(js) ? jsparse_arrow(js, start, true)
                                     : parser_unexpected(js));
    }
    if (is_sign(&next, '(')) {
        js->ref = REF_NONE;
        return parser_next(js) &&
               primary_maybe_arrow(js, start, true, &is_expression);
    }
    return parse_primary_name(js);
}

/* Reads "[" ... "]" as an array. */
static bool parse_primary_array(struct jsparser *js)
{
    bool is_there;

    if (!parser_expect(js, '[')) {
        return false;
    }
    while (!is_sign(&js->t, ']')) {
        if (!parser_accept(js, ',', &is_there)) {
            return false;
        }
        if (is_there) {
            continue;
        }
        if (!parser_accept(js, SIGN_SPREAD, &is_there) ||
            !jsparse_assignment(js)) {
            return false;
        }
        if (!is_sign(&js->t, ']') && !parser_expect(js, ',')) {
            return false;
        }
    }
    return parser_next(js);
}

/* Reads an array or object, or a pattern that looks like one. */
static bool primary_maybe_pattern(struct jsparser *js)
{
    bool ok;
    struct state state = parser_state(js);

    if (parser_is_pattern(js, state.t.start)) {
        ok = jsparse_pattern(js);
    } else {
        ok = is_sign(&js->t, '[') ? parse_primary_array(js)
                                  : jsparse_object(js);
        if (ok && is_sign(&js->t, '=') &&
            js->scopes->count != state.num_scopes) {
            parser_restore(js, &state);
            ok = parser_note_pattern(js, state.t.start) && jsparse_pattern(js);
        }
    }
    js->ref = REF_NONE;
    return ok;
}

static bool parse_primary_regex(struct jsparser *js)
{
    if (!lexer_regex(&js->lexer, &js->t)) {
        return parser_fail(js, JSSCOPES_BAD_SYNTAX,
                           "a regular expression has no end");
    }
    return parser_next(js);
}

/* Reads "import(...)" or "import.meta". */
static bool parse_primary_import(struct jsparser *js)
{
    return parser_next(js) && (is_sign(&js->t, '(') || is_sign(&js->t, '.') ||
                               parser_unexpected(js));
}

static bool parse_primary_this(struct jsparser *js)
{
    struct jsscopes_part part = {"this", 4, false};

    js->ref = REF_OBJECT;
    return parser_refer(js, &part) && parser_next(js);
}

static bool parse_primary_word(struct jsparser *js)
{
    uint32_t start = js->t.start;

    switch (js->t.word) {
    case WORD_FUNCTION:
        return parser_next(js) && jsparse_function(js, start, false);
    case WORD_CLASS:
        return jsparse_class(js, false);
    case WORD_ASYNC:
        return parse_primary_async(js);
    case WORD_THIS:
        return parse_primary_this(js);
    case WORD_IMPORT:
        return parse_primary_import(js);
    case WORD_NULL:
    case WORD_TRUE:
    case WORD_FALSE:
    case WORD_SUPER:
        return parser_next(js);
    default:
        return is_identifier(&js->t) ? parse_primary_name(js)
                                     : parser_unexpected(js);
    }
}

bool jsparse_primary(struct jsparser *js)
{
    js->ref = REF_NONE;
    switch (js->t.type) {
    case TOKEN_NAME:
        return parse_primary_word(js);
    case TOKEN_NUMBER:
    case TOKEN_BIGINT:
    case TOKEN_STRING:
    case TOKEN_PRIVATE: /* before "in" */
        return parser_next(js);
    case TOKEN_TEMPLATE:
        return jsparse_template(js);
    default:
        break;
    }
    switch (js->t.sign) {
    case '(':
        return parse_primary_parentheses(js);
    case '[':
    case '{':
        return primary_maybe_pattern(js);
    case '/':
    case SIGN2('/', '='):
        return parse_primary_regex(js);
    default:
        return parser_unexpected(js);
    }
}
