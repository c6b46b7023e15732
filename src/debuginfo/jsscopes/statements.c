/*
 * Copyright (C) the ngx_symcache authors
 */
#include "parser.h"

bool jsparse_semicolon(struct jsparser *js)
{
    if (is_sign(&js->t, ';')) {
        return parser_next(js);
    }
    return js->t.is_on_new_line || is_sign(&js->t, '}') ||
           js->t.type == TOKEN_END || parser_unexpected(js);
}

bool jsparse_block(struct jsparser *js)
{
    if (!parser_expect(js, '{')) {
        return false;
    }
    while (!is_sign(&js->t, '}')) {
        if (js->t.type == TOKEN_END) {
            return parser_unexpected(js);
        }
        if (!jsparse_statement(js)) {
            return false;
        }
    }
    return parser_next(js);
}

/* Reads "(" expression ")". */
static bool parse_statement_condition(struct jsparser *js)
{
    return parser_expect(js, '(') && jsparse_expression(js) &&
           parser_expect(js, ')');
}

/* Reads a variable, and what it is initialized with. */
static bool parse_variable_of_statement(struct jsparser *js)
{
    bool ok, is_there;
    struct node node = {.up = js->node, .kind = NODE_VARIABLE};

    if (is_identifier(&js->t)) {
        node.name = parser_identifier(js, &js->t);
        ok = parser_next(js);
    } else if (is_sign(&js->t, '[') || is_sign(&js->t, '{')) {
        ok = jsparse_pattern(js);
    } else {
        return parser_unexpected(js);
    }
    if (!ok || !parser_accept(js, '=', &is_there)) {
        return false;
    }
    if (is_there) {
        js->node = node.name.size > 0 ? &node : js->node;
        ok = jsparse_assignment(js);
        js->node = node.up;
    }
    return ok;
}

static bool parse_variable_statement(struct jsparser *js)
{
    do {
        if (!parser_next(js) || !parse_variable_of_statement(js)) {
            return false;
        }
    } while (is_sign(&js->t, ','));
    return true;
}

/* Does a declaration of variables begin here, and not the name "let"? */
static bool is_declaration_statement(const struct jsparser *js)
{
    struct token next;

    switch (js->t.word) {
    case WORD_VAR:
    case WORD_CONST:
        return true;
    case WORD_LET:
        next = parser_peek(js);
        return is_identifier(&next) || is_sign(&next, '[') ||
               is_sign(&next, '{');
    case WORD_USING:
        next = parser_peek(js);
        return is_identifier(&next) && !next.is_on_new_line &&
               next.word != WORD_OF;
    default:
        return false;
    }
}

/* Reads what is in the brackets of a loop by "for". */
static bool parse_for_statement_head(struct jsparser *js)
{
    bool ok = true, has_no_in = js->has_no_in;

    js->has_no_in = true;
    if (js->t.word == WORD_AWAIT && parser_peek(js).word == WORD_USING) {
        ok = parser_next(js);
    }
    if (ok && is_declaration_statement(js)) {
        ok = parse_variable_statement(js);
    } else if (ok && !is_sign(&js->t, ';')) {
        ok = jsparse_expression(js);
    }
    js->has_no_in = has_no_in;
    if (!ok) {
        return false;
    }
    if (js->t.word == WORD_OF || js->t.word == WORD_IN) {
        return parser_next(js) && jsparse_expression(js);
    }
    return parser_expect(js, ';') &&
           (is_sign(&js->t, ';') || jsparse_expression(js)) &&
           parser_expect(js, ';') &&
           (is_sign(&js->t, ')') || jsparse_expression(js));
}

static bool parse_for_statement(struct jsparser *js)
{
    if (!parser_next(js) || (js->t.word == WORD_AWAIT && !parser_next(js))) {
        return false;
    }
    return parser_expect(js, '(') && parse_for_statement_head(js) &&
           parser_expect(js, ')') && jsparse_statement(js);
}

/* A chain of "else if" is no deeper than one of them. */
static bool parse_if_statement(struct jsparser *js)
{
    for (;;) {
        if (!parser_next(js) || !parse_statement_condition(js) ||
            !jsparse_statement(js)) {
            return false;
        }
        if (js->t.word != WORD_ELSE) {
            return true;
        }
        if (!parser_next(js)) {
            return false;
        }
        if (js->t.word != WORD_IF) {
            return jsparse_statement(js);
        }
    }
}

static bool parse_do_statement(struct jsparser *js)
{
    bool is_there;

    return parser_next(js) && jsparse_statement(js) &&
           (js->t.word == WORD_WHILE || parser_unexpected(js)) &&
           parser_next(js) && parse_statement_condition(js) &&
           parser_accept(js, ';', &is_there);
}

static bool parse_switch_statement(struct jsparser *js)
{
    if (!parser_next(js) || !parse_statement_condition(js) ||
        !parser_expect(js, '{')) {
        return false;
    }
    while (!is_sign(&js->t, '}')) {
        if (js->t.word == WORD_CASE) {
            if (!parser_next(js) || !jsparse_expression(js) ||
                !parser_expect(js, ':')) {
                return false;
            }
        } else if (js->t.word == WORD_DEFAULT) {
            if (!parser_next(js) || !parser_expect(js, ':')) {
                return false;
            }
        } else if (js->t.type == TOKEN_END || !jsparse_statement(js)) {
            return parser_unexpected(js);
        }
    }
    return parser_next(js);
}

static bool parse_try_statement(struct jsparser *js)
{
    bool has_more = false;

    if (!parser_next(js) || !jsparse_block(js)) {
        return false;
    }
    if (js->t.word == WORD_CATCH) {
        has_more = true;
        if (!parser_next(js)) {
            return false;
        }
        if (is_sign(&js->t, '(') &&
            (!parser_next(js) ||
             !(is_identifier(&js->t) ? parser_next(js)
                                     : jsparse_pattern(js)) ||
             !parser_expect(js, ')'))) {
            return false;
        }
        if (!jsparse_block(js)) {
            return false;
        }
    }
    if (js->t.word == WORD_FINALLY) {
        return parser_next(js) && jsparse_block(js);
    }
    return has_more || parser_unexpected(js);
}

/* Reads "break", "return" and the like, with an expression, if there is one.
 */
static bool parse_jump_statement(struct jsparser *js)
{
    if (!parser_next(js)) {
        return false;
    }
    if (!js->t.is_on_new_line && js->t.type != TOKEN_END &&
        !is_sign(&js->t, ';') && !is_sign(&js->t, '}') &&
        !jsparse_expression(js)) {
        return false;
    }
    return jsparse_semicolon(js);
}

/* Reads names in braces, or whatever else there is between "import" or
 * "export" and the text that says from where; it has no functions. */
static bool skip_statement_names(struct jsparser *js)
{
    unsigned depth = 0;

    for (;;) {
        if (is_sign(&js->t, '{')) {
            depth++;
        } else if (is_sign(&js->t, '}') && depth > 0) {
            depth--;
        } else if (depth == 0 && js->t.type == TOKEN_STRING) {
            break;
        } else if (js->t.type != TOKEN_NAME && js->t.type != TOKEN_STRING &&
                   !is_sign(&js->t, ',') && !is_sign(&js->t, '*')) {
            return parser_unexpected(js);
        }
        if (!parser_next(js)) {
            return false;
        }
        if (depth == 0 && (is_sign(&js->t, ';') || js->t.type == TOKEN_END ||
                           (js->t.is_on_new_line && js->t.word != WORD_FROM &&
                            js->t.type != TOKEN_STRING))) {
            return jsparse_semicolon(js); /* export {a} */
        }
    }
    if (!parser_next(js)) {
        return false;
    }
    if (js->t.word == WORD_WITH) { /* with {type: "json"} */
        if (!parser_next(js) || !jsparse_object(js)) {
            return false;
        }
    }
    return jsparse_semicolon(js);
}

static bool parse_import_statement(struct jsparser *js)
{
    struct token next = parser_peek(js);

    if (is_sign(&next, '(') || is_sign(&next, '.')) {
        return jsparse_expression(js) && jsparse_semicolon(js);
    }
    return parser_next(js) && skip_statement_names(js);
}

static bool parse_export_statement(struct jsparser *js)
{
    uint32_t start;

    if (!parser_next(js)) {
        return false;
    }
    if (js->t.word != WORD_DEFAULT) {
        return is_sign(&js->t, '{') || is_sign(&js->t, '*')
                   ? skip_statement_names(js)
                   : jsparse_statement(js);
    }
    if (!parser_next(js)) {
        return false;
    }
    start = js->t.start;
    if (js->t.word == WORD_CLASS) {
        return jsparse_class(js, true);
    }
    if (js->t.word == WORD_FUNCTION) {
        return parser_next(js) && jsparse_function(js, start, false);
    }
    if (js->t.word == WORD_ASYNC && parser_peek(js).word == WORD_FUNCTION) {
        return parser_next(js) && parser_next(js) &&
               jsparse_function(js, start, true);
    }
    return jsparse_assignment(js) && jsparse_semicolon(js);
}

/* Reads a label and its statement, a declaration, or an expression. */
static bool parse_other_statement(struct jsparser *js)
{
    struct token next;
    uint32_t start = js->t.start;

    if (is_identifier(&js->t)) {
        next = parser_peek(js);
        if (is_sign(&next, ':')) {
            return parser_next(js) && parser_next(js) && jsparse_statement(js);
        }
        if (js->t.word == WORD_ASYNC && next.word == WORD_FUNCTION &&
            !next.is_on_new_line) {
            return parser_next(js) && parser_next(js) &&
                   jsparse_function(js, start, true);
        }
        if (js->t.word == WORD_AWAIT && next.word == WORD_USING &&
            !next.is_on_new_line) {
            struct state state = parser_state(js);

            if (!parser_next(js)) {
                return false;
            }
            if (is_declaration_statement(js)) {
                return parse_variable_statement(js) && jsparse_semicolon(js);
            }
            parser_restore(js, &state);
        }
    }
    if (is_declaration_statement(js)) {
        return parse_variable_statement(js) && jsparse_semicolon(js);
    }
    return jsparse_expression(js) && jsparse_semicolon(js);
}

static bool parse_one(struct jsparser *js)
{
    uint32_t start = js->t.start;

    switch (js->t.word) {
    case WORD_FUNCTION:
        return parser_next(js) && jsparse_function(js, start, false);
    case WORD_CLASS:
        return jsparse_class(js, true);
    case WORD_IF:
        return parse_if_statement(js);
    case WORD_FOR:
        return parse_for_statement(js);
    case WORD_WHILE:
    case WORD_WITH:
        return parser_next(js) && parse_statement_condition(js) &&
               jsparse_statement(js);
    case WORD_DO:
        return parse_do_statement(js);
    case WORD_SWITCH:
        return parse_switch_statement(js);
    case WORD_TRY:
        return parse_try_statement(js);
    case WORD_BREAK:
    case WORD_CONTINUE:
    case WORD_DEBUGGER:
    case WORD_RETURN:
    case WORD_THROW:
        return parse_jump_statement(js);
    case WORD_IMPORT:
        return parse_import_statement(js);
    case WORD_EXPORT:
        return parse_export_statement(js);
    default:
        break;
    }
    if (is_sign(&js->t, '{')) {
        return jsparse_block(js);
    }
    if (is_sign(&js->t, ';')) {
        return parser_next(js);
    }
    return parse_other_statement(js);
}

bool jsparse_statement(struct jsparser *js)
{
    bool ok;

    if (!parser_enter(js)) {
        return false;
    }
    ok = parse_one(js);
    parser_leave(js);
    return ok;
}
