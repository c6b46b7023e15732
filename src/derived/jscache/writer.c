/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PIECE 16384 /* bytes that are written at a time */

void jscache_writer_init(struct jscache_writer *w)
{
    memset(w, 0, sizeof(*w));
    w->strings.refers = true;
}

void jscache_writer_free(struct jscache_writer *w)
{
    symc_strings_free(&w->strings);
    free(w->files);
    free(w->lines);
    free(w->ignored);
    jscache_writer_init(w);
}

enum symc_status jscache_writer_text(struct jscache_writer *w,
                                     struct symc_string text, uint32_t *offset)
{
    return symc_strings_insert(&w->strings, text.size > 0 ? text.data : "",
                               text.size, offset) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

static enum symc_status add_line(struct jscache_writer *w, size_t offset)
{
    if (w->num_lines >= UINT32_MAX || offset > UINT32_MAX ||
        symc_array_need(&w->lines, &w->line_room, w->num_lines + 1,
                        sizeof(*w->lines)) != 0) {
        return SYMC_NO_MEMORY;
    }
    w->lines[w->num_lines++] = (uint32_t)offset;
    return SYMC_OK;
}

/* Adds where the lines of a text begin: of each file at least one. */
static enum symc_status add_lines(struct jscache_writer *w,
                                  struct symc_string text)
{
    const char *p = text.data;
    enum symc_status status = add_line(w, 0);

    while (status == SYMC_OK && p != NULL) {
        p = memchr(p, '\n', text.size - (size_t)(p - text.data));
        if (p != NULL) {
            p++;
            status = add_line(w, (size_t)(p - text.data));
        }
    }
    return status;
}

enum symc_status jscache_writer_file(struct jscache_writer *w,
                                     struct symc_string name,
                                     struct symc_string text, bool is_ignored)
{
    uint8_t *p;
    uint32_t name_at, text_at = JSCACHE_NONE, first = (uint32_t)w->num_lines;

    if (w->num_files >= UINT32_MAX - 1 ||
        symc_array_need(&w->files, &w->file_room, w->num_files + 1,
                        JSCACHE_FILE_SIZE) != 0 ||
        (is_ignored &&
         symc_array_need(&w->ignored, &w->ignored_room, w->num_ignored + 1,
                         sizeof(*w->ignored)) != 0) ||
        jscache_writer_text(w, name, &name_at) != SYMC_OK ||
        (text.data != NULL &&
         jscache_writer_text(w, text, &text_at) != SYMC_OK) ||
        add_lines(w, text) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    if (is_ignored) {
        w->ignored[w->num_ignored++] = (uint32_t)w->num_files;
    }
    p = w->files + w->num_files++ * JSCACHE_FILE_SIZE;
    symc_store(p, name_at);
    symc_store(p + 4, text_at);
    symc_store(p + 8, first);
    symc_store(p + 12, (uint32_t)w->num_lines);
    return SYMC_OK;
}

/* Output that is collected until there is a piece of it. */
struct piece {
    const struct symc_sink *sink;
    uint64_t written;
    size_t used;
    bool has_failed;
    uint8_t data[PIECE];
};

static void flush(struct piece *piece)
{
    piece->has_failed =
        piece->has_failed || piece->sink->write(piece->sink->context,
                                                piece->data, piece->used) != 0;
    piece->written += piece->used;
    piece->used = 0;
}

static inline void put(struct piece *piece, uint32_t number)
{
    if (piece->used > PIECE - 4) {
        flush(piece);
    }
    symc_store(piece->data + piece->used, number);
    piece->used += 4;
}

static void put_bytes(struct piece *piece, const void *data, size_t size)
{
    size_t n;
    const uint8_t *p = data;

    for (; size > 0; p += n, size -= n) {
        if (piece->used == PIECE) {
            flush(piece);
        }
        n = size < PIECE - piece->used ? size : PIECE - piece->used;
        memcpy(piece->data + piece->used, p, n);
        piece->used += n;
    }
}

/* Writes zeros up to a multiple of 8. */
static void align(struct piece *piece)
{
    static const uint8_t zeros[8];

    put_bytes(piece, zeros, -(piece->written + piece->used) & 7);
}

static void put_header(struct piece *piece, const struct jscache_writer *w,
                       size_t num_rows)
{
    put_bytes(piece, JSCACHE_MAGIC, 4);
    put(piece, JSCACHE_VERSION);
    put(piece, (uint32_t)num_rows);
    put(piece, (uint32_t)w->num_files);
    put(piece, (uint32_t)w->num_lines);
    put(piece, (uint32_t)w->strings.size);
    put(piece, (uint32_t)w->num_ignored);
    put(piece, 0);
}

static void put_strings(struct piece *piece,
                        const struct symc_strings *strings)
{
    size_t i, size;
    const uint8_t *text;
    uint8_t length[10];

    for (i = 0; i < strings->count; i++) {
        text = symc_strings_text(strings, i, &size);
        put_bytes(piece, length, symc_strings_length(length, size));
        put_bytes(piece, text, size);
    }
}

static bool is_same(const struct jscache_row *a, const struct jscache_row *b)
{
    return a->minified_line == b->minified_line && a->file == b->file &&
           a->line == b->line && a->column == b->column &&
           a->name == b->name && a->scope == b->scope;
}

/* Leaves out what tells nothing new; returns how many rows are left. */
static size_t pack(struct jscache_row *rows, size_t n)
{
    size_t i, count = 0;

    for (i = 0; i < n; i++) {
        if (count == 0 || !is_same(&rows[count - 1], &rows[i])) {
            rows[count++] = rows[i];
        }
    }
    return count;
}

enum symc_status jscache_writer_finish(struct jscache_writer *w,
                                       struct jscache_row *rows, size_t n,
                                       const struct symc_sink *sink)
{
    size_t i;
    struct piece piece;

    if (n > UINT32_MAX) {
        return SYMC_NO_MEMORY;
    }
    n = pack(rows, n);
    piece.sink = sink;
    piece.has_failed = false;
    piece.written = 0;
    piece.used = 0;
    put_header(&piece, w, n);
    for (i = 0; i < n; i++) {
        put(&piece, rows[i].minified_line);
        put(&piece, rows[i].minified_column);
    }
    align(&piece);
    for (i = 0; i < n; i++) {
        put(&piece, rows[i].file);
        put(&piece, rows[i].line);
        put(&piece, rows[i].column);
        put(&piece, rows[i].name);
        put(&piece, rows[i].scope);
    }
    align(&piece);
    put_bytes(&piece, w->files, w->num_files * JSCACHE_FILE_SIZE);
    for (i = 0; i < w->num_lines; i++) {
        put(&piece, w->lines[i]);
    }
    align(&piece);
    put_strings(&piece, &w->strings);
    if (w->num_ignored > 0) {
        align(&piece);
    }
    for (i = 0; i < w->num_ignored; i++) {
        put(&piece, w->ignored[i]);
    }
    flush(&piece);
    return piece.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}
