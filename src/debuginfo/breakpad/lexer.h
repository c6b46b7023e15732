/*
 * Copyright (C) the ngx_symcache authors
 *
 * The lexical rules of Breakpad's text: lines, and the fields of a record.
 * Tools differ in details of what they write; accepted is what the "symbolic"
 * library accepts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the file. */
struct span {
    const char *data;
    size_t size;
};

/* An iterator over lines.  It begins at the start of the file, with the number
 * 0. */
struct lines {
    const char *at;
    const char *end; /* of the file */
    uint64_t number; /* of the last line returned, counted from 1 */
};

/* Gets the next line, without its LF and one CR before that.  Returns false if
 * there is none. */
bool lines_next(struct lines *lines, struct span *line);

/* Does a line begin with these characters? */
#define span_begins(span, prefix) span_starts(span, prefix, sizeof(prefix) - 1)
bool span_starts(const struct span *span, const char *prefix, size_t size);

/* Removes Unicode white space at both ends. */
void span_trim(struct span *span);

/*
 * Reads the fields of a trimmed record from left to right.  Blanks after a
 * field are skipped together with it.  If a field is invalid, `wrong` becomes
 * its name, and the values of later fields mean nothing.
 */
struct fields {
    const char *at;
    const char *end;
    const char *wrong; /* NULL at first */
};

/* Begins after the keyword, which is the first `skip` characters. */
void fields_begin(struct fields *fields, const struct span *record,
                  size_t skip);

/* The same of a record that is not trimmed.  Returns false if it is not UTF-8
 * as a whole. */
bool fields_begin_trimmed(struct fields *fields, struct span *record,
                          size_t skip);

/* Read a number below 2^64, with any number of leading zeros. */
uint64_t fields_hex(struct fields *fields, const char *name);
uint64_t fields_decimal(struct fields *fields, const char *name);

/* Skips a mark of one character.  Returns false if it is missing. */
bool fields_mark(struct fields *fields, char mark);

/* Reads a word, which extends to the next blank. */
struct span fields_word(struct fields *fields);

/* Returns everything that is left, including blanks. */
struct span fields_rest(const struct fields *fields);

bool fields_are_done(const struct fields *fields);
