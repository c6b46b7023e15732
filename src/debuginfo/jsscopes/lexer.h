/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tokens of ECMAScript.  Where a slash begins a regular expression, and a
 * brace goes on with a template, only the parser knows; it asks for these
 * tokens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum token_type {
    TOKEN_END,
    TOKEN_NAME,    /* an identifier or keyword */
    TOKEN_PRIVATE, /* "#x" */
    TOKEN_NUMBER,
    TOKEN_BIGINT,
    TOKEN_STRING,
    TOKEN_TEMPLATE, /* only the first "`" */
    TOKEN_REGEX,
    TOKEN_SIGN, /* an operator, or anything else */
    TOKEN_BAD
};

/* Words that are no identifiers, and, from WORD_AWAIT on, some that may be. */
enum word {
    WORD_NONE,
    WORD_BREAK,
    WORD_CASE,
    WORD_CATCH,
    WORD_CLASS,
    WORD_CONST,
    WORD_CONTINUE,
    WORD_DEBUGGER,
    WORD_DEFAULT,
    WORD_DELETE,
    WORD_DO,
    WORD_ELSE,
    WORD_ENUM,
    WORD_EXPORT,
    WORD_EXTENDS,
    WORD_FALSE,
    WORD_FINALLY,
    WORD_FOR,
    WORD_FUNCTION,
    WORD_IF,
    WORD_IMPORT,
    WORD_IN,
    WORD_INSTANCEOF,
    WORD_NEW,
    WORD_NULL,
    WORD_RETURN,
    WORD_SUPER,
    WORD_SWITCH,
    WORD_THIS,
    WORD_THROW,
    WORD_TRUE,
    WORD_TRY,
    WORD_TYPEOF,
    WORD_VAR,
    WORD_VOID,
    WORD_WHILE,
    WORD_WITH,
    WORD_AWAIT,
    WORD_ASYNC,
    WORD_FROM,
    WORD_GET,
    WORD_LET,
    WORD_OF,
    WORD_SET,
    WORD_STATIC,
    WORD_USING,
    WORD_YIELD
};

struct token {
    enum token_type type;
    enum word word; /* of a name */
    uint32_t sign;  /* its bytes, the last one in the low byte; else 0 */
    uint32_t start; /* in bytes */
    uint32_t end;
    bool is_on_new_line; /* there is a line end before it */
};

/* Signs of several bytes. */
#define SIGN2(a, b) ((uint32_t)(a) << 8 | (b))
#define SIGN3(a, b, c) ((uint32_t)(a) << 16 | (uint32_t)(b) << 8 | (c))
#define SIGN_ARROW SIGN2('=', '>')
#define SIGN_SPREAD SIGN3('.', '.', '.')
#define SIGN_OPTIONAL SIGN2('?', '.')

struct lexer {
    const char *text;
    uint32_t size;
    uint32_t at; /* after the last token */
};

/* Reads the next token. */
void lexer_next(struct lexer *lexer, struct token *token);

/* Reads a regular expression that begins where the token does, with "/".
 * Returns false if it does not end. */
bool lexer_regex(struct lexer *lexer, struct token *token);

/* Reads what follows the beginning of a template, or a "}" in it.  Returns
 * 1 after "${", 0 after the end, -1 if there is neither. */
int lexer_template(struct lexer *lexer);
