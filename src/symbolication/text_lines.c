/*
 * Copyright (C) the ngx_symcache authors
 */
#include "text_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* From one mark to the next there are so many lines, or so many bytes and the
 * rest of a line. */
#define MARK_LINES 64
#define MARK_BYTES 4096

/* Where a line begins. */
struct line_mark {
    uint64_t line; /* from 1 */
    size_t at;
};

struct marked_text {
    struct symc_string text;
    struct line_mark *marks; /* of what was read */
    size_t num_marks;
    size_t room;
    struct line_mark next; /* what is to be read */
};

static size_t line_end(struct symc_string text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.size - at);

    return end != NULL ? (size_t)(end - text.data) + 1 : text.size;
}

/* Adds a mark, unless there is no memory. */
static void add_mark(struct marked_text *marked)
{
    if (array_need(&marked->marks, &marked->room, marked->num_marks + 1,
                   sizeof(*marked->marks)) == 0) {
        marked->marks[marked->num_marks++] = marked->next;
    }
}

/* Reads on to the end of a line. */
static void read_marks(struct marked_text *marked, uint64_t line)
{
    struct line_mark *next = &marked->next;
    const struct line_mark *last;

    while (next->line <= line && next->at < marked->text.size) {
        next->at = line_end(marked->text, next->at);
        next->line++;
        last = &marked->marks[marked->num_marks - 1];
        if (next->line - last->line >= MARK_LINES ||
            next->at - last->at >= MARK_BYTES) {
            add_mark(marked);
        }
    }
}

/* The last mark that is not behind a line. */
static const struct line_mark *mark_before(const struct marked_text *marked,
                                           uint64_t line)
{
    size_t half, base = 0, count = marked->num_marks;

    while (count > 1) {
        half = count / 2;
        base += marked->marks[base + half].line <= line ? half : 0;
        count -= half;
    }
    return &marked->marks[base];
}

static void free_marked(struct marked_text *marked)
{
    free(marked->marks);
    free(marked);
}

/* NULL without memory. */
static struct marked_text *marked_of(struct text_lines *known,
                                     struct symc_string text)
{
    uint64_t hash = table_hash_number(&known->texts, (uintptr_t)text.data);
    struct marked_text *marked;
    size_t at = 0;

    do {
        marked = (struct marked_text *)table_next(&known->texts, hash, &at);
    } while (marked != NULL && marked->text.size != text.size);
    if (marked != NULL) {
        return marked;
    }
    marked = calloc(1, sizeof(*marked));
    if (marked == NULL) {
        return NULL;
    }
    marked->text = text;
    marked->next.line = 1;
    add_mark(marked);
    if (marked->num_marks == 0 ||
        table_add(&known->texts, hash, (uintptr_t)marked) != 0) {
        free_marked(marked);
        return NULL;
    }
    return marked;
}

/* The bytes from one place to another, without a line end. */
static struct symc_string cut_line(struct symc_string text, size_t at,
                                   size_t end)
{
    struct symc_string line = {text.data + at, end - at};

    if (line.data[line.size - 1] == '\n') {
        line.size--;
        line.size -= line.size > 0 && line.data[line.size - 1] == '\r';
    }
    return line;
}

unsigned text_lines_find(struct text_lines *known, struct symc_string text,
                         uint32_t first, unsigned count,
                         struct symc_string *lines)
{
    struct marked_text *marked =
        text.size > TEXT_LINES_SHORT ? marked_of(known, text) : NULL;
    const struct line_mark *mark, *end;
    uint64_t line;
    size_t at, next;
    unsigned n = 0;

    if (marked == NULL) {
        return sourcecache_text_lines(text.data, text.size, first, count,
                                      lines);
    }
    read_marks(marked, (uint64_t)first + count);
    mark = mark_before(marked, first);
    end = marked->marks + marked->num_marks;
    line = mark->line;
    for (at = mark->at; at < text.size && n < count; at = next, line++) {
        if (mark + 1 < end && mark[1].line == line + 1) {
            next = (++mark)->at;
        } else {
            next = line_end(text, at);
        }
        if (line >= first) {
            lines[n++] = cut_line(text, at, next);
        }
    }
    return n;
}

void text_lines_free(struct text_lines *known)
{
    size_t i;

    for (i = 0; i < known->texts.num_slots; i++) {
        if (known->texts.slots[i].value != 0) {
            free_marked((struct marked_text *)known->texts.slots[i].value);
        }
    }
    table_free(&known->texts);
}
