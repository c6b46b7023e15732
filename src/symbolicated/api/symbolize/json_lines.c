/*
 * Copyright (C) the ngx_symcache authors
 *
 * Questions and answers as lines of JSON.
 */
#include <string.h>
#include "symbolize.h"

/* reading ----------------------------------------------------------------- */

/* Returns NULL, or what is wrong. */
static const char *read_line_addresses(struct symbolize_call *call,
                                       uint32_t list,
                                       struct symbolize_question *question)
{
    const struct json *json = call->json;
    uint32_t i, n = json->values[list].size;
    uint64_t *addresses;

    if (json->values[list].type != JSON_ARRAY) {
        return "\"addrs\" must be a list of numbers";
    }
    if (n > SYMBOLIZE_ADDRESSES_MAX) {
        return "a line may have 16384 addresses";
    }
    addresses = symbolize_need_addresses(call, n);
    if (addresses == NULL) {
        call->input.error = "out of memory";
        return call->input.error;
    }
    for (i = 0; i < n; i++) {
        if (json_integer(json, list + 1 + i, &addresses[i]) !=
            JSON_INTEGER_POSITIVE) {
            return "\"addrs\" must be a list of numbers";
        }
    }
    question->count = n;
    return NULL;
}

static const char *read_line_question(struct symbolize_call *call, char *line,
                                      size_t size,
                                      struct symbolize_question *question)
{
    struct json *json = call->json;
    struct json_error error = {0};
    uint32_t file, addresses;

    if (json_read(json, line, size, SYMBOLIZE_ADDRESSES_MAX + 64, &error) !=
        size) {
        if (error.out_of_memory) {
            call->input.error = error.reason;
            return call->input.error;
        }
        return "the line is not JSON, or has more than 16384 addresses";
    }
    file = json_member(json, 0, "file");
    addresses = json_member(json, 0, "addrs");
    if (file == 0 || json->values[file].type != JSON_STRING) {
        return "\"file\" must be a file id or a build id";
    }
    if (addresses == 0) {
        return "\"addrs\" must be a list of numbers";
    }
    question->file_size = json->values[file].size;
    if (array_need(&call->texts, &call->texts_room,
                   call->texts_size + question->file_size + 1, 1) != 0) {
        call->input.error = "out of memory";
        return call->input.error;
    }
    question->file = (uint32_t)call->texts_size;
    memcpy(call->texts + question->file, json_text(json, file),
           question->file_size);
    call->texts_size += question->file_size;
    return read_line_addresses(call, addresses, question);
}

/* Finds the next line that is not empty; its end may be that of the body. */
static bool find_line(struct input *in, size_t *size)
{
    const char *end;
    size_t seen = 0;

    for (;;) {
        while (in->at < in->size &&
               (in->data[in->at] == '\n' || in->data[in->at] == '\r')) {
            in->at++;
            seen = 0;
        }
        *size = in->size - in->at;
        end = *size > seen
                  ? memchr(in->data + in->at + seen, '\n', *size - seen)
                  : NULL;
        if (end != NULL) {
            *size = (size_t)(end - in->data) - in->at;
        }
        if (*size > SYMBOLIZE_QUESTION_MAX) {
            in->error = "a line may have 512 KiB";
            return false;
        }
        if (end != NULL) {
            return true;
        }
        seen = *size;
        if (!input_more(in)) {
            return in->error == NULL && *size > 0;
        }
    }
}

bool symbolize_read_line(struct symbolize_call *call)
{
    struct symbolize_question *question = &call->questions[call->nquestions];
    struct input *in = &call->input;
    size_t size;

    if (!find_line(in, &size)) {
        return false;
    }
    question->error =
        read_line_question(call, in->data + in->at, size, question);
    in->at += size;
    return in->error == NULL;
}

/* writing ----------------------------------------------------------------- */

static void json_begin_line(struct json_writer *lines)
{
    lines->has_member = false;
    json_write_open(lines, '{');
}

static void json_end_line(struct json_writer *lines)
{
    json_write_close(lines, '}');
    symbolize_put(lines, "\n", 1);
}

static void write_line_strings(struct json_writer *lines,
                               const struct name_table *names)
{
    struct symc_string string;
    size_t i;

    json_begin_line(lines);
    json_put_open(lines, "strings", '[');
    for (i = names->told; i < names->count; i++) {
        string = name_table_at(names, i);
        json_write_string(lines, string.data, string.size);
    }
    json_write_close(lines, ']');
    json_put_number(lines, "first", names->told);
    json_end_line(lines);
}

static char *print_line_number(char *p, uint32_t number)
{
    char digits[10];
    size_t n = sizeof(digits);

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(p, digits + n, sizeof(digits) - n);
    return p + sizeof(digits) - n;
}

/* A list of numbers for each address. */
static void write_line_places(struct json_writer *lines,
                              const struct symbolize_call *call, size_t count)
{
    const struct resolved *place;
    const uint32_t *number, *end;
    size_t i;
    char *p;

    symbolize_put(lines, "[", 1);
    for (i = 0; i < count; i++) {
        place = &call->resolver.places[i];
        p = json_write_need(lines, 3 + 33 * (size_t)place->count);
        if (p == NULL) {
            return;
        }
        if (i > 0) {
            *p++ = ',';
        }
        *p++ = '[';
        if (place->count > 0) {
            number = call->resolver.frames + place->first;
            for (end = number + 3 * place->count; number < end; number++) {
                p = print_line_number(p, *number);
                *p++ = ',';
            }
        }
        p -= place->count > 0;
        *p++ = ']';
        lines->size = (size_t)(p - lines->data);
    }
    symbolize_put(lines, "]", 1);
    lines->has_member = true;
}

static void write_line_answer(struct json_writer *lines,
                              struct symbolize_call *call,
                              const struct symbolize_question *question)
{
    static const char *const states[] = {[SYMBOLIZE_MISSING] = "missing",
                                         [SYMBOLIZE_MALFORMED] = "malformed",
                                         [SYMBOLIZE_FAILED] = "failed",
                                         [SYMBOLIZE_REFUSED] = "refused"};
    unsigned retry_after;
    enum symbolize_state state = symbolize_state(call, question, &retry_after);

    json_begin_line(lines);
    json_put_string(lines, "file",
                    question->file_size > 0 ? call->texts + question->file
                                            : "",
                    question->file_size);
    if (state == SYMBOLIZE_FOUND) {
        json_write_key(lines, "frames");
        write_line_places(lines, call, question->count);
    } else {
        json_put_text(lines, "state", states[state]);
    }
    if (state == SYMBOLIZE_REFUSED) {
        json_put_text(lines, "error", question->error);
    }
    if (retry_after > 0) {
        json_put_number(lines, "retry_after", retry_after);
    }
    json_end_line(lines);
}

static void write_line_end(struct json_writer *lines,
                           const struct symbolize_call *call)
{
    const struct symbolize_counts *counts = &call->counts;

    json_begin_line(lines);
    json_put_open(lines, "counts", '{');
    json_put_number(lines, "lines", counts->questions);
    json_put_number(lines, "pairs", counts->pairs);
    json_put_number(lines, "found", counts->found);
    json_put_number(lines, "missing", counts->missing);
    json_put_number(lines, "refused", counts->refused);
    json_write_close(lines, '}');
    json_put_known(lines, "error", call->error);
    json_end_line(lines);
}

const struct symbolize_writer symbolize_lines = {
    "application/x-ndjson", write_line_strings, write_line_answer,
    write_line_end};
