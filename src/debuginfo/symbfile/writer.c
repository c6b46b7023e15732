/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include <pb_encode.h>

#include "base/array.h"
#include "base/utf8.h"
#include "format.h"

#define PIECE 65536

/* When a table of strings is written, with the records that use it: the texts
 * of one more range must fit, of which longer ones are cut. */
#define TEXT_MAX 65536u
#define TABLE_MAX (SYMBFILE_PAYLOAD_MAX - 4 * TEXT_MAX)
#define BUFFERED_MAX (64u << 20)

#define NONE UINT32_MAX /* no string */

struct symbfile_string {
    struct symc_string text;
    bool is_in_table;
    uint32_t number; /* in the table */
};

struct symbfile_writer_frame {
    uint32_t func;
    uint32_t file;
    uint32_t line;
};

struct symbfile_writer_item {
    struct symbfile_record record; /* its texts are those below */
    uint32_t func;
    uint32_t file;
    uint32_t call_file;
    struct symbfile_writer_frame *frames;
};

/* bytes ------------------------------------------------------------------- */

static int flush_piece(struct symbfile_writer *writer)
{
    const struct symc_sink *sink = writer->sink;
    size_t n = writer->used;

    writer->used = 0;
    return n == 0 || sink->write(sink->context, writer->piece, n) == 0
               ? 0
               : failure_writer(writer->failure, SYMC_NO_WRITE);
}

static bool on_bytes(pb_ostream_t *stream, const pb_byte_t *data, size_t size)
{
    size_t n;
    struct symbfile_writer *writer = stream->state;

    for (; size > 0; data += n, size -= n) {
        if (writer->used == PIECE && flush_piece(writer) != 0) {
            return false;
        }
        n = PIECE - writer->used < size ? PIECE - writer->used : size;
        memcpy(writer->piece + writer->used, data, n);
        writer->used += n;
    }
    return true;
}

static pb_ostream_t stream_of(struct symbfile_writer *writer)
{
    pb_ostream_t s = {
        .callback = on_bytes, .state = writer, .max_size = SIZE_MAX};

    return s;
}

static bool put_number(pb_ostream_t *s, uint32_t field, uint64_t value)
{
    return pb_encode_tag(s, PB_WT_VARINT, field) &&
           pb_encode_varint(s, value);
}

static bool put_text(pb_ostream_t *s, uint32_t field,
                     const struct symc_string *text)
{
    return pb_encode_tag(s, PB_WT_STRING, field) &&
           pb_encode_string(s, (const pb_byte_t *)text->data, text->size);
}

/* Writes a text or its number in the table, for which there are two fields. */
static bool put_string(const struct symbfile_writer *writer, pb_ostream_t *s,
                       uint32_t field, uint32_t ref_field, uint32_t string)
{
    const struct symbfile_string *text;

    if (string == NONE) {
        return true;
    }
    text = &writer->strings[string];
    return text->is_in_table ? put_number(s, ref_field, text->number)
                             : put_text(s, field, &text->text);
}

/* The distance to the last address, unless it has more than 64 bits. */
static bool put_address(const struct symbfile_writer *writer, pb_ostream_t *s,
                        uint32_t delta_field, uint32_t field, uint64_t address)
{
    uint64_t size = address >= writer->address ? address - writer->address
                                               : writer->address - address;

    if (!writer->has_address || size > INT64_MAX) {
        return put_number(s, field, address);
    }
    return pb_encode_tag(s, PB_WT_VARINT, delta_field) &&
           pb_encode_svarint(s, address >= writer->address ? (int64_t)size
                                                           : -(int64_t)size);
}

/* messages ---------------------------------------------------------------- */

typedef bool put_message(const struct symbfile_writer *w, pb_ostream_t *s,
                         const struct symbfile_writer_item *item);

static size_t size_of(const struct symbfile_writer *writer, put_message *put,
                      const struct symbfile_writer_item *item)
{
    pb_ostream_t sizing = PB_OSTREAM_SIZING;

    (void)put(writer, &sizing, item);
    return sizing.bytes_written;
}

/* Writes a packed field, or a message of its own. */
static bool put_part(const struct symbfile_writer *writer, pb_ostream_t *s,
                     uint32_t field, put_message *put,
                     const struct symbfile_writer_item *item)
{
    return pb_encode_tag(s, PB_WT_STRING, field) &&
           pb_encode_varint(s, size_of(writer, put, item)) &&
           put(writer, s, item);
}

static bool put_offsets(const struct symbfile_writer *writer, pb_ostream_t *s,
                        const struct symbfile_writer_item *item)
{
    size_t i;
    uint64_t last = 0;
    bool is_put = true;
    const struct symbfile_record *r = &item->record;

    for (i = 0; i < r->num_lines && is_put; i++) {
        is_put = pb_encode_varint(s, r->lines[i].offset - last);
        last = r->lines[i].offset;
    }
    return is_put;
}

static bool put_lines(const struct symbfile_writer *writer, pb_ostream_t *s,
                      const struct symbfile_writer_item *item)
{
    size_t i;
    bool is_put = true;
    const struct symbfile_record *r = &item->record;

    for (i = 0; i < r->num_lines && is_put; i++) {
        is_put = pb_encode_varint(s, r->lines[i].line);
    }
    return is_put;
}

static bool put_line_table(const struct symbfile_writer *writer,
                           pb_ostream_t *s,
                           const struct symbfile_writer_item *item)
{
    return put_part(writer, s, SYMBFILE_LINES_OFFSET, put_offsets, item) &&
           put_part(writer, s, SYMBFILE_LINES_LINE, put_lines, item);
}

static bool put_range(const struct symbfile_writer *writer, pb_ostream_t *s,
                      const struct symbfile_writer_item *item)
{
    const struct symbfile_record *r = &item->record;

    return put_address(writer, s, SYMBFILE_RANGE_DELTA, SYMBFILE_RANGE_ADDRESS,
                       r->address) &&
           (r->size == 0 || put_number(s, SYMBFILE_RANGE_LENGTH, r->size)) &&
           put_string(writer, s, SYMBFILE_RANGE_FUNC, SYMBFILE_RANGE_FUNC_REF,
                      item->func) &&
           put_string(writer, s, SYMBFILE_RANGE_FILE, SYMBFILE_RANGE_FILE_REF,
                      item->file) &&
           (r->call_line == 0 ||
            put_number(s, SYMBFILE_RANGE_CALL_LINE, r->call_line)) &&
           put_string(writer, s, SYMBFILE_RANGE_CALL_FILE,
                      SYMBFILE_RANGE_CALL_FILE_REF, item->call_file) &&
           (r->depth == 0 || put_number(s, SYMBFILE_RANGE_DEPTH, r->depth)) &&
           (r->num_lines == 0 ||
            put_part(writer, s, SYMBFILE_RANGE_LINES, put_line_table, item));
}

static bool put_funcs(const struct symbfile_writer *writer, pb_ostream_t *s,
                      const struct symbfile_writer_item *item)
{
    size_t i;
    bool is_put = true;

    for (i = 0; i < item->record.num_frames && is_put; i++) {
        is_put =
            pb_encode_varint(s, writer->strings[item->frames[i].func].number);
    }
    return is_put;
}

static bool put_symbfile_files(const struct symbfile_writer *writer,
                               pb_ostream_t *s,
                               const struct symbfile_writer_item *item)
{
    size_t i;
    bool is_put = true;

    for (i = 0; i < item->record.num_frames && is_put; i++) {
        is_put =
            pb_encode_varint(s, writer->strings[item->frames[i].file].number);
    }
    return is_put;
}

static bool put_frame_lines(const struct symbfile_writer *writer,
                            pb_ostream_t *s,
                            const struct symbfile_writer_item *item)
{
    size_t i;
    bool is_put = true;

    for (i = 0; i < item->record.num_frames && is_put; i++) {
        is_put = pb_encode_varint(s, item->frames[i].line);
    }
    return is_put;
}

static bool put_pad(const struct symbfile_writer *writer, pb_ostream_t *s,
                    const struct symbfile_writer_item *item)
{
    return put_address(writer, s, SYMBFILE_PAD_DELTA, SYMBFILE_PAD_ADDRESS,
                       item->record.address) &&
           put_part(writer, s, SYMBFILE_PAD_FUNC, put_funcs, item) &&
           put_part(writer, s, SYMBFILE_PAD_FILE, put_symbfile_files, item) &&
           put_part(writer, s, SYMBFILE_PAD_LINE, put_frame_lines, item);
}

static bool put_strings(const struct symbfile_writer *writer, pb_ostream_t *s,
                        const struct symbfile_writer_item *item)
{
    size_t i;
    bool is_put = true;

    for (i = 0; i < writer->num_strings && is_put; i++) {
        is_put =
            !writer->strings[i].is_in_table ||
            put_text(s, SYMBFILE_STRINGS_STRING, &writer->strings[i].text);
    }
    return is_put;
}

static bool put_symbfile_header(const struct symbfile_writer *writer,
                                pb_ostream_t *s,
                                const struct symbfile_writer_item *item)
{
    return true; /* it is empty */
}

static int put_record(struct symbfile_writer *writer, uint32_t type,
                      put_message *put,
                      const struct symbfile_writer_item *item)
{
    pb_ostream_t s = stream_of(writer);
    size_t size = size_of(writer, put, item);

    if (size > SYMBFILE_PAYLOAD_MAX) {
        return failure_set(writer->failure, FAILURE_LIMIT,
                           "would need a record of more than 16 MiB");
    }
    return pb_encode_varint(&s, size) && pb_encode_varint(&s, type) &&
                   put(writer, &s, item)
               ? 0
               : -1; /* on_bytes() has set the failure */
}

/* records ----------------------------------------------------------------- */

int symbfile_writer_begin(struct symbfile_writer *writer,
                          const struct symc_sink *sink,
                          struct failure *failure)
{
    pb_ostream_t s;

    memset(writer, 0, sizeof(*writer));
    writer->sink = sink;
    writer->failure = failure;
    writer->piece = malloc(PIECE);
    if (writer->piece == NULL) {
        return failure_memory(failure);
    }
    s = stream_of(writer);
    return pb_write(&s, (const pb_byte_t *)SYMBFILE_MAGIC, SYMBFILE_MAGIC_SIZE)
               ? put_record(writer, SYMBFILE_TYPE_HEADER, put_symbfile_header,
                            NULL)
               : -1;
}

void symbfile_writer_free(struct symbfile_writer *writer)
{
    table_free(&writer->index);
    arena_free(&writer->arena);
    free(writer->items);
    free(writer->strings);
    free(writer->piece);
}

/* Writes the strings and records that are kept. */
static int flush_symbfile(struct symbfile_writer *writer)
{
    size_t i;
    uint32_t number = 0;
    const struct symbfile_writer_item *item;

    for (i = 0; i < writer->num_strings; i++) {
        writer->strings[i].number = number;
        number += writer->strings[i].is_in_table;
    }
    if (put_record(writer, SYMBFILE_TYPE_STRINGS, put_strings, NULL) != 0) {
        return -1;
    }
    for (i = 0; i < writer->num_items; i++) {
        item = &writer->items[i];
        if (put_record(writer,
                       item->record.is_pad ? SYMBFILE_TYPE_PAD
                                           : SYMBFILE_TYPE_RANGE,
                       item->record.is_pad ? put_pad : put_range, item) != 0) {
            return -1;
        }
        writer->address = item->record.address;
        writer->has_address = true;
    }
    writer->num_items = writer->num_strings = writer->string_bytes =
        writer->buffered = 0;
    table_free(&writer->index);
    arena_reset(&writer->arena);
    return 0;
}

int symbfile_writer_finish(struct symbfile_writer *writer)
{
    return flush_symbfile(writer) != 0 ? -1 : flush_piece(writer);
}

static void *copy_bytes(struct symbfile_writer *writer, const void *data,
                        size_t size)
{
    void *p = arena_take(&writer->arena, size > 0 ? size : 1);

    if (p == NULL) {
        failure_memory(writer->failure);
    } else if (size > 0) {
        memcpy(p, data, size);
    }
    writer->buffered += size;
    return p;
}

static int add_symbfile_string(struct symbfile_writer *writer, uint64_t hash,
                               const struct symc_string *text,
                               uint32_t *number)
{
    struct symbfile_string *s;

    if (array_need(&writer->strings, &writer->string_room,
                   writer->num_strings + 1, sizeof(*writer->strings)) != 0 ||
        table_add(&writer->index, hash, writer->num_strings + 1) != 0) {
        return failure_memory(writer->failure);
    }
    *number = (uint32_t)writer->num_strings;
    s = &writer->strings[writer->num_strings++];
    s->is_in_table = false;
    s->text.size = text->size;
    s->text.data = copy_bytes(writer, text->data, text->size);
    writer->string_bytes += 5 + text->size;
    return s->text.data == NULL ? -1 : 0;
}

/* Finds or adds a string.  One that is used again goes into the table. */
static int take_string(struct symbfile_writer *writer,
                       const struct symc_string *whole, bool is_in_table,
                       uint32_t *number)
{
    size_t at = 0;
    struct symc_string cut = *whole, *text = &cut;
    uint64_t hash;
    uintptr_t value;
    struct symbfile_string *s;

    if (cut.size > TEXT_MAX) {
        cut.size = utf8_valid(cut.data, TEXT_MAX);
    }
    hash = table_hash((uintptr_t)writer, text->data, text->size);
    while ((value = table_next(&writer->index, hash, &at)) != 0) {
        s = &writer->strings[value - 1];
        if (s->text.size == text->size &&
            memcmp(s->text.data, text->data, text->size) == 0) {
            s->is_in_table = true;
            *number = (uint32_t)(value - 1);
            return 0;
        }
    }
    if (add_symbfile_string(writer, hash, text, number) != 0) {
        return -1;
    }
    writer->strings[*number].is_in_table = is_in_table;
    return 0;
}

static int take_optional(struct symbfile_writer *writer,
                         const struct symc_string *text, uint32_t *number)
{
    *number = NONE;
    return text->data == NULL ? 0 : take_string(writer, text, true, number);
}

static int take_frames(struct symbfile_writer *writer,
                       struct symbfile_writer_item *item)
{
    size_t i, n = item->record.num_frames;
    const struct symbfile_frame *frame;
    static const struct symc_string none = {"", 0};

    item->frames = arena_take(&writer->arena, (n + 1) * sizeof(*item->frames));
    if (item->frames == NULL) {
        return failure_memory(writer->failure);
    }
    writer->buffered += n * sizeof(*item->frames);
    for (i = 0; i < n; i++) {
        frame = &item->record.frames[i];
        item->frames[i].line = frame->line;
        if (take_string(writer, &frame->func, true, &item->frames[i].func) !=
                0 ||
            take_string(writer,
                        frame->file.data == NULL ? &none : &frame->file, true,
                        &item->frames[i].file) != 0) {
            return -1;
        }
    }
    return 0;
}

int symbfile_writer_add(struct symbfile_writer *writer,
                        const struct symbfile_record *record)
{
    struct symbfile_writer_item *item;

    if ((writer->string_bytes >= TABLE_MAX ||
         writer->buffered >= BUFFERED_MAX) &&
        flush_symbfile(writer) != 0) {
        return -1;
    }
    if (array_need(&writer->items, &writer->item_room, writer->num_items + 1,
                   sizeof(*writer->items)) != 0) {
        return failure_memory(writer->failure);
    }
    item = &writer->items[writer->num_items++];
    memset(item, 0, sizeof(*item));
    item->record = *record;
    writer->buffered += sizeof(*item);
    if (record->is_pad) {
        return take_frames(writer, item);
    }
    item->record.lines = copy_bytes(
        writer, record->lines, record->num_lines * sizeof(*record->lines));
    return item->record.lines == NULL ||
                   take_string(writer, &record->func, false, &item->func) !=
                       0 ||
                   take_optional(writer, &record->file, &item->file) != 0 ||
                   take_optional(writer, &record->call_file,
                                 &item->call_file) != 0
               ? -1
               : 0;
}
