/*
 * Copyright (C) the ngx_symcache authors
 */
#include "lexer.h"

#include <string.h>

#include "base/utf8.h"

bool lines_next(struct lines *lines, struct span *line)
{
    size_t left = (size_t)(lines->end - lines->at);
    const char *lf;

    if (left == 0) {
        return false;
    }
    line->data = lines->at;
    line->size = left;
    lines->number++;
    lf = memchr(lines->at, '\n', left);
    if (lf == NULL) {
        lines->at = lines->end;
        return true;
    }
    lines->at = lf + 1;
    line->size = (size_t)(lf - line->data);
    if (line->size > 0 && lf[-1] == '\r') {
        line->size--;
    }
    return true;
}

bool span_starts(const struct span *span, const char *prefix, size_t size)
{
    return span->size >= size && memcmp(span->data, prefix, size) == 0;
}

/* Returns the size in bytes of the Unicode white space character at p, or 0 if
 * there is none. */
static size_t lexer_white_space(const unsigned char *p, size_t left)
{
    if (left >= 1 && (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r'))) {
        return 1;
    }
    if (left >= 2 && p[0] == 0xC2 && (p[1] == 0x85 || p[1] == 0xA0)) {
        return 2;
    }
    if (left < 3) {
        return 0;
    }
    switch ((unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2]) {
    case 0xE19A80: /* U+1680 */
    case 0xE280A8: /* U+2028 */
    case 0xE280A9: /* U+2029 */
    case 0xE280AF: /* U+202F */
    case 0xE2819F: /* U+205F */
    case 0xE38080: /* U+3000 */
        return 3;
    default: /* U+2000 to U+200A */
        return p[0] == 0xE2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8A
                   ? 3
                   : 0;
    }
}

void span_trim(struct span *span)
{
    size_t n;
    const unsigned char *p = (const unsigned char *)span->data;
    const unsigned char *end = p + span->size;

    while ((n = lexer_white_space(p, (size_t)(end - p))) > 0) {
        p += n;
    }
    for (n = 1; n <= 3 && n <= (size_t)(end - p); n++) {
        if (lexer_white_space(end - n, n) == n) {
            end -= n;
            n = 0;
        }
    }
    span->data = (const char *)p;
    span->size = (size_t)(end - p);
}

static bool lexer_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Skips blanks.  Returns false if there is neither a blank nor the end. */
static bool lexer_take_blanks(struct fields *f)
{
    if (f->at == f->end) {
        return true;
    }
    if (!lexer_is_blank(*f->at)) {
        return false;
    }
    while (f->at < f->end && lexer_is_blank(*f->at)) {
        f->at++;
    }
    return true;
}

void fields_begin(struct fields *f, const struct span *record, size_t skip)
{
    f->at = record->data + (skip < record->size ? skip : record->size);
    f->end = record->data + record->size;
    f->wrong = NULL;
    lexer_take_blanks(f);
}

bool fields_begin_trimmed(struct fields *f, struct span *record, size_t skip)
{
    if (utf8_valid(record->data, record->size) != record->size) {
        return false;
    }
    span_trim(record);
    fields_begin(f, record, skip);
    return true;
}

/* The value of each character as a digit, plus 1; 0 if it is not a digit. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

static inline uint64_t lexer_number(struct fields *f, unsigned base,
                                    const char *name)
{
    bool is_wrong = false; /* there is no number, or it is too large */
    unsigned d;
    uint64_t value = 0;
    const char *p = f->at;

    for (; p < f->end; p++) {
        d = digits[(unsigned char)*p] - 1u;
        if (d >= base) {
            break;
        }
        is_wrong |= __builtin_mul_overflow(value, base, &value) |
                    __builtin_add_overflow(value, d, &value);
    }
    is_wrong |= p == f->at;
    f->at = p;
    if ((!lexer_take_blanks(f) || is_wrong) && f->wrong == NULL) {
        f->wrong = name;
    }
    return value;
}

uint64_t fields_hex(struct fields *f, const char *name)
{
    return lexer_number(f, 16, name);
}

uint64_t fields_decimal(struct fields *f, const char *name)
{
    return lexer_number(f, 10, name);
}

bool fields_mark(struct fields *f, char mark)
{
    if (f->at == f->end || *f->at != mark) {
        return false;
    }
    f->at++;
    return true;
}

struct span fields_word(struct fields *f)
{
    struct span word = {f->at, 0};

    while (f->at < f->end && !lexer_is_blank(*f->at)) {
        f->at++;
    }
    word.size = (size_t)(f->at - word.data);
    lexer_take_blanks(f);
    return word;
}

struct span fields_rest(const struct fields *f)
{
    struct span rest = {f->at, (size_t)(f->end - f->at)};

    return rest;
}

bool fields_are_done(const struct fields *f)
{
    return f->at == f->end;
}
