/*
 * Copyright (C) the ngx_symcache authors
 */
#include "record.h"

#include <string.h>

#include "base/utf8.h"

#define ARROW " -> "
#define ARROW_SIZE (sizeof(ARROW) - 1)

/* Of so many records two must show that a file is a mapping. */
#define SNIFFED 50

/* A line, or what is left of it. */
struct record_line {
    const char *at;
    const char *end;
};

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || is_line_end(c);
}

static const char *record_skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

static const char *record_line_end(const char *at, const char *end)
{
    const char *lf = memchr(at, '\n', (size_t)(end - at)), *cr;

    lf = lf != NULL ? lf : end;
    cr = memchr(at, '\r', (size_t)(lf - at));
    return cr != NULL ? cr : lf;
}

static bool record_is_utf8(const struct proguard_text *text)
{
    return utf8_valid(text->data, text->size) == text->size;
}

/* Takes what stands in front of a character, which is there. */
static bool record_until(struct record_line *line, char c,
                         struct proguard_text *text)
{
    const char *p = memchr(line->at, c, (size_t)(line->end - line->at));

    if (p == NULL) {
        return false;
    }
    text->data = line->at;
    text->size = (size_t)(p - line->at);
    line->at = p;
    return record_is_utf8(text);
}

static bool record_mark(struct record_line *line, const char *mark,
                        size_t size)
{
    if ((size_t)(line->end - line->at) < size ||
        memcmp(line->at, mark, size) != 0) {
        return false;
    }
    line->at += size;
    return true;
}

static void record_rest(struct record_line *line, struct proguard_text *text)
{
    text->data = line->at;
    text->size = (size_t)(line->end - line->at);
    line->at = line->end;
}

/* Takes digits of a number below 2^64.  Others are left where they are. */
static bool record_number(struct record_line *line, uint64_t *number)
{
    const char *p = line->at;
    uint64_t n = 0;
    unsigned digit;

    for (; p < line->end && *p >= '0' && *p <= '9'; p++) {
        digit = (unsigned)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    if (p == line->at) {
        return false;
    }
    line->at = p;
    *number = n;
    return true;
}

static bool record_class(struct record_line *line,
                         struct proguard_record *record)
{
    record->kind = PROGUARD_CLASS;
    return record_until(line, ' ', &record->original) &&
           record_mark(line, ARROW, ARROW_SIZE) &&
           record_until(line, ':', &record->renamed) &&
           record_mark(line, ":", 1);
}

/* Reads an optional range of lines, "start:end:", before the type.  Digits
 * without a colon are an error, because they cannot be a type. */
static bool record_range(struct record_line *line,
                         struct proguard_record *record)
{
    if (!record_number(line, &record->start)) {
        return true;
    }
    record->has_range = true;
    return record_mark(line, ":", 1) && record_number(line, &record->end) &&
           record_mark(line, ":", 1);
}

static bool read_original_lines(struct record_line *line,
                                struct proguard_record *record)
{
    if (!record_mark(line, ":", 1)) {
        return true;
    }
    record->has_original = true;
    if (!record_number(line, &record->original_start)) {
        return false;
    }
    if (!record_mark(line, ":", 1)) {
        return true;
    }
    record->has_original_end = true;
    return record_number(line, &record->original_end);
}

/* The part of a method's name before the last dot is its class. */
static void split_name(struct proguard_record *record)
{
    struct proguard_text *name = &record->original;
    const char *dot = memrchr(name->data, '.', name->size);

    if (dot != NULL) {
        record->class.data = name->data;
        record->class.size = (size_t)(dot - name->data);
        name->data = dot + 1;
        name->size -= record->class.size + 1;
    }
}

/* A name ends at a blank or a parenthesis. */
static bool record_name(struct record_line *line, struct proguard_text *name)
{
    const char *p = line->at;

    while (p < line->end && *p != ' ' && *p != '(') {
        p++;
    }
    name->data = line->at;
    name->size = (size_t)(p - line->at);
    line->at = p;
    return record_is_utf8(name);
}

static bool record_member(struct record_line *line,
                          struct proguard_record *record)
{
    struct proguard_text type;

    record->kind = PROGUARD_FIELD;
    if (!record_range(line, record) || !record_until(line, ' ', &type) ||
        !record_mark(line, " ", 1) || !record_name(line, &record->original)) {
        return false;
    }
    if (record_mark(line, "(", 1)) {
        record->kind = PROGUARD_METHOD;
        split_name(record);
        if (!record_until(line, ')', &record->arguments) ||
            !record_mark(line, ")", 1) || !read_original_lines(line, record)) {
            return false;
        }
    }
    if (!record_mark(line, ARROW, ARROW_SIZE)) {
        return false;
    }
    record_rest(line, &record->renamed);
    return record_is_utf8(&record->renamed);
}

static bool record_comment(struct record_line *line,
                           struct proguard_record *record)
{
    record_rest(line, &record->json);
    record->kind = record->json.size > 0 && record->json.data[0] == '{'
                       ? PROGUARD_COMMENT
                       : PROGUARD_HEADER;
    return record_is_utf8(&record->json);
}

/* What stands behind blanks, which may be line ends, too.  Where it does not
 * fit, reading goes on in the next line of these blanks, and comes to it
 * again. */
static const char *record_begin(struct proguard_records *records,
                                const char *at)
{
    if (!is_blank(*at)) {
        return at;
    }
    if (records->text == NULL || at >= records->text) {
        records->text = record_skip_blanks(at, records->end);
        records->is_bad = false;
    }
    return records->text;
}

static bool read_record(struct proguard_records *records, const char *at,
                        struct record_line *line,
                        struct proguard_record *record)
{
    const char *p = record_begin(records, at), *end = records->end;
    bool is_comment = p < end && *p == '#', is_good;

    if (!is_comment && *at != ' ' && *at != '\t') {
        p = at;
    }
    if (p > at && records->is_bad) {
        return false;
    }
    line->at = is_comment ? record_skip_blanks(p + 1, end) : p;
    line->end = record_line_end(line->at, end);
    if (is_comment) {
        is_good = record_comment(line, record);
    } else {
        is_good =
            p == at ? record_class(line, record) : record_member(line, record);
    }
    records->is_bad = records->is_bad || (p > at && !is_good);
    return is_good;
}

bool proguard_next(struct proguard_records *records,
                   struct proguard_record *record)
{
    const char *at = records->at, *end = records->end;
    struct record_line line;

    while (at < end && is_line_end(*at)) {
        at++;
    }
    if (at == end) {
        return false;
    }
    memset(record, 0, sizeof(*record));
    if (read_record(records, at, &line, record)) {
        records->at = line.at;
    } else {
        record->kind = PROGUARD_BAD;
        records->at = record_line_end(at, end);
    }
    return true;
}

bool proguard_sniff(const uint8_t *data, size_t size)
{
    struct proguard_records records = {.at = (const char *)data,
                                       .end = (const char *)data + size};
    struct proguard_record record;
    bool has_class = false;
    unsigned i;

    for (i = 0; i < SNIFFED && proguard_next(&records, &record); i++) {
        if (has_class && (record.kind == PROGUARD_FIELD ||
                          record.kind == PROGUARD_METHOD)) {
            return true;
        }
        has_class = has_class || record.kind == PROGUARD_CLASS;
    }
    return false;
}
