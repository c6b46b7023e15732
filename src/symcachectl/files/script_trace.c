/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "reports/jstrace/jstrace.h"
#include "script_files.h"
#include "symbolication/js/js.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/output.h"

struct line {
    const char *data;
    size_t size;
    bool is_frame;
    bool is_found;
    struct jstrace_frame frame;
    struct jscache_token token; /* if it is found, and the next ones */
    struct jscache_file file;
    struct symc_string function;
};

struct trace_lines {
    struct line *list;
    size_t count;
    size_t room;
};

static void read_lines(struct trace_lines *lines, const char *text,
                       size_t size)
{
    const char *end = text + size, *next;
    struct line *line;

    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        if (symc_array_need(&lines->list, &lines->room, lines->count + 1,
                            sizeof(*lines->list)) != 0) {
            command_no_memory();
        }
        line = &lines->list[lines->count++];
        memset(line, 0, sizeof(*line));
        line->data = text;
        line->size = (size_t)(next - text);
        line->size -= line->size > 0 && text[line->size - 1] == '\r';
        line->is_frame = jstrace_read(text, line->size, &line->frame);
    }
}

/* Names a frame; caller is how the frame below calls it, or absent. */
static void name(struct line *line, struct symc_string caller)
{
    char *folded;
    struct symc_string own = {NULL, 0}, function;

    if (line->frame.function.size > 0) {
        own.data = line->frame.function.data;
        own.size = line->frame.function.size;
    }
    function = js_function(&line->token, own, caller);
    folded = malloc(3 * function.size + 16);
    if (folded == NULL) {
        command_no_memory();
    }
    line->function.data = folded;
    line->function.size = js_fold(function, folded, 3 * function.size + 16);
}

/* From the outermost frame on, as names of callers help. */
static size_t find_all(struct trace_lines *lines, struct script_files *files)
{
    size_t i, found = 0;
    const struct symc_string none = {NULL, 0};
    struct symc_string caller = none;
    const struct jscache_reader *reader;
    struct line *line;

    for (i = lines->count; i-- > 0; caller = line->token.name) {
        line = &lines->list[i];
        line->token.name = none;
        if (!line->is_frame) {
            continue;
        }
        reader = script_files_find(files, line->frame.url.data,
                                   line->frame.url.size);
        if (reader == NULL ||
            !jscache_reader_lookup(reader, line->frame.line - 1,
                                   line->frame.column - 1, true,
                                   &line->token) ||
            !jscache_reader_file(reader, line->token.file, &line->file)) {
            line->token.name = none;
            continue;
        }
        line->is_found = true;
        found++;
        name(line, caller);
    }
    return found;
}

/* The name of the original in the map, without what packers add. */
static struct symc_string file_name(const struct line *line)
{
    struct js_names names;
    const struct symc_string none = {NULL, 0};
    char *module = malloc(line->file.name.size + 1);

    if (module == NULL) {
        command_no_memory();
    }
    names = js_file_names(line->file.name, none, true, module);
    free(module);
    return names.filename;
}

static void print_place(struct output *output, const struct line *line)
{
    struct symc_string file = file_name(line);

    output_string(output, &file);
    output_text(output, ":");
    output_decimal(output, (uint64_t)line->token.line + 1);
    output_text(output, ":");
    output_decimal(output, (uint64_t)line->token.column + 1);
}

/* Prints a part of the text; tabs are no control characters there. */
static void print_part(struct output *output, const char *data, size_t size)
{
    struct symc_string part;
    const char *end = data + size, *tab;

    for (; data < end; data = tab + 1) {
        tab = memchr(data, '\t', (size_t)(end - data));
        part.data = data;
        part.size = (size_t)((tab != NULL ? tab : end) - data);
        output_string(output, &part);
        if (tab == NULL) {
            return;
        }
        output_text(output, "\t");
    }
}

static bool is_named(const struct line *line)
{
    static const char unknown[] = "<unknown>";

    return line->function.size != sizeof(unknown) - 1 ||
           memcmp(line->function.data, unknown, sizeof(unknown) - 1) != 0;
}

static void print_line(struct output *output, const struct line *line)
{
    const struct jstrace_frame *frame = &line->frame;

    if (!line->is_found) {
        print_part(output, line->data, line->size);
        output_text(output, "\n");
        return;
    }
    print_part(output, line->data, frame->begin);
    if (is_named(line)) {
        output_string(output, &line->function);
        output_text(output, frame->has_at ? " (" : "@");
    }
    print_place(output, line);
    output_text(output, frame->has_at && is_named(line) ? ")\n" : "\n");
}

/* A frame as an object of JSON, with the names of Symbolicator's members. */
static void print_json(struct output *output, const struct line *line)
{
    const struct jstrace_frame *frame = &line->frame;
    const struct symc_string url = {frame->url.data, frame->url.size};
    const struct symc_string own = {frame->function.data,
                                    frame->function.size};
    const struct symc_string *function =
        line->is_found ? &line->function : &own;
    struct symc_string file = url;

    output_text(output, "{\"symbolicated\": ");
    output_text(output, line->is_found ? "true" : "false");
    output_text(output, ", \"abs_path\": ");
    output_json(output, &url);
    output_text(output, ", \"function\": ");
    if (function->size > 0) {
        output_json(output, function);
    } else {
        output_text(output, "null");
    }
    if (line->is_found) {
        file = file_name(line);
    }
    output_text(output, ", \"filename\": ");
    output_json(output, &file);
    output_text(output, ", \"lineno\": ");
    output_decimal(output, line->is_found ? (uint64_t)line->token.line + 1
                                          : frame->line);
    output_text(output, ", \"colno\": ");
    output_decimal(output, line->is_found ? (uint64_t)line->token.column + 1
                                          : frame->column);
    if (line->is_found) {
        output_text(output, line->file.is_ignored ? ", \"in_app\": false"
                                                  : ", \"in_app\": true");
    }
    output_text(output, "}\n");
}

int script_trace_show(const char *maps, const char *text, size_t size,
                      bool is_json)
{
    static struct output output;
    static struct script_files files;
    struct trace_lines lines = {NULL, 0, 0};
    size_t i, found;

    files.maps = maps;
    read_lines(&lines, text, size);
    found = find_all(&lines, &files);
    output_init(&output, STDOUT_FILENO);
    for (i = 0; i < lines.count; i++) {
        if (!is_json) {
            print_line(&output, &lines.list[i]);
        } else if (lines.list[i].is_frame) {
            print_json(&output, &lines.list[i]);
        }
    }
    for (i = 0; i < lines.count; i++) {
        free((char *)(uintptr_t)lines.list[i].function.data);
    }
    free(lines.list);
    return output_finish(
        &output, found > 0 || maps == NULL ? COMMAND_OK : COMMAND_NOT_FOUND);
}
