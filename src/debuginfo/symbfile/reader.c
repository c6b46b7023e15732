/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "base/utf8.h"
#include "format.h"

/* A member of a oneof: the last one in the message counts. */
struct reader_choice {
    enum { CHOICE_NONE, CHOICE_VALUE, CHOICE_REF } kind;
    uint64_t number;
    struct symc_string text;
};

static int reader_damaged(struct symbfile_reader *symbfile, uint64_t offset,
                          const char *what)
{
    if (symbfile->error[0] == '\0') {
        snprintf(symbfile->error, sizeof(symbfile->error),
                 "is damaged: offset %llu: %s", (unsigned long long)offset,
                 what);
    }
    return -1;
}

static int reader_no_memory(struct symbfile_reader *symbfile)
{
    symbfile->is_out_of_memory = true;
    snprintf(symbfile->error, sizeof(symbfile->error),
             "needs more memory than there is");
    return -1;
}

bool symbfile_sniff(const uint8_t *data, size_t size)
{
    return size >= SYMBFILE_MAGIC_SIZE &&
           memcmp(data, SYMBFILE_MAGIC, SYMBFILE_MAGIC_SIZE) == 0;
}

void symbfile_reader_init(struct symbfile_reader *symbfile,
                          const uint8_t *data, size_t size)
{
    memset(symbfile, 0, sizeof(*symbfile));
    symbfile->data = data;
    symbfile->size = size;
}

void symbfile_reader_joined(struct symbfile_reader *symbfile,
                            const uint8_t *data, size_t size)
{
    symbfile_reader_init(symbfile, data, size);
    symbfile->is_joined = true;
}

void symbfile_reader_free(struct symbfile_reader *symbfile)
{
    size_t i;

    for (i = 0; i < 3; i++) {
        free(symbfile->columns[i].list);
    }
    free(symbfile->strings);
    free(symbfile->lines);
    free(symbfile->frames);
}

/* fields ------------------------------------------------------------------ */

static uint64_t reader_offset(const struct symbfile_reader *symbfile,
                              const uint8_t *p)
{
    return (uint64_t)(p - symbfile->data);
}

/* Gets the next field of a message.  Returns 1, 0 or -1. */
static int reader_next_field(struct symbfile_reader *symbfile,
                             struct protobuf *message,
                             struct protobuf_field *f)
{
    bool is_read = protobuf_next(message, f);

    return !message->is_damaged && (!is_read || f->number != 0)
               ? is_read
               : reader_damaged(symbfile, reader_offset(symbfile, f->begin),
                                "bad field, or one that is cut");
}

static int reader_take_text(struct symbfile_reader *symbfile,
                            const struct protobuf_field *f,
                            struct symc_string *text)
{
    text->data = (const char *)f->bytes.at;
    text->size = f->value;
    return f->is_bytes && utf8_valid(f->bytes.at, text->size) == text->size
               ? 0
               : reader_damaged(symbfile, reader_offset(symbfile, f->bytes.at),
                                "a string is not UTF-8");
}

/* Appends to a column, packed or not. */
static int reader_take_numbers(struct symbfile_reader *symbfile,
                               const struct protobuf_field *f,
                               struct symbfile_numbers *to)
{
    uint64_t value = f->value;
    struct protobuf packed = f->bytes;

    while (!f->is_bytes || protobuf_number(&packed, &value)) {
        if (array_need(&to->list, &to->room, to->count + 1,
                       sizeof(*to->list)) != 0) {
            return reader_no_memory(symbfile);
        }
        to->list[to->count++] = (uint32_t)value;
        if (!f->is_bytes) {
            break;
        }
    }
    return packed.is_damaged
               ? reader_damaged(symbfile, reader_offset(symbfile, f->bytes.at),
                                "bad packed numbers")
               : 0;
}

static void reader_choose(struct reader_choice *c, int kind, uint64_t number)
{
    c->kind = kind;
    c->number = number;
}

static int reader_take_choice(struct symbfile_reader *symbfile,
                              const struct protobuf_field *f,
                              struct reader_choice *c)
{
    reader_choose(c, CHOICE_VALUE, 0);
    return reader_take_text(symbfile, f, &c->text);
}

/* Resolves an index into the current table. */
static int reader_find_string(struct symbfile_reader *symbfile,
                              uint64_t offset, uint64_t index,
                              struct symc_string *text)
{
    if ((uint32_t)index >= symbfile->num_strings) {
        return reader_damaged(symbfile, offset,
                              "an index beyond the table of strings");
    }
    *text = symbfile->strings[(uint32_t)index];
    return 0;
}

static int reader_text(struct symbfile_reader *symbfile, uint64_t offset,
                       const struct reader_choice *c, struct symc_string *text)
{
    if (c->kind == CHOICE_REF) {
        return reader_find_string(symbfile, offset, c->number, text);
    }
    *text = c->text;
    return 0;
}

/* Sets the address of a record, which the next one may be relative to. */
static int reader_take_address(struct symbfile_reader *symbfile,
                               const struct reader_choice *c,
                               struct symbfile_record *record)
{
    if (c->kind == CHOICE_NONE) {
        return reader_damaged(symbfile, record->offset, "no address");
    }
    if (c->kind == CHOICE_REF && !symbfile->has_address) {
        return reader_damaged(symbfile, record->offset,
                              "an address relative to none");
    }
    symbfile->address =
        c->kind == CHOICE_VALUE ? c->number : symbfile->address + c->number;
    symbfile->has_address = true;
    record->address = symbfile->address;
    return 0;
}

static uint64_t zigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

/* messages ---------------------------------------------------------------- */

static int reader_strings(struct symbfile_reader *symbfile,
                          struct protobuf message)
{
    int rc;
    struct protobuf_field f;

    symbfile->num_strings = 0;
    while ((rc = reader_next_field(symbfile, &message, &f)) > 0) {
        if (f.number != SYMBFILE_STRINGS_STRING) {
            continue;
        }
        if (array_need(&symbfile->strings, &symbfile->string_room,
                       symbfile->num_strings + 1,
                       sizeof(*symbfile->strings)) != 0) {
            return reader_no_memory(symbfile);
        }
        if (reader_take_text(symbfile, &f,
                             &symbfile->strings[symbfile->num_strings++]) !=
            0) {
            return -1;
        }
    }
    return rc;
}

/* Reads columns of offsets and lines; a second table goes on with the first. */
static int reader_columns(struct symbfile_reader *symbfile,
                          const struct protobuf_field *table)
{
    int rc;
    struct protobuf_field f;
    struct protobuf message = table->bytes;

    if (!table->is_bytes) {
        return reader_damaged(symbfile,
                              reader_offset(symbfile, table->bytes.at),
                              "a line table is none");
    }
    while ((rc = reader_next_field(symbfile, &message, &f)) > 0) {
        if (f.number != SYMBFILE_LINES_OFFSET &&
            f.number != SYMBFILE_LINES_LINE) {
            continue;
        }
        if (reader_take_numbers(symbfile, &f,
                                &symbfile->columns[f.number - 1]) != 0) {
            return -1;
        }
    }
    return rc;
}

static int reader_lines(struct symbfile_reader *symbfile,
                        struct symbfile_record *record)
{
    size_t i, n = symbfile->columns[0].count;
    uint64_t offset = 0;

    if (n != symbfile->columns[1].count) {
        return reader_damaged(symbfile, record->offset,
                              "columns of a line table that differ in length");
    }
    if (array_need(&symbfile->lines, &symbfile->line_room, n,
                   sizeof(*symbfile->lines)) != 0) {
        return reader_no_memory(symbfile);
    }
    for (i = 0; i < n; i++) {
        offset += symbfile->columns[0].list[i];
        symbfile->lines[i].offset = offset;
        symbfile->lines[i].line = symbfile->columns[1].list[i];
    }
    record->lines = symbfile->lines;
    record->num_lines = n;
    return 0;
}

struct range_choices {
    struct reader_choice address, func, file, call_file;
};

/* The meaning of a number field of a range. */
static void reader_range_number(const struct protobuf_field *f,
                                struct range_choices *c,
                                struct symbfile_record *record)
{
    switch (f->number) {
    case SYMBFILE_RANGE_DELTA:
        reader_choose(&c->address, CHOICE_REF, zigzag(f->value));
        break;
    case SYMBFILE_RANGE_ADDRESS:
        reader_choose(&c->address, CHOICE_VALUE, f->value);
        break;
    case SYMBFILE_RANGE_LENGTH:
        record->size = f->value;
        break;
    case SYMBFILE_RANGE_FUNC_REF:
        reader_choose(&c->func, CHOICE_REF, f->value);
        break;
    case SYMBFILE_RANGE_FILE_REF:
        reader_choose(&c->file, CHOICE_REF, f->value);
        break;
    case SYMBFILE_RANGE_CALL_FILE_REF:
        reader_choose(&c->call_file, CHOICE_REF, f->value);
        break;
    case SYMBFILE_RANGE_CALL_LINE:
        record->call_line = (uint32_t)f->value;
        break;
    case SYMBFILE_RANGE_DEPTH:
        record->depth = (uint32_t)f->value;
        break;
    default:
        break;
    }
}

static int reader_range_field(struct symbfile_reader *symbfile,
                              const struct protobuf_field *f,
                              struct range_choices *c,
                              struct symbfile_record *record)
{
    switch (f->number) {
    case SYMBFILE_RANGE_FUNC:
        return reader_take_choice(symbfile, f, &c->func);
    case SYMBFILE_RANGE_FILE:
        return reader_take_choice(symbfile, f, &c->file);
    case SYMBFILE_RANGE_CALL_FILE:
        return reader_take_choice(symbfile, f, &c->call_file);
    case SYMBFILE_RANGE_LINES:
        return reader_columns(symbfile, f);
    default:
        break;
    }
    if (f->is_bytes && f->number <= SYMBFILE_RANGE_ADDRESS) {
        return reader_damaged(symbfile, reader_offset(symbfile, f->bytes.at),
                              "a number is none");
    }
    reader_range_number(f, c, record);
    return 0;
}

static int reader_range(struct symbfile_reader *symbfile,
                        struct protobuf message,
                        struct symbfile_record *record)
{
    int rc;
    struct protobuf_field f;
    struct range_choices c;

    memset(&c, 0, sizeof(c));
    while ((rc = reader_next_field(symbfile, &message, &f)) > 0) {
        if (reader_range_field(symbfile, &f, &c, record) != 0) {
            return -1;
        }
    }
    if (rc < 0 || reader_take_address(symbfile, &c.address, record) != 0) {
        return -1;
    }
    if (c.func.kind == CHOICE_NONE) {
        return reader_damaged(symbfile, record->offset,
                              "a range without a function");
    }
    return reader_text(symbfile, record->offset, &c.func, &record->func) !=
                       0 ||
                   reader_text(symbfile, record->offset, &c.file,
                               &record->file) != 0 ||
                   reader_text(symbfile, record->offset, &c.call_file,
                               &record->call_file) != 0
               ? -1
               : reader_lines(symbfile, record);
}

static int reader_frames(struct symbfile_reader *symbfile,
                         struct symbfile_record *record)
{
    size_t i, n = symbfile->columns[0].count;
    struct symbfile_frame *frame;

    if (n != symbfile->columns[1].count || n != symbfile->columns[2].count) {
        return reader_damaged(symbfile, record->offset,
                              "columns of a return pad that differ in length");
    }
    if (array_need(&symbfile->frames, &symbfile->frame_room, n,
                   sizeof(*symbfile->frames)) != 0) {
        return reader_no_memory(symbfile);
    }
    for (i = 0; i < n; i++) {
        frame = &symbfile->frames[i];
        frame->line = symbfile->columns[2].list[i];
        if (reader_find_string(symbfile, record->offset,
                               symbfile->columns[0].list[i],
                               &frame->func) != 0 ||
            reader_find_string(symbfile, record->offset,
                               symbfile->columns[1].list[i],
                               &frame->file) != 0) {
            return -1;
        }
    }
    record->frames = symbfile->frames;
    record->num_frames = n;
    return 0;
}

static int reader_pad(struct symbfile_reader *symbfile,
                      struct protobuf message, struct symbfile_record *record)
{
    int rc;
    struct protobuf_field f;
    struct reader_choice address = {CHOICE_NONE, 0, {NULL, 0}};

    while ((rc = reader_next_field(symbfile, &message, &f)) > 0) {
        switch (f.number) {
        case SYMBFILE_PAD_FUNC:
        case SYMBFILE_PAD_FILE:
        case SYMBFILE_PAD_LINE:
            if (reader_take_numbers(symbfile, &f,
                                    &symbfile->columns[f.number - 2]) != 0) {
                return -1;
            }
            break;
        case SYMBFILE_PAD_DELTA:
        case SYMBFILE_PAD_ADDRESS:
            if (f.is_bytes) {
                return reader_damaged(symbfile,
                                      reader_offset(symbfile, f.bytes.at),
                                      "a number is none");
            }
            reader_choose(
                &address,
                f.number == SYMBFILE_PAD_DELTA ? CHOICE_REF : CHOICE_VALUE,
                f.number == SYMBFILE_PAD_DELTA ? zigzag(f.value) : f.value);
            break;
        default:
            break;
        }
    }
    record->is_pad = true;
    return rc < 0 || reader_take_address(symbfile, &address, record) != 0
               ? -1
               : reader_frames(symbfile, record);
}

/* the container ----------------------------------------------------------- */

/* Reads the prefixes of a record, whose message follows. */
static int reader_next_payload(struct symbfile_reader *symbfile,
                               uint64_t *type, struct protobuf *message)
{
    uint64_t length;
    const char *what = NULL;
    struct protobuf rest = protobuf_of(symbfile->data + symbfile->at,
                                       symbfile->size - symbfile->at);

    if (!protobuf_number(&rest, &length) || !protobuf_number(&rest, type)) {
        what = "the length or type of a record is cut, or no number";
    } else if (length > SYMBFILE_PAYLOAD_MAX) {
        what = "a record of more than 16 MiB";
    } else if (*type == SYMBFILE_TYPE_INVALID || *type > INT32_MAX) {
        what = "a record of an invalid type";
    } else if (!symbfile->has_header && *type != SYMBFILE_TYPE_HEADER) {
        what = "the first record is not a header";
    } else if (symbfile->has_header && *type == SYMBFILE_TYPE_HEADER) {
        what = "a second header";
    } else if (length > (uint64_t)(rest.end - rest.at)) {
        what = "a record is cut";
    }
    if (what != NULL) {
        return reader_damaged(symbfile, symbfile->at, what);
    }
    *message = protobuf_of(rest.at, (size_t)length);
    symbfile->at = (size_t)(message->end - symbfile->data);
    if (!symbfile->has_header) {
        symbfile->has_header = true;
        symbfile->records = symbfile->at;
    }
    return 0;
}

static int reader_begin_file(struct symbfile_reader *symbfile)
{
    if (!symbfile_sniff(symbfile->data + symbfile->at,
                        symbfile->size - symbfile->at)) {
        return reader_damaged(symbfile, symbfile->at,
                              "it does not begin with \"symbfile\"");
    }
    symbfile->file_at = symbfile->at;
    symbfile->at += SYMBFILE_MAGIC_SIZE;
    symbfile->has_header = symbfile->has_address = false;
    symbfile->num_strings = 0;
    return symbfile->at < symbfile->size
               ? 0
               : reader_damaged(symbfile, symbfile->at, "there is no header");
}

/* Between records, the magic would be a record of the unknown type 0x79. */
static bool reader_is_next_file(const struct symbfile_reader *symbfile)
{
    return symbfile->is_joined &&
           symbfile_sniff(symbfile->data + symbfile->at,
                          symbfile->size - symbfile->at);
}

int symbfile_reader_next(struct symbfile_reader *symbfile,
                         struct symbfile_record *record)
{
    size_t i;
    uint64_t type = 0;
    struct protobuf message;

    if (symbfile->error[0] != '\0' ||
        (symbfile->at == 0 && reader_begin_file(symbfile) != 0)) {
        return -1;
    }
    while (symbfile->at < symbfile->size) {
        if (reader_is_next_file(symbfile) && !symbfile->has_header) {
            return reader_damaged(symbfile, symbfile->at,
                                  "there is no header");
        }
        if (reader_is_next_file(symbfile)) {
            return reader_begin_file(symbfile) != 0 ? -1 : 2;
        }
        memset(record, 0, sizeof(*record));
        record->offset = symbfile->at;
        for (i = 0; i < 3; i++) {
            symbfile->columns[i].count = 0;
        }
        if (reader_next_payload(symbfile, &type, &message) != 0) {
            return -1;
        }
        if (type == SYMBFILE_TYPE_RANGE) {
            return reader_range(symbfile, message, record) == 0 ? 1 : -1;
        }
        if (type == SYMBFILE_TYPE_PAD) {
            return reader_pad(symbfile, message, record) == 0 ? 1 : -1;
        }
        if (type == SYMBFILE_TYPE_STRINGS &&
            reader_strings(symbfile, message) != 0) {
            return -1;
        }
    }
    return 0;
}
