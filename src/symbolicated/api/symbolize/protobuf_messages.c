/*
 * Copyright (C) the ngx_symcache authors
 *
 * Questions and answers as messages of Protocol Buffers, which
 * docs/symbolize.md defines.
 */
#include <pb_decode.h>
#include <pb_encode.h>
#include <string.h>

#include "base/protobuf.h"
#include "symbolize.h"

/* The longest varint. */
#define VARINT_MAX 10

/* reading ----------------------------------------------------------------- */

static const char protobuf_damaged[] = "the body is not a SymbolizeRequest";

/* Reads a tag, which is 0 at the end of the stream. */
static bool message_read_tag(pb_istream_t *s, uint32_t *field,
                             pb_wire_type_t *type)
{
    bool is_end;

    *field = 0;
    return s->bytes_left == 0 || pb_decode_tag(s, type, field, &is_end);
}

/* Finds the next question: its bytes, which are all there then. */
static bool find_message(struct input *in, size_t *size)
{
    pb_istream_t s;
    pb_wire_type_t type;
    uint64_t length;
    uint32_t field;

    for (;;) {
        s = pb_istream_from_buffer(/* packed bodies have no data at first */
                                   in->size > 0
                                       ? (const pb_byte_t *)in->data + in->at
                                       : NULL,
                                   in->size - in->at);
        if (s.bytes_left > 0 && message_read_tag(&s, &field, &type) &&
            pb_decode_varint(&s, &length)) {
            if (field != 1 || type != PB_WT_STRING) {
                in->error = protobuf_damaged;
                return false;
            }
            if (length > SYMBOLIZE_QUESTION_MAX) {
                in->error = "a message may have 512 KiB";
                return false;
            }
            if (length <= s.bytes_left) {
                in->at = in->size - s.bytes_left;
                *size = (size_t)length;
                return true;
            }
        } else if (in->size - in->at >= 2 * VARINT_MAX) {
            in->error = protobuf_damaged;
            return false;
        }
        if (!input_more(in)) {
            in->error = in->error == NULL && in->size > in->at
                            ? protobuf_damaged
                            : in->error;
            return false;
        }
    }
}

/* Texts as in lines.  Returns false without memory. */
static bool message_write_file(struct symbolize_call *call,
                               const struct protobuf *bytes,
                               struct symbolize_question *question,
                               bool is_file_id)
{
    static const char digits[] = "0123456789abcdef";
    size_t size = (size_t)(bytes->end - bytes->at);
    const uint8_t *byte;
    char *p;

    if (array_need(&call->texts, &call->texts_room,
                   call->texts_size + 2 * size + 5, 1) != 0) {
        return false;
    }
    question->file = (uint32_t)call->texts_size;
    p = call->texts + call->texts_size;
    if (is_file_id) {
        memcpy(p, "hash-", 5);
        p += 5;
    }
    for (byte = bytes->at; byte < bytes->end; byte++) {
        *p++ = digits[*byte >> 4];
        *p++ = digits[*byte & 15];
    }
    question->file_size = (uint32_t)(p - call->texts) - question->file;
    call->texts_size += question->file_size;
    return true;
}

/* Most of a request is here, and pb_decode_varint() calls a function for each
 * byte. */
static const char *message_read_packed(const struct protobuf *packed,
                                       struct symbolize_question *question,
                                       uint64_t *addresses)
{
    const uint8_t *p = packed->at, *end = packed->end;
    uint64_t value;
    unsigned shift;

    while (p < end) {
        value = 0;
        for (shift = 0; p<end && * p> 127 && shift < 63; shift += 7) {
            value |= (uint64_t)(*p++ & 127) << shift;
        }
        if (p == end || *p > (shift == 63 ? 1 : 127)) {
            return protobuf_damaged;
        }
        addresses[question->count++] = value | (uint64_t)*p++ << shift;
    }
    return NULL;
}

static const char *message_read_addresses(struct symbolize_call *call,
                                          const struct protobuf_field *f,
                                          struct symbolize_question *question)
{
    size_t most = f->is_bytes ? (size_t)f->value : 1;
    uint64_t *addresses =
        symbolize_need_addresses(call, question->count + most);

    if (addresses == NULL) {
        call->input.error = "out of memory";
        return call->input.error;
    }
    if (f->is_bytes) {
        return message_read_packed(&f->bytes, question, addresses);
    }
    addresses[question->count++] = f->value;
    return NULL;
}

static const char *message_read_question(struct symbolize_call *call,
                                         struct protobuf message,
                                         struct symbolize_question *question)
{
    const char *wrong = NULL;
    struct protobuf_field f;

    while (wrong == NULL && protobuf_next(&message, &f)) {
        if (f.number == 3) {
            wrong = message_read_addresses(call, &f, question);
        } else if ((f.number == 1 || f.number == 2) && f.is_bytes &&
                   !message_write_file(call, &f.bytes, question,
                                       f.number == 1)) {
            wrong = call->input.error = "out of memory";
        }
    }
    if (wrong != NULL || message.is_damaged) {
        return wrong != NULL ? wrong : protobuf_damaged;
    }
    return question->count > SYMBOLIZE_ADDRESSES_MAX
               ? "a message may have 16384 addresses"
               : NULL;
}

bool symbolize_read_message(struct symbolize_call *call)
{
    struct symbolize_question *question = &call->questions[call->nquestions];
    struct input *in = &call->input;
    size_t size;

    if (!find_message(in, &size)) {
        return false;
    }
    question->error = message_read_question(
        call, protobuf_of(in->data + in->at, size), question);
    in->at += size;
    return in->error == NULL;
}

/* writing ----------------------------------------------------------------- */

/* A message is written first, and what stands before it is moved there. */
static void begin_message(struct json_writer *message, size_t *at)
{
    *at = message->size;
}

static void message_put_number(struct json_writer *message, uint64_t number)
{
    pb_byte_t *p = (pb_byte_t *)json_write_need(message, VARINT_MAX);
    pb_ostream_t s;

    if (p != NULL) {
        s = pb_ostream_from_buffer(p, VARINT_MAX);
        pb_encode_varint(&s, number);
        message->size += s.bytes_written;
    }
}

static void message_put_tag(struct json_writer *message, uint32_t field,
                            pb_wire_type_t type)
{
    message_put_number(message, field << 3 | (uint32_t)type);
}

/* What was written since is a field. */
static void end_message(struct json_writer *message, size_t at, uint32_t field)
{
    pb_byte_t head[2 * VARINT_MAX];
    pb_ostream_t s = pb_ostream_from_buffer(head, sizeof(head));
    size_t size = message->size - at;

    if (json_write_need(message, sizeof(head)) == NULL ||
        !pb_encode_tag(&s, PB_WT_STRING, field) ||
        !pb_encode_varint(&s, size)) {
        message->has_failed = true;
        return;
    }
    memmove(message->data + at + s.bytes_written, message->data + at, size);
    memcpy(message->data + at, head, s.bytes_written);
    message->size += s.bytes_written;
}

static void message_put_field(struct json_writer *message, uint32_t field,
                              uint64_t number)
{
    if (number != 0) {
        message_put_tag(message, field, PB_WT_VARINT);
        message_put_number(message, number);
    }
}

static void message_put_text(struct json_writer *message, uint32_t field,
                             const char *data, size_t size)
{
    message_put_tag(message, field, PB_WT_STRING);
    message_put_number(message, size);
    symbolize_put(message, data, size);
}

static void message_write_strings(struct json_writer *message,
                                  const struct name_table *names)
{
    struct symc_string string;
    size_t i, part, at;

    begin_message(message, &part);
    begin_message(message, &at);
    message_put_field(message, 1, names->told);
    for (i = names->told; i < names->count; i++) {
        string = name_table_at(names, i);
        message_put_text(message, 2, string.data, string.size);
    }
    end_message(message, at, 1);
    end_message(message, part, 1);
}

/* Most of an answer is written here. */
static char *message_put_small(char *p, uint32_t number)
{
    for (; number > 127; number >>= 7) {
        *p++ = (char)((number & 127) | 128);
    }
    *p++ = (char)number;
    return p;
}

static void message_write_places(struct json_writer *message,
                                 const struct symbolize_call *call,
                                 size_t count)
{
    const struct resolved *place;
    const uint32_t *number, *last;
    size_t i, at;
    char *p;

    begin_message(message, &at);
    p = json_write_need(message, VARINT_MAX * count);
    for (i = 0; p != NULL && i < count; i++) {
        p = message_put_small(p, call->resolver.places[i].count);
        message->size = (size_t)(p - message->data);
    }
    end_message(message, at, 5);
    begin_message(message, &at);
    for (i = 0; i < count; i++) {
        place = &call->resolver.places[i];
        if (place->count == 0) {
            continue;
        }
        p = json_write_need(message, 3 * VARINT_MAX * (size_t)place->count);
        if (p == NULL) {
            return;
        }
        number = call->resolver.frames + place->first;
        for (last = number + 3 * place->count; number < last; number++) {
            p = message_put_small(p, *number);
        }
        message->size = (size_t)(p - message->data);
    }
    end_message(message, at, 6);
}

static void message_write_answer(struct json_writer *message,
                                 struct symbolize_call *call,
                                 const struct symbolize_question *question)
{
    unsigned retry_after;
    enum symbolize_state state = symbolize_state(call, question, &retry_after);
    size_t part, at;

    begin_message(message, &part);
    begin_message(message, &at);
    message_put_field(message, 1, call->counts.questions);
    message_put_field(message, 2, (uint64_t)state);
    message_put_field(message, 3, retry_after);
    if (state == SYMBOLIZE_REFUSED) {
        message_put_text(message, 4, question->error, strlen(question->error));
    } else if (state == SYMBOLIZE_FOUND) {
        message_write_places(message, call, question->count);
    }
    end_message(message, at, 2);
    end_message(message, part, 1);
}

static void message_write_end(struct json_writer *message,
                              const struct symbolize_call *call)
{
    const struct symbolize_counts *counts = &call->counts;
    size_t part, at;

    begin_message(message, &part);
    begin_message(message, &at);
    message_put_field(message, 1, counts->questions);
    message_put_field(message, 2, counts->pairs);
    message_put_field(message, 3, counts->found);
    message_put_field(message, 4, counts->missing);
    message_put_field(message, 5, counts->refused);
    if (call->error != NULL) {
        message_put_text(message, 6, call->error, strlen(call->error));
    }
    end_message(message, at, 3);
    end_message(message, part, 1);
}

const struct symbolize_writer symbolize_messages = {
    "application/x-protobuf", message_write_strings, message_write_answer,
    message_write_end};
