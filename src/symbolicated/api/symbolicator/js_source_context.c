/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_source_context.h"

#include <string.h>

/* The next line of a text, which it leaves; false at its end. */
static bool next_line(struct symc_string *text, struct symc_string *line)
{
    const char *end =
        text->size > 0 ? memchr(text->data, '\n', text->size) : NULL;

    if (text->size == 0) {
        return false;
    }
    line->data = text->data;
    line->size = end != NULL ? (size_t)(end - text->data) : text->size;
    text->data += line->size + (end != NULL);
    text->size -= line->size + (end != NULL);
    if (end != NULL && line->size > 0 && line->data[line->size - 1] == '\r') {
        line->size--;
    }
    return true;
}

/* Those around a line of a text, from 1. */
static void find_text_lines(struct js_lines *lines, struct symc_string text,
                            uint32_t line)
{
    struct symc_string each;
    uint64_t i;

    lines->before = lines->count = 0;
    for (i = 1; line > 0 && i <= (uint64_t)line + SOURCE_CONTEXT_LINES &&
                next_line(&text, &each);
         i++) {
        if (i + SOURCE_CONTEXT_LINES >= line) {
            lines->before += i < line;
            lines->lines[lines->count++] = each;
        }
    }
}

void js_lines_of_map(struct js_lines *lines,
                     const struct jscache_reader *reader, uint32_t file,
                     uint32_t line)
{
    uint32_t first =
        line > SOURCE_CONTEXT_LINES ? line - SOURCE_CONTEXT_LINES : 0;

    lines->before = line - first;
    lines->count = jscache_reader_lines(
        reader, file, first, lines->before + 1 + SOURCE_CONTEXT_LINES,
        lines->lines);
}

bool js_lines_trim(const struct js_lines *lines, uint32_t column,
                   struct source_context *context)
{
    unsigned i;

    context->before = lines->before;
    context->count = lines->count;
    for (i = 0; i < lines->count; i++) {
        context->lines[i] = source_line_trim(lines->lines[i], column);
    }
    return lines->count > lines->before;
}

const struct js_lines *js_lines_cached(struct js_lines_cache *cache,
                                       struct symc_string text, uint32_t line)
{
    struct js_lines_item *item =
        &cache->items[line % (sizeof(cache->items) / sizeof(*item))];

    if (item->text.data != text.data || item->text.size != text.size ||
        item->line != line) {
        item->text = text;
        item->line = line;
        find_text_lines(&item->lines, text, line);
    }
    return &item->lines;
}
