/*
 * Copyright (C) the ngx_symcache authors
 */
#include "lexer.h"

#include <string.h>

#include "base/byte_compare.h"
#include "base/hex.h"
#include "base/utf8.h"

#define LEXER_NAME 1 /* may begin a name */
#define LEXER_DIGIT 2
#define LEXER_BLANK 4 /* but no line end */

/* The classes of a byte.  All bytes beyond ASCII can be in names; blanks among
 * them are looked for separately. */
static unsigned lexer_kind(char c)
{
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') {
        return LEXER_NAME;
    }
    if (c >= '0' && c <= '9') {
        return LEXER_DIGIT;
    }
    if (c == ' ' || c == '\t' || c == '\v' || c == '\f') {
        return LEXER_BLANK;
    }
    return c == '$' || c == '_' || c == '\\' || (c & 0x80) != 0 ? LEXER_NAME
                                                                : 0;
}

static char character_at(const struct lexer *lexer, uint32_t i)
{
    return i < lexer->size ? lexer->text[i] : '\0';
}

/* The size of a blank beyond ASCII at a place, or 0; a line end sets *is_line.
 */
static unsigned lexer_wide_blank(const struct lexer *lexer, uint32_t i,
                                 bool *is_line)
{
    uint32_t c;
    int n;

    if (i >= lexer->size || (lexer->text[i] & 0x80) == 0) {
        return 0;
    }
    n = utf8_decode(lexer->text + i, lexer->size - i, &c);
    if (n < 0 ||
        (c != 0xA0 && c != 0xFEFF && c != 0x1680 && c != 0x202F &&
         c != 0x205F && c != 0x3000 && !(c >= 0x2000 && c <= 0x200A) &&
         c != 0x2028 && c != 0x2029)) {
        return 0;
    }
    *is_line = *is_line || c == 0x2028 || c == 0x2029;
    return (unsigned)n;
}

/* Skips a comment up to the end of the line, but not that end. */
static void lexer_skip_line(struct lexer *lexer)
{
    bool is_line = false;

    while (lexer->at < lexer->size && lexer->text[lexer->at] != '\n' &&
           lexer->text[lexer->at] != '\r') {
        if ((lexer->text[lexer->at] & 0x80) != 0 &&
            lexer_wide_blank(lexer, lexer->at, &is_line) > 0 && is_line) {
            return;
        }
        lexer->at++;
    }
}

/* Skips a comment up to its end; returns false if it has none. */
static bool lexer_skip_comment(struct lexer *lexer, bool *is_line)
{
    for (lexer->at += 2; lexer->at < lexer->size; lexer->at++) {
        if (lexer->text[lexer->at] == '*' &&
            character_at(lexer, lexer->at + 1) == '/') {
            lexer->at += 2;
            return true;
        }
        if (lexer->text[lexer->at] == '\n' || lexer->text[lexer->at] == '\r') {
            *is_line = true;
        } else {
            (void)lexer_wide_blank(lexer, lexer->at, is_line);
        }
    }
    return false;
}

static bool lexer_is_at(const struct lexer *lexer, const char *sign,
                        uint32_t size)
{
    return lexer->size - lexer->at >= size &&
           memcmp(lexer->text + lexer->at, sign, size) == 0;
}

/* Is this a comment as HTML has them?  "<!--" is one up to the end of its
 * line, and so is "-->", which begins a line or the script (ECMA-262, B.1.1).
 * In modules they are signs, which no tool writes without a blank in between.
 */
static bool lexer_is_html_comment(const struct lexer *lexer, char c,
                                  bool begins_line)
{
    return c == '<' ? lexer_is_at(lexer, "<!--", 4)
                    : c == '-' && begins_line && lexer_is_at(lexer, "-->", 3);
}

/* Skips blanks and comments; returns false if a comment has no end. */
static bool lexer_skip_blanks(struct lexer *lexer, bool *is_line)
{
    bool is_first = lexer->at == 0;
    char c;
    unsigned n;

    for (;;) {
        c = character_at(lexer, lexer->at);
        if (c == '\n' || c == '\r') {
            *is_line = true;
            lexer->at++;
        } else if (lexer_kind(c) == LEXER_BLANK) {
            lexer->at++;
        } else if (c == '/' && character_at(lexer, lexer->at + 1) == '/') {
            lexer_skip_line(lexer);
        } else if (c == '/' && character_at(lexer, lexer->at + 1) == '*') {
            if (!lexer_skip_comment(lexer, is_line)) {
                return false;
            }
        } else if (lexer_is_html_comment(lexer, c, is_first || *is_line)) {
            lexer_skip_line(lexer);
        } else if (c == '#' && lexer->at == 0 &&
                   character_at(lexer, 1) == '!') {
            lexer_skip_line(lexer);
        } else if ((n = lexer_wide_blank(lexer, lexer->at, is_line)) > 0) {
            lexer->at += n;
        } else {
            return true;
        }
    }
}

/* In the order of the alphabet. */
static const struct {
    const char *text;
    enum word word;
} lexer_words[] = {
    {"async", WORD_ASYNC},
    {"await", WORD_AWAIT},
    {"break", WORD_BREAK},
    {"case", WORD_CASE},
    {"catch", WORD_CATCH},
    {"class", WORD_CLASS},
    {"const", WORD_CONST},
    {"continue", WORD_CONTINUE},
    {"debugger", WORD_DEBUGGER},
    {"default", WORD_DEFAULT},
    {"delete", WORD_DELETE},
    {"do", WORD_DO},
    {"else", WORD_ELSE},
    {"enum", WORD_ENUM},
    {"export", WORD_EXPORT},
    {"extends", WORD_EXTENDS},
    {"false", WORD_FALSE},
    {"finally", WORD_FINALLY},
    {"for", WORD_FOR},
    {"from", WORD_FROM},
    {"function", WORD_FUNCTION},
    {"get", WORD_GET},
    {"if", WORD_IF},
    {"import", WORD_IMPORT},
    {"in", WORD_IN},
    {"instanceof", WORD_INSTANCEOF},
    {"let", WORD_LET},
    {"new", WORD_NEW},
    {"null", WORD_NULL},
    {"of", WORD_OF},
    {"return", WORD_RETURN},
    {"set", WORD_SET},
    {"static", WORD_STATIC},
    {"super", WORD_SUPER},
    {"switch", WORD_SWITCH},
    {"this", WORD_THIS},
    {"throw", WORD_THROW},
    {"true", WORD_TRUE},
    {"try", WORD_TRY},
    {"typeof", WORD_TYPEOF},
    {"using", WORD_USING},
    {"var", WORD_VAR},
    {"void", WORD_VOID},
    {"while", WORD_WHILE},
    {"with", WORD_WITH},
    {"yield", WORD_YIELD},
};

#define LEXER_SHORTEST 2
#define LEXER_LONGEST 10

static enum word lexer_find_word(const char *text, size_t size)
{
    int c;
    size_t half, base = 0,
                 count = sizeof(lexer_words) / sizeof(lexer_words[0]);

    if (size < LEXER_SHORTEST || size > LEXER_LONGEST) {
        return WORD_NONE;
    }
    while (count > 0) {
        half = count / 2;
        c = byte_compare(lexer_words[base + half].text,
                         strlen(lexer_words[base + half].text), text, size);
        if (c == 0) {
            return lexer_words[base + half].word;
        }
        if (c < 0) {
            base += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return WORD_NONE;
}

/* Characters beyond ASCII that no name contains: punctuation, symbols, private
 * ones.  The list is coarse: the permitted ones change with each version of
 * Unicode, and scripts that run are not refused by it. */
static bool lexer_is_symbol(uint32_t c)
{
    return (c >= 0x80 && c < 0xC0 && c != 0xAA && c != 0xB5 && c != 0xB7 &&
            c != 0xBA) ||
           c == 0xD7 || c == 0xF7 ||
           (c >= 0x2000 && c < 0x2070 && c != 0x200C && c != 0x200D &&
            c != 0x203F && c != 0x2040 && c != 0x2054) ||
           (c >= 0x20A0 && c < 0x20D0) || (c >= 0x2190 && c < 0x2C00) ||
           (c >= 0x2E00 && c < 0x2E80) || (c >= 0x3000 && c < 0x3005) ||
           (c >= 0x3008 && c < 0x3021) || (c >= 0xE000 && c < 0xF900) ||
           (c >= 0xFE10 && c < 0xFE20) || c == 0xFEFF ||
           (c >= 0xFFF0 && c < 0x10000) || (c >= 0x1F000 && c < 0x1FBF0) ||
           c >= 0xE0200;
}

/* Skips a character of a name; returns false if it cannot be in one. */
static bool lexer_skip_character(struct lexer *lexer)
{
    int n = 1;
    uint32_t c;

    if (lexer->text[lexer->at] == '\\') { /* \u0041 or \u{41} */
        lexer->at++;
        if (character_at(lexer, lexer->at) != 'u') {
            return false;
        }
        if (character_at(lexer, lexer->at + 1) == '{') {
            while (lexer->at < lexer->size && lexer->text[lexer->at] != '}') {
                lexer->at++;
            }
            if (lexer->at == lexer->size) {
                return false;
            }
        }
    } else if ((lexer->text[lexer->at] & 0x80) != 0) {
        n = utf8_decode(lexer->text + lexer->at, lexer->size - lexer->at, &c);
        if (n < 0 || lexer_is_symbol(c)) {
            return false;
        }
    }
    lexer->at += (uint32_t)n;
    return true;
}

/* Reads a name from here on; returns false if there is none. */
static bool lexer_read_name(struct lexer *lexer)
{
    uint32_t start = lexer->at;

    while (lexer->at < lexer->size &&
           (lexer_kind(lexer->text[lexer->at]) & (LEXER_NAME | LEXER_DIGIT)) !=
               0 &&
           lexer_skip_character(lexer)) {
    }
    return lexer->at > start;
}

static void lexer_skip_digits(struct lexer *lexer, bool is_decimal)
{
    while (character_at(lexer, lexer->at) == '_' ||
           (is_decimal
                ? lexer_kind(character_at(lexer, lexer->at)) == LEXER_DIGIT
                : hex_digit(character_at(lexer, lexer->at)) >= 0)) {
        lexer->at++;
    }
}

static enum token_type lexer_read_number(struct lexer *lexer)
{
    enum token_type type = TOKEN_NUMBER;

    if (character_at(lexer, lexer->at) == '0' &&
        character_at(lexer, lexer->at + 1) != '\0' &&
        strchr("xXoObB", character_at(lexer, lexer->at + 1)) != NULL) {
        lexer->at += 2;
        lexer_skip_digits(lexer, false);
    } else {
        lexer_skip_digits(lexer, true);
        if (character_at(lexer, lexer->at) == '.') {
            lexer->at++;
            lexer_skip_digits(lexer, true);
        }
        if ((character_at(lexer, lexer->at) | 0x20) == 'e') {
            lexer->at++;
            lexer->at += character_at(lexer, lexer->at) == '+' ||
                         character_at(lexer, lexer->at) == '-';
            lexer_skip_digits(lexer, true);
        }
    }
    if (character_at(lexer, lexer->at) == 'n') {
        lexer->at++;
        type = TOKEN_BIGINT;
    }
    return (lexer_kind(character_at(lexer, lexer->at)) &
            (LEXER_NAME | LEXER_DIGIT)) != 0
               ? TOKEN_BAD
               : type;
}

static enum token_type lexer_read_string(struct lexer *lexer)
{
    char quote = lexer->text[lexer->at++];

    for (; lexer->at < lexer->size && lexer->text[lexer->at] != '\n' &&
           lexer->text[lexer->at] != '\r';
         lexer->at++) {
        if (lexer->text[lexer->at] == quote) {
            lexer->at++;
            return TOKEN_STRING;
        }
        if (lexer->text[lexer->at] == '\\') {
            lexer->at++;
            if (character_at(lexer, lexer->at) == '\r' &&
                character_at(lexer, lexer->at + 1) == '\n') {
                lexer->at++;
            }
        }
    }
    return TOKEN_BAD;
}

/* Signs of more than one byte, the longest first. */
static uint32_t lexer_read_sign(struct lexer *lexer)
{
    size_t i, n;
    uint32_t sign = 0;
    const char *p = lexer->text + lexer->at;
    static const char *const signs[] = {
        ">>>=", "...",  "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=",
        "||=",  "?\?=", "=>",  "==",  "!=",  "<=",  ">=",  "&&",  "||",
        "?\?",  "?.",   "++",  "--",  "+=",  "-=",  "*=",  "/=",  "%=",
        "&=",   "|=",   "^=",  "<<",  ">>",  "**"};

    if (strchr("(){}[];,:~@#", *p) == NULL) {
        for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
            n = strlen(signs[i]);
            if (lexer->size - lexer->at >= n && memcmp(p, signs[i], n) == 0 &&
                (memcmp(p, "?.", 2) != 0 ||
                 lexer_kind(character_at(lexer, lexer->at + 2)) !=
                     LEXER_DIGIT)) {
                for (i = 0; i < n; i++) {
                    sign = sign << 8 | (unsigned char)p[i];
                }
                lexer->at += (uint32_t)n;
                return sign;
            }
        }
    }
    lexer->at++;
    return (unsigned char)*p;
}

void lexer_next(struct lexer *lexer, struct token *token)
{
    char c;

    token->is_on_new_line = false;
    token->word = WORD_NONE;
    token->sign = 0;
    token->type = lexer_skip_blanks(lexer, &token->is_on_new_line) ? TOKEN_SIGN
                                                                   : TOKEN_BAD;
    token->start = lexer->at;
    c = character_at(lexer, lexer->at);
    if (token->type == TOKEN_BAD) {
        /* as it is */
    } else if (lexer->at >= lexer->size) {
        token->type = TOKEN_END;
    } else if (lexer_kind(c) == LEXER_NAME) {
        token->type = lexer_read_name(lexer) ? TOKEN_NAME : TOKEN_BAD;
        token->word = lexer_find_word(lexer->text + token->start,
                                      lexer->at - token->start);
    } else if (lexer_kind(c) == LEXER_DIGIT ||
               (c == '.' && lexer_kind(character_at(lexer, lexer->at + 1)) ==
                                LEXER_DIGIT)) {
        token->type = lexer_read_number(lexer);
    } else if (c == '"' || c == '\'') {
        token->type = lexer_read_string(lexer);
    } else if (c == '`') {
        lexer->at++;
        token->type = TOKEN_TEMPLATE;
    } else if (c == '#') {
        lexer->at++;
        token->type = lexer_read_name(lexer) ? TOKEN_PRIVATE : TOKEN_BAD;
    } else if (c == '\0') {
        token->type = TOKEN_BAD;
    } else {
        token->sign = lexer_read_sign(lexer);
    }
    token->end = lexer->at;
}

bool lexer_regex(struct lexer *lexer, struct token *token)
{
    char c;
    bool is_in_class = false;

    for (lexer->at = token->start + 1; lexer->at < lexer->size; lexer->at++) {
        c = lexer->text[lexer->at];
        if (c == '\n' || c == '\r') {
            return false;
        }
        if (c == '\\') {
            lexer->at++;
        } else if (c == '[') {
            is_in_class = true;
        } else if (c == ']') {
            is_in_class = false;
        } else if (c == '/' && !is_in_class) {
            lexer->at++;
            (void)lexer_read_name(lexer);
            token->type = TOKEN_REGEX;
            token->sign = 0;
            token->end = lexer->at;
            return true;
        }
    }
    return false;
}

int lexer_template(struct lexer *lexer)
{
    for (; lexer->at < lexer->size; lexer->at++) {
        switch (lexer->text[lexer->at]) {
        case '\\':
            lexer->at++;
            break;
        case '`':
            lexer->at++;
            return 0;
        case '$':
            if (character_at(lexer, lexer->at + 1) == '{') {
                lexer->at += 2;
                return 1;
            }
            break;
        default:
            break;
        }
    }
    return -1;
}
