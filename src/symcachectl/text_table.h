/*
 * Copyright (C) the ngx_symcache authors
 *
 * A table of text, whose columns are as wide as their widest cells.
 */
#ifndef SYMCACHECTL_TABLE_H
#define SYMCACHECTL_TABLE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

struct table {
    size_t columns;
    size_t count;
    size_t room;
    char **cells; /* row by row, escaped */
};

/* heads may be NULL. */
void table_init(struct table *table, size_t columns, const char *const *heads);

/* Adds the next cell; NULL is "". */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double number);

/* Adds a text, a number or a boolean; anything else is "". */
void table_item(struct table *table, const cJSON *item);

/* Prints all rows, each behind the indent, and frees the table. */
void table_print(struct table *table, FILE *stream, const char *indent);

#endif
