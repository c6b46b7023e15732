/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void jscache_writer_init(struct jscache_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
    writer->strings.refers = true;
}

void jscache_writer_free(struct jscache_writer *writer)
{
    symc_string_table_free(&writer->strings);
    free(writer->files);
    free(writer->lines);
    free(writer->ignored);
    jscache_writer_init(writer);
}

enum symc_status jscache_writer_text(struct jscache_writer *writer,
                                     struct symc_string text, uint32_t *offset)
{
    return symc_string_table_insert(&writer->strings,
                                    text.size > 0 ? text.data : "", text.size,
                                    offset) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

static enum symc_status add_line(struct jscache_writer *writer, size_t offset)
{
    if (writer->num_lines >= UINT32_MAX || offset > UINT32_MAX ||
        array_need(&writer->lines, &writer->line_room, writer->num_lines + 1,
                   sizeof(*writer->lines)) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->lines[writer->num_lines++] = (uint32_t)offset;
    return SYMC_OK;
}

/* Adds where the lines of a text begin: of each file at least one. */
static enum symc_status add_jscache_lines(struct jscache_writer *writer,
                                          struct symc_string text)
{
    const char *p = text.data;
    enum symc_status status = add_line(writer, 0);

    while (status == SYMC_OK && p != NULL) {
        p = memchr(p, '\n', text.size - (size_t)(p - text.data));
        if (p != NULL) {
            p++;
            status = add_line(writer, (size_t)(p - text.data));
        }
    }
    return status;
}

enum symc_status jscache_writer_file(struct jscache_writer *writer,
                                     struct symc_string name,
                                     struct symc_string text, bool is_ignored)
{
    uint8_t *p;
    uint32_t name_at, text_at = JSCACHE_NONE,
                      first = (uint32_t)writer->num_lines;

    if (writer->num_files >= UINT32_MAX - 1 ||
        array_need(&writer->files, &writer->file_room, writer->num_files + 1,
                   JSCACHE_FILE_SIZE) != 0 ||
        (is_ignored &&
         array_need(&writer->ignored, &writer->ignored_room,
                    writer->num_ignored + 1, sizeof(*writer->ignored)) != 0) ||
        jscache_writer_text(writer, name, &name_at) != SYMC_OK ||
        (text.data != NULL &&
         jscache_writer_text(writer, text, &text_at) != SYMC_OK) ||
        add_jscache_lines(writer, text) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    if (is_ignored) {
        writer->ignored[writer->num_ignored++] = (uint32_t)writer->num_files;
    }
    p = writer->files + writer->num_files++ * JSCACHE_FILE_SIZE;
    le32_store(p, name_at);
    le32_store(p + 4, text_at);
    le32_store(p + 8, first);
    le32_store(p + 12, (uint32_t)writer->num_lines);
    return SYMC_OK;
}

static void put_jscache_header(struct symc_output *out,
                               const struct jscache_writer *writer,
                               size_t num_rows)
{
    symc_output_bytes(out, JSCACHE_MAGIC, 4);
    symc_output_number(out, JSCACHE_VERSION);
    symc_output_number(out, (uint32_t)num_rows);
    symc_output_number(out, (uint32_t)writer->num_files);
    symc_output_number(out, (uint32_t)writer->num_lines);
    symc_output_number(out, (uint32_t)writer->strings.size);
    symc_output_number(out, (uint32_t)writer->num_ignored);
    symc_output_number(out, 0);
}

static bool is_same(const struct jscache_row *a, const struct jscache_row *b)
{
    return a->minified_line == b->minified_line && a->file == b->file &&
           a->line == b->line && a->column == b->column &&
           a->name == b->name && a->scope == b->scope;
}

/* Leaves out what tells nothing new; returns how many rows are left. */
static size_t pack_jscache(struct jscache_row *rows, size_t n)
{
    size_t i, count = 0;

    for (i = 0; i < n; i++) {
        if (count == 0 || !is_same(&rows[count - 1], &rows[i])) {
            rows[count++] = rows[i];
        }
    }
    return count;
}

enum symc_status jscache_writer_finish(struct jscache_writer *writer,
                                       struct jscache_row *rows, size_t n,
                                       const struct symc_sink *sink)
{
    size_t i;
    struct symc_output out;

    if (n > UINT32_MAX) {
        return SYMC_NO_MEMORY;
    }
    n = pack_jscache(rows, n);
    symc_output_init(&out, sink);
    put_jscache_header(&out, writer, n);
    for (i = 0; i < n; i++) {
        symc_output_number(&out, rows[i].minified_line);
        symc_output_number(&out, rows[i].minified_column);
    }
    symc_output_align(&out, 8);
    for (i = 0; i < n; i++) {
        symc_output_number(&out, rows[i].file);
        symc_output_number(&out, rows[i].line);
        symc_output_number(&out, rows[i].column);
        symc_output_number(&out, rows[i].name);
        symc_output_number(&out, rows[i].scope);
    }
    symc_output_align(&out, 8);
    symc_output_bytes(&out, writer->files,
                      writer->num_files * JSCACHE_FILE_SIZE);
    symc_output_words(&out, writer->lines, writer->num_lines);
    symc_output_align(&out, 8);
    symc_output_strings(&out, &writer->strings);
    if (writer->num_ignored > 0) {
        symc_output_align(&out, 8);
    }
    symc_output_words(&out, writer->ignored, writer->num_ignored);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}
