/*
 * Copyright (C) the ngx_symcache authors
 */

#include "text_table.h"

#include <stdlib.h>
#include <string.h>

#include "symcachectl/command.h"
#include "printable.h"

void text_table_init(struct text_table *table, size_t columns,
                     const char *const *heads)
{
    size_t i;

    memset(table, 0, sizeof(*table));
    table->columns = columns;
    for (i = 0; heads != NULL && i < columns; i++) {
        text_table_text(table, heads[i]);
    }
}

void text_table_text(struct text_table *table, const char *text)
{
    char **cells;

    if (table->count == table->room) {
        table->room = 2 * table->room + 64;
        cells = reallocarray(table->cells, table->room, sizeof(*cells));
        if (cells == NULL) {
            command_no_memory();
        }
        table->cells = cells;
    }
    text = text != NULL ? text : "";
    table->cells[table->count++] = printable(text, strlen(text));
}

static void add_number_cell(struct text_table *table, double number)
{
    char text[64];

    snprintf(text, sizeof(text), "%.0f", number);
    text_table_text(table, text);
}

void text_table_item(struct text_table *table, const cJSON *item)
{
    if (cJSON_IsNumber(item)) {
        add_number_cell(table, item->valuedouble);
    } else if (cJSON_IsBool(item)) {
        text_table_text(table, cJSON_IsTrue(item) ? "yes" : "no");
    } else {
        text_table_text(table, cJSON_GetStringValue(item));
    }
}

static size_t widest_cell(const struct text_table *table, size_t column)
{
    size_t i, n, width;

    width = 0;
    for (i = column; i < table->count; i += table->columns) {
        n = printable_width(table->cells[i]);
        width = n > width ? n : width;
    }
    return width;
}

void text_table_print(struct text_table *table, FILE *stream,
                      const char *indent)
{
    size_t i, column, *widths;

    widths = calloc(table->columns, sizeof(*widths));
    if (widths == NULL) {
        command_no_memory();
    }
    for (column = 0; column < table->columns; column++) {
        widths[column] = widest_cell(table, column);
    }
    for (i = 0; i < table->count; i++) {
        column = i % table->columns;
        fputs(column == 0 ? indent : "  ", stream);
        fputs(table->cells[i], stream);
        if (column + 1 == table->columns) {
            fputc('\n', stream);
        } else {
            fprintf(stream, "%*s",
                    (int)(widths[column] - printable_width(table->cells[i])),
                    "");
        }
        free(table->cells[i]);
    }
    free(widths);
    free(table->cells);
    memset(table, 0, sizeof(*table));
}
