/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_context.h"

#define LINE_MAX_SIZE 150 /* bytes, up to which a line stays as it is */
#define CUT_SIZE 140
#define BEFORE_COLUMN 60
#define NEAR 5 /* an end that is as near is not cut off */

/* The first byte of the character that the byte at an offset is of. */
static size_t context_boundary(struct symc_string line, size_t at)
{
    while (at > 0 && at < line.size &&
           ((unsigned char)line.data[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

struct source_line source_line_trim(struct symc_string line,
                                    uint32_t column)
{
    struct source_line cut = {line, false, false};
    size_t start, end, at = column < line.size ? column : line.size;

    if (line.size <= LINE_MAX_SIZE) {
        return cut;
    }
    start = at > BEFORE_COLUMN ? at - BEFORE_COLUMN : 0;
    start = start < NEAR ? 0 : start;
    end = start + CUT_SIZE < line.size ? start + CUT_SIZE : line.size;
    end = end > line.size - NEAR ? line.size : end;
    start = end == line.size ? line.size - CUT_SIZE : start;
    start = context_boundary(line, start);
    end = context_boundary(line, end);
    cut.text.data = line.data + start;
    cut.text.size = end - start;
    cut.is_cut_before = start > 0;
    cut.is_cut_behind = end < line.size;
    return cut;
}

/* Which lines are around a line: how many there are before it, and the first
 * one. */
static uint32_t first_line(struct source_context *context, uint32_t *line)
{
    uint32_t first;

    *line = *line == 0 ? 1 : *line;
    first = *line > SOURCE_CONTEXT_LINES ? *line - SOURCE_CONTEXT_LINES : 1;
    context->before = *line - first;
    return first;
}

static bool take_lines(struct source_context *context,
                       const struct symc_string *lines, unsigned count)
{
    unsigned i;

    context->count = count;
    for (i = 0; i < count; i++) {
        context->lines[i] = source_line_trim(lines[i], 0);
    }
    return context->count > context->before;
}

bool source_context_read(struct source_context *context,
                         struct text_lines *known,
                         const struct sourcecache_reader *reader,
                         const struct sourcecache_entry *entry, uint32_t line)
{
    struct symc_string lines[2 * SOURCE_CONTEXT_LINES + 1], block;
    uint32_t first = first_line(context, &line);

    return take_lines(
        context, lines,
        sourcecache_block(reader, entry, &first, &block)
            ? text_lines_find(known, block, first,
                              context->before + 1 + SOURCE_CONTEXT_LINES,
                              lines)
            : 0);
}

bool source_context_of_text(struct source_context *context,
                            struct text_lines *known, struct symc_string text,
                            uint32_t line)
{
    struct symc_string lines[2 * SOURCE_CONTEXT_LINES + 1];
    uint32_t first = first_line(context, &line);

    return take_lines(
        context, lines,
        text_lines_find(known, text, first,
                        context->before + 1 + SOURCE_CONTEXT_LINES, lines));
}
