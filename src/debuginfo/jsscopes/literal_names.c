/*
 * Copyright (C) the ngx_symcache authors
 *
 * Texts and numbers in names: what they are, and not how they are written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "parser.h"

/* From here on all numbers are whole ones. */
#define WHOLE 9007199254740992.0

/* Digits of a number that is read. */
#define NUMBER_MAX 400

/* Reads at most max hexadecimal digits; returns how many there are. */
static unsigned read_literal_hex(const char *p, const char *end, unsigned max,
                                 uint32_t *value)
{
    unsigned n;

    for (n = 0, *value = 0; n < max && p + n < end && hex_digit(p[n]) >= 0;
         n++) {
        *value = *value << 4 | (uint32_t)hex_digit(p[n]);
    }
    return n;
}

/* Reads what follows a backslash; returns how many bytes, and sets *c to the
 * character, or to UINT32_MAX if it is none. */
static size_t read_literal_escape(const char *p, const char *end, uint32_t *c)
{
    unsigned n;
    uint32_t low;
    const char *found;
    static const char from[] = "nrtbvf0", to[] = "\n\r\t\b\v\f";

    *c = UINT32_MAX;
    if (*p == '\n' || *p == '\r') { /* the line goes on */
        return p + 1 < end && p[0] == '\r' && p[1] == '\n' ? 2 : 1;
    }
    if (*p == 'x' || *p == 'u') {
        if (p + 1 < end && p[1] == '{') {
            n = read_literal_hex(p + 2, end, 6, c);
            return n + 3;
        }
        n = read_literal_hex(p + 1, end, *p == 'x' ? 2 : 4, c);
        if (*c >= 0xD800 && *c < 0xDC00 && end - p >= 11 && p[5] == '\\' &&
            read_literal_hex(p + 7, end, 4, &low) == 4 &&
            utf16_pair(*c, low) != 0) {
            *c = utf16_pair(*c, low);
            return 11;
        }
        return n + 1;
    }
    found = *p != '\0' ? strchr(from, *p) : NULL;
    if (found != NULL) {
        *c = (unsigned char)to[found - from];
        return 1;
    }
    n = (unsigned)abs(utf8_decode(p, (size_t)(end - p), c));
    return n;
}

/* Writes a character of a text in quotes. */
static char *quote_literal(char *to, uint32_t c)
{
    switch (c) {
    case '\n':
    case '\t':
    case '\r':
        *to++ = '\\';
        *to++ = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
        return to;
    case '"':
    case '\\':
        *to++ = '\\';
        break;
    default:
        break;
    }
    return to + utf8_encode(to, c);
}

/* Writes the text of a string token in quotes. */
static char *write_literal_string(const struct jsparser *js,
                                  const struct token *t, char *to)
{
    size_t n;
    uint32_t c;
    const char *from = js->lexer.text + t->start + 1;
    const char *end = js->lexer.text + t->end - 1;

    *to++ = '"';
    while (from < end) {
        if (*from == '\\' && from + 1 < end) {
            n = 1 + read_literal_escape(from + 1, end, &c);
        } else {
            n = (size_t)abs(utf8_decode(from, (size_t)(end - from), &c));
        }
        if (c != UINT32_MAX) {
            to = quote_literal(to, c);
        }
        from += n < (size_t)(end - from) ? n : (size_t)(end - from);
    }
    *to++ = '"';
    return to;
}

/* A number as ECMAScript prints it, for what people write: the fewest digits
 * that read as the same number. */
static int print_literal_number(char *to, size_t room, double value)
{
    int digits, n = 0;

    if (value < 1e21 && (value >= WHOLE || (double)(int64_t)value == value)) {
        return snprintf(to, room, "%.0f", value);
    }
    for (digits = 1; digits <= 17; digits++) {
        n = snprintf(to, room, "%.*g", digits, value);
        if (strtod(to, NULL) == value) {
            break;
        }
    }
    return n;
}

static char *write_literal_number(const struct jsparser *js,
                                  const struct token *t, char *to, size_t room)
{
    uint32_t i, n = 0;
    int base = 10;
    char c, text[NUMBER_MAX];
    double value;

    for (i = t->start; i < t->end && n + 1 < sizeof(text); i++) {
        c = js->lexer.text[i];
        if (c != '_' && c != 'n') {
            text[n++] = c;
        }
    }
    text[n] = '\0';
    if (n > 1 && text[0] == '0') {
        c = (char)(text[1] | 0x20);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
    }
    value = base == 10 ? strtod(text, NULL)
                       : (double)strtoull(text + 2, NULL, base);
    if (t->type == TOKEN_BIGINT && base == 10 && n < room) {
        memcpy(to, text, n);
        to += n;
    } else {
        to += print_literal_number(to, room, value);
    }
    if (t->type == TOKEN_BIGINT) {
        *to++ = 'n';
    }
    return to;
}

bool literal_part(struct jsparser *js, const struct token *t, bool is_key,
                  struct jsscopes_part *part)
{
    /* a character may need a backslash, and one byte may become three */
    size_t room = 3 * (size_t)(t->end - t->start) + NUMBER_MAX;
    char *text = arena_take(&js->scopes->arena, room + 8), *to = text;

    if (text == NULL) {
        return parser_fail(js, JSSCOPES_NO_MEMORY, "out of memory");
    }
    *to++ = is_key ? '<' : '[';
    if (t->type == TOKEN_STRING) {
        to = write_literal_string(js, t, to);
    } else if (t->type == TOKEN_NUMBER || t->type == TOKEN_BIGINT) {
        to = write_literal_number(js, t, to, NUMBER_MAX);
    } else { /* a regular expression, true, false, null */
        memcpy(to, js->lexer.text + t->start, t->end - t->start);
        to += t->end - t->start;
    }
    *to++ = is_key ? '>' : ']';
    part->text = text;
    part->size = (uint32_t)(to - text);
    part->is_identifier = false;
    return true;
}

size_t jsscopes_unescape(char *name, size_t size)
{
    char *to = name, text[4];
    const char *p = name, *end = name + size;
    size_t n, most;
    uint32_t c;

    while (p < end) {
        most = (size_t)(end - p);
        n = *p == '\\' && most > 1 ? 1 + read_literal_escape(p + 1, end, &c)
                                   : 1;
        n = n < most ? n : most;
        /* between braces, a script has what it likes: that stays as it is */
        if (n == 1 || c == UINT32_MAX || utf8_encode(text, c) > n) {
            *to++ = *p++;
            continue;
        }
        to += utf8_encode(to, c);
        p += n;
    }
    return (size_t)(to - name);
}
