/*
 * Copyright (C) the ngx_symcache authors
 */
#include "parser.h"

bool jsparse_semicolon(struct parser *p)
{
    if (is_sign(&p->t, ';')) {
        return parser_next(p);
    }
    return p->t.is_on_new_line || is_sign(&p->t, '}') ||
           p->t.type == TOKEN_END || parser_unexpected(p);
}

bool jsparse_block(struct parser *p)
{
    if (!parser_expect(p, '{')) {
        return false;
    }
    while (!is_sign(&p->t, '}')) {
        if (p->t.type == TOKEN_END) {
            return parser_unexpected(p);
        }
        if (!jsparse_statement(p)) {
            return false;
        }
    }
    return parser_next(p);
}

/* Reads "(" expression ")". */
static bool parse_statement_condition(struct parser *p)
{
    return parser_expect(p, '(') && jsparse_expression(p) &&
           parser_expect(p, ')');
}

/* Reads a variable, and what it is initialized with. */
static bool parse_variable_of_statement(struct parser *p)
{
    bool ok, is_there;
    struct node node = {.up = p->node, .kind = NODE_VARIABLE};

    if (is_identifier(&p->t)) {
        node.name = parser_identifier(p, &p->t);
        ok = parser_next(p);
    } else if (is_sign(&p->t, '[') || is_sign(&p->t, '{')) {
        ok = jsparse_pattern(p);
    } else {
        return parser_unexpected(p);
    }
    if (!ok || !parser_accept(p, '=', &is_there)) {
        return false;
    }
    if (is_there) {
        p->node = node.name.size > 0 ? &node : p->node;
        ok = jsparse_assignment(p);
        p->node = node.up;
    }
    return ok;
}

static bool parse_variable_statement(struct parser *p)
{
    do {
        if (!parser_next(p) || !parse_variable_of_statement(p)) {
            return false;
        }
    } while (is_sign(&p->t, ','));
    return true;
}

/* Does a declaration of variables begin here, and not the name "let"? */
static bool is_declaration(const struct parser *p)
{
    struct token next;

    switch (p->t.word) {
    case WORD_VAR:
    case WORD_CONST:
        return true;
    case WORD_LET:
        next = parser_peek(p);
        return is_identifier(&next) || is_sign(&next, '[') ||
               is_sign(&next, '{');
    case WORD_USING:
        next = parser_peek(p);
        return is_identifier(&next) && !next.is_on_new_line &&
               next.word != WORD_OF;
    default:
        return false;
    }
}

/* Reads what is in the brackets of a loop by "for". */
static bool parse_for_statement_head(struct parser *p)
{
    bool ok = true, has_no_in = p->has_no_in;

    p->has_no_in = true;
    if (p->t.word == WORD_AWAIT && parser_peek(p).word == WORD_USING) {
        ok = parser_next(p);
    }
    if (ok && is_declaration(p)) {
        ok = parse_variable_statement(p);
    } else if (ok && !is_sign(&p->t, ';')) {
        ok = jsparse_expression(p);
    }
    p->has_no_in = has_no_in;
    if (!ok) {
        return false;
    }
    if (p->t.word == WORD_OF || p->t.word == WORD_IN) {
        return parser_next(p) && jsparse_expression(p);
    }
    return parser_expect(p, ';') &&
           (is_sign(&p->t, ';') || jsparse_expression(p)) &&
           parser_expect(p, ';') &&
           (is_sign(&p->t, ')') || jsparse_expression(p));
}

static bool parse_for_statement(struct parser *p)
{
    if (!parser_next(p) || (p->t.word == WORD_AWAIT && !parser_next(p))) {
        return false;
    }
    return parser_expect(p, '(') && parse_for_statement_head(p) &&
           parser_expect(p, ')') && jsparse_statement(p);
}

/* A chain of "else if" is no deeper than one of them. */
static bool parse_if_statement(struct parser *p)
{
    for (;;) {
        if (!parser_next(p) || !parse_statement_condition(p) ||
            !jsparse_statement(p)) {
            return false;
        }
        if (p->t.word != WORD_ELSE) {
            return true;
        }
        if (!parser_next(p)) {
            return false;
        }
        if (p->t.word != WORD_IF) {
            return jsparse_statement(p);
        }
    }
}

static bool parse_do_statement(struct parser *p)
{
    bool is_there;

    return parser_next(p) && jsparse_statement(p) &&
           (p->t.word == WORD_WHILE || parser_unexpected(p)) &&
           parser_next(p) && parse_statement_condition(p) &&
           parser_accept(p, ';', &is_there);
}

static bool parse_switch_statement(struct parser *p)
{
    if (!parser_next(p) || !parse_statement_condition(p) ||
        !parser_expect(p, '{')) {
        return false;
    }
    while (!is_sign(&p->t, '}')) {
        if (p->t.word == WORD_CASE) {
            if (!parser_next(p) || !jsparse_expression(p) ||
                !parser_expect(p, ':')) {
                return false;
            }
        } else if (p->t.word == WORD_DEFAULT) {
            if (!parser_next(p) || !parser_expect(p, ':')) {
                return false;
            }
        } else if (p->t.type == TOKEN_END || !jsparse_statement(p)) {
            return parser_unexpected(p);
        }
    }
    return parser_next(p);
}

static bool parse_try_statement(struct parser *p)
{
    bool has_more = false;

    if (!parser_next(p) || !jsparse_block(p)) {
        return false;
    }
    if (p->t.word == WORD_CATCH) {
        has_more = true;
        if (!parser_next(p)) {
            return false;
        }
        if (is_sign(&p->t, '(') &&
            (!parser_next(p) ||
             !(is_identifier(&p->t) ? parser_next(p) : jsparse_pattern(p)) ||
             !parser_expect(p, ')'))) {
            return false;
        }
        if (!jsparse_block(p)) {
            return false;
        }
    }
    if (p->t.word == WORD_FINALLY) {
        return parser_next(p) && jsparse_block(p);
    }
    return has_more || parser_unexpected(p);
}

/* Reads "break", "return" and the like, with an expression, if there is one.
 */
static bool parse_jump_statement(struct parser *p)
{
    if (!parser_next(p)) {
        return false;
    }
    if (!p->t.is_on_new_line && p->t.type != TOKEN_END &&
        !is_sign(&p->t, ';') && !is_sign(&p->t, '}') &&
        !jsparse_expression(p)) {
        return false;
    }
    return jsparse_semicolon(p);
}

/* Reads names in braces, or whatever else there is between "import" or
 * "export" and the text that says from where; it has no functions. */
static bool skip_names(struct parser *p)
{
    unsigned depth = 0;

    for (;;) {
        if (is_sign(&p->t, '{')) {
            depth++;
        } else if (is_sign(&p->t, '}') && depth > 0) {
            depth--;
        } else if (depth == 0 && p->t.type == TOKEN_STRING) {
            break;
        } else if (p->t.type != TOKEN_NAME && p->t.type != TOKEN_STRING &&
                   !is_sign(&p->t, ',') && !is_sign(&p->t, '*')) {
            return parser_unexpected(p);
        }
        if (!parser_next(p)) {
            return false;
        }
        if (depth == 0 && (is_sign(&p->t, ';') || p->t.type == TOKEN_END ||
                           (p->t.is_on_new_line && p->t.word != WORD_FROM &&
                            p->t.type != TOKEN_STRING))) {
            return jsparse_semicolon(p); /* export {a} */
        }
    }
    if (!parser_next(p)) {
        return false;
    }
    if (p->t.word == WORD_WITH) { /* with {type: "json"} */
        if (!parser_next(p) || !jsparse_object(p)) {
            return false;
        }
    }
    return jsparse_semicolon(p);
}

static bool parse_import_statement(struct parser *p)
{
    struct token next = parser_peek(p);

    if (is_sign(&next, '(') || is_sign(&next, '.')) {
        return jsparse_expression(p) && jsparse_semicolon(p);
    }
    return parser_next(p) && skip_names(p);
}

static bool parse_export_statement(struct parser *p)
{
    uint32_t start;

    if (!parser_next(p)) {
        return false;
    }
    if (p->t.word != WORD_DEFAULT) {
        return is_sign(&p->t, '{') || is_sign(&p->t, '*')
                   ? skip_names(p)
                   : jsparse_statement(p);
    }
    if (!parser_next(p)) {
        return false;
    }
    start = p->t.start;
    if (p->t.word == WORD_CLASS) {
        return jsparse_class(p, true);
    }
    if (p->t.word == WORD_FUNCTION) {
        return parser_next(p) && jsparse_function(p, start, false);
    }
    if (p->t.word == WORD_ASYNC && parser_peek(p).word == WORD_FUNCTION) {
        return parser_next(p) && parser_next(p) &&
               jsparse_function(p, start, true);
    }
    return jsparse_assignment(p) && jsparse_semicolon(p);
}

/* Reads a label and its statement, a declaration, or an expression. */
static bool parse_other(struct parser *p)
{
    struct token next;
    uint32_t start = p->t.start;

    if (is_identifier(&p->t)) {
        next = parser_peek(p);
        if (is_sign(&next, ':')) {
            return parser_next(p) && parser_next(p) && jsparse_statement(p);
        }
        if (p->t.word == WORD_ASYNC && next.word == WORD_FUNCTION &&
            !next.is_on_new_line) {
            return parser_next(p) && parser_next(p) &&
                   jsparse_function(p, start, true);
        }
        if (p->t.word == WORD_AWAIT && next.word == WORD_USING &&
            !next.is_on_new_line) {
            struct state state = parser_state(p);

            if (!parser_next(p)) {
                return false;
            }
            if (is_declaration(p)) {
                return parse_variable_statement(p) && jsparse_semicolon(p);
            }
            parser_restore(p, &state);
        }
    }
    if (is_declaration(p)) {
        return parse_variable_statement(p) && jsparse_semicolon(p);
    }
    return jsparse_expression(p) && jsparse_semicolon(p);
}

static bool parse_one(struct parser *p)
{
    uint32_t start = p->t.start;

    switch (p->t.word) {
    case WORD_FUNCTION:
        return parser_next(p) && jsparse_function(p, start, false);
    case WORD_CLASS:
        return jsparse_class(p, true);
    case WORD_IF:
        return parse_if_statement(p);
    case WORD_FOR:
        return parse_for_statement(p);
    case WORD_WHILE:
    case WORD_WITH:
        return parser_next(p) && parse_statement_condition(p) &&
               jsparse_statement(p);
    case WORD_DO:
        return parse_do_statement(p);
    case WORD_SWITCH:
        return parse_switch_statement(p);
    case WORD_TRY:
        return parse_try_statement(p);
    case WORD_BREAK:
    case WORD_CONTINUE:
    case WORD_DEBUGGER:
    case WORD_RETURN:
    case WORD_THROW:
        return parse_jump_statement(p);
    case WORD_IMPORT:
        return parse_import_statement(p);
    case WORD_EXPORT:
        return parse_export_statement(p);
    default:
        break;
    }
    if (is_sign(&p->t, '{')) {
        return jsparse_block(p);
    }
    if (is_sign(&p->t, ';')) {
        return parser_next(p);
    }
    return parse_other(p);
}

bool jsparse_statement(struct parser *p)
{
    bool ok;

    if (!parser_enter(p)) {
        return false;
    }
    ok = parse_one(p);
    parser_leave(p);
    return ok;
}
