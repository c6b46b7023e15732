/*
 * Copyright (C) the ngx_symcache authors
 *
 * The lexical rules of Breakpad's text: lines, and the fields of a record.
 * What is allowed where is what the "symbolic" library accepts; it decides
 * which of two tools' files are the same to us.
 */
#ifndef DEBUGINFO_BREAKPAD_TEXT_H
#define DEBUGINFO_BREAKPAD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the file. */
struct span {
    const char *data;
    size_t size;
};

/* A walk over lines: begin at the start of the file, with the number 0. */
struct lines {
    const char *at;
    const char *end; /* of the file */
    uint64_t number; /* of the line given last, from 1 */
};

/* Gives the next line, without LF and one CR before it; false: none. */
bool lines_next(struct lines *lines, struct span *line);

/* Does a line begin with these characters, the blank after a keyword one? */
#define span_begins(span, prefix) span_starts(span, prefix, sizeof(prefix) - 1)
bool span_starts(const struct span *span, const char *prefix, size_t size);

/* Cuts off white space of Unicode at both ends. */
void span_trim(struct span *span);

/*
 * Fields of a trimmed record from left to right.  Blanks behind a field are
 * taken with it.  Once a field is not as it must be, `wrong` is its name, and
 * the values of later ones mean nothing.
 */
struct fields {
    const char *at;
    const char *end;
    const char *wrong; /* NULL at first */
};

/* Begins behind the keyword, which has `skip` characters. */
void fields_begin(struct fields *fields, const struct span *record,
                  size_t skip);

/* A number below 2^64 with any zeros in front, hexadecimal or decimal. */
uint64_t fields_hex(struct fields *fields, const char *name);
uint64_t fields_decimal(struct fields *fields, const char *name);

/* Takes a mark of one character, which may be missing. */
bool fields_mark(struct fields *fields, char mark);

/* A word that does not end before the next blank. */
struct span fields_word(struct fields *fields);

/* All that is left, blanks too. */
struct span fields_rest(const struct fields *fields);

bool fields_are_done(const struct fields *fields);

#endif
