/*
 * Copyright (C) the ngx_symcache authors
 *
 * Text of others (answers of the helper, file names) made fit for a terminal:
 * what steers one, turns the direction of writing or is no UTF-8 is escaped.
 */
#ifndef SYMCACHECTL_PRINTABLE_H
#define SYMCACHECTL_PRINTABLE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* \x1b for a byte, \u202e for a character.  The caller frees it. */
char *printable(const char *text, size_t size);

/* The same onto a stream; NULL is "". */
void printable_put(FILE *stream, const char *text);

/* Text of an object's field, not yet printable; "" where there is none. */
const char *printable_field(const cJSON *object, const char *key);
void printable_put_field(FILE *stream, const cJSON *object, const char *key);

/* A number; 0 where there is none. */
double printable_number(const cJSON *object, const char *key);

/* Characters, which a terminal shows in as many columns (but for wide ones).
 */
size_t printable_width(const char *text);

/* An object on one line; what is no UTF-8 becomes U+FFFD. */
void printable_json(FILE *stream, const cJSON *object);

/* "12.3 MiB" */
#define PRINTABLE_SIZE_MAX 32
void printable_size(char *buf, uint64_t bytes);

/* "2026-11-21 07:50:12", local time; "-" for 0. */
#define PRINTABLE_TIME_MAX 32
void printable_time(char *buf, double seconds);

#endif
