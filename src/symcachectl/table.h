/*
 * Copyright (C) the ngx_symcache authors
 *
 * Rows of text whose columns are as wide as their widest cell.
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
    char **cells; /* printable, row by row */
};

/* Heads may be NULL. */
void table_init(struct table *table, size_t columns, const char *const *heads);

/* The next cell; "" for NULL. */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double number);

/* A text, number or boolean; "" for what is none. */
void table_item(struct table *table, const cJSON *item);

/* Prints all rows behind the indent, and ends the table. */
void table_print(struct table *table, FILE *stream, const char *indent);

#endif
