/*
 * Copyright (C) the ngx_symcache authors
 *
 * A table of text, whose columns are as wide as their widest cells.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

struct text_table {
    size_t columns;
    size_t count;
    size_t room;
    char **cells; /* row by row, escaped */
};

/* heads may be NULL. */
void text_table_init(struct text_table *table, size_t columns,
                     const char *const *heads);

/* Adds the next cell; NULL is "". */
void text_table_text(struct text_table *table, const char *text);

/* Adds a text, a number or a boolean; anything else is "". */
void text_table_item(struct text_table *table, const cJSON *item);

/* Prints all rows, each after the indent, and frees the table. */
void text_table_print(struct text_table *table, FILE *stream,
                      const char *indent);
