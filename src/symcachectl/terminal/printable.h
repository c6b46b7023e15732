/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes text of others (answers of the helper, file names) safe for a
 * terminal.  What is not UTF-8 is escaped, and so are characters that control
 * the terminal or turn the direction of writing.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Escapes as \x1b for a byte and \u202e for a character.  The caller frees
 * the result. */
char *printable(const char *text, size_t size);

/* Prints the same to a stream; NULL is "". */
void printable_put(FILE *stream, const char *text);

/* The same of a text of many lines: their ends and tabs stay. */
void printable_put_lines(FILE *stream, const char *text, size_t size);

/* The same of an address, without the user and password of a URL: the log of a
 * build is no place for them. */
void printable_put_address(FILE *stream, const char *address);

/* The text of an object's field, not escaped; "" if there is none. */
const char *printable_field(const cJSON *object, const char *key);
void printable_put_field(FILE *stream, const cJSON *object, const char *key);

/* Prints the line of source code that a frame of Symbolicator's protocol has,
 * after blanks of ours in place of its own; nothing, if it has none. */
void printable_put_code(FILE *stream, const cJSON *frame);

/* The number in an object's field; 0 if there is none. */
double printable_number(const cJSON *object, const char *key);

/* The number of characters.  Except for wide ones, a terminal shows them in
 * as many columns. */
size_t printable_width(const char *text);

/* Prints an object in one line; what is not UTF-8 becomes U+FFFD. */
void printable_json(FILE *stream, const cJSON *object);

/* "12.3 MiB" */
#define PRINTABLE_SIZE_MAX 32
void printable_size(char *buf, uint64_t bytes);

/* "2026-11-21 07:50:12", local time; "-" for 0. */
#define PRINTABLE_TIME_MAX 32
void printable_time(char *buf, double seconds);
