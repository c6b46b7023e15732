/*
 * Copyright (C) the ngx_symcache authors
 *
 * Prints a stack trace of JavaScript, as text or JSON.
 */
#include "script_trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/output.h"
#include "symcachectl/terminal/printable.h"

/* Takes the next frame at a place in a module, inlined ones first.  Returns
 * false if there is none. */
static bool print_trace_symbol(struct script_line *script)
{
    static struct source_path path;
    static char room[DEMANGLE_ROOM];
    const struct symc_string *file;
    struct symc_frame frame;

    if (script->symbols.reader == NULL ||
        !symc_reader_next(&script->symbols, &frame)) {
        return false;
    }
    file = source_path(&path, script->symbols.reader, frame.location.file);
    if (file == NULL) {
        command_no_memory();
    }
    demangle(&frame.function.name, frame.function.language, room,
             &script->function);
    script->file = *file;
    script->line = frame.location.line;
    return true;
}

/* Prints a part of the text; tabs are no control characters there. */
static void print_trace_part(struct output *output, const char *data,
                             size_t size)
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

static void print_trace_place(struct output *output,
                              const struct script_line *script)
{
    const struct jstrace_text *given = &script->frame.place;

    if (script->file.size == 0) {
        print_trace_part(output, given->data, given->size);
        return;
    }
    output_string(output, &script->file);
    if (script->line > 0) {
        output_text(output, ":");
        output_decimal(output, script->line);
    }
    if (script->column > 0) {
        output_text(output, ":");
        output_decimal(output, script->column);
    }
}

static bool print_trace_has_name(const struct script_line *script)
{
    static const char unknown[] = "<unknown>";

    return script->function.size != sizeof(unknown) - 1 ||
           memcmp(script->function.data, unknown, sizeof(unknown) - 1) != 0;
}

static void print_script_line(struct output *output,
                              const struct script_line *script)
{
    const struct jstrace_frame *frame = &script->frame;

    if (!script->is_found) {
        print_trace_part(output, script->data, script->size);
        output_text(output, "\n");
        return;
    }
    print_trace_part(output, script->data, frame->begin);
    if (print_trace_has_name(script)) {
        output_string(output, &script->function);
        output_text(output, frame->has_at ? " (" : "@");
    } else if (script->data[frame->begin] == '@') {
        output_text(output, "@");
    }
    print_trace_place(output, script);
    output_text(output,
                frame->has_at && print_trace_has_name(script) ? ")" : "");
    print_trace_part(output, script->data + frame->end,
                     script->size - frame->end);
    output_text(output, "\n");
}

static void print_trace_why_json(struct output *output, const cJSON *why)
{
    char *text = cjson_print(why);

    output_text(output, ", \"why\": ");
    output_text(output, text);
    cJSON_free(text);
}

/* A frame as an object of JSON, with the names of Symbolicator's members. */
static void print_script_frame_json(struct output *output,
                                    const struct script_line *script)
{
    const struct jstrace_frame *frame = &script->frame;
    const struct symc_string url = {frame->url.data, frame->url.size};
    const struct symc_string own = {frame->function.data,
                                    frame->function.size};
    const struct symc_string *function =
        script->is_found ? &script->function : &own;
    bool has_file = script->is_found && script->file.size > 0;
    const struct symc_string *file = has_file ? &script->file : &url;

    output_text(output, "{\"symbolicated\": ");
    output_text(output, script->is_found ? "true" : "false");
    output_text(output, ", \"abs_path\": ");
    output_json(output, &url);
    output_text(output, ", \"function\": ");
    if (function->size > 0) {
        output_json(output, function);
    } else {
        output_text(output, "null");
    }
    output_text(output, ", \"filename\": ");
    output_json(output, file);
    output_text(output, ", \"lineno\": ");
    output_decimal(output, has_file ? script->line : frame->line);
    output_text(output, ", \"colno\": ");
    if (has_file && script->column == 0) {
        output_text(output, "null");
    } else {
        output_decimal(output, has_file ? script->column : frame->column);
    }
    if (script->is_found) {
        output_text(output, script->is_ignored ? ", \"in_app\": false"
                                               : ", \"in_app\": true");
    }
    if (script->why != NULL) {
        print_trace_why_json(output, script->why);
    }
    output_text(output, "}\n");
}

/* The attempts for a file of a frame: questions and answers.  The list of a
 * release has a hash as its key. */
static void print_trace_why_file(const cJSON *file, const char *release)
{
    const cJSON *asked, *attempt, *attempts;

    fprintf(stderr, "    %s: %s\n", printable_field(file, "type"),
            printable_field(file, "answer"));
    cJSON_ArrayForEach(asked, cJSON_GetObjectItemCaseSensitive(file, "asked"))
    {
        fprintf(stderr, "        %s %s", printable_field(asked, "what"),
                printable_field(asked, "key"));
        if (strncmp(printable_field(asked, "key"), "release-", 8) == 0) {
            fputs(" (", stderr);
            printable_put(stderr, release);
            fputs(")", stderr);
        }
        if (cJSON_GetObjectItemCaseSensitive(asked, "bundle") != NULL) {
            fputs(" in ", stderr);
            printable_put_field(stderr, asked, "bundle");
        }
        fprintf(stderr, ": %s\n", printable_field(asked, "answer"));
        attempts = cJSON_GetObjectItemCaseSensitive(asked, "attempts");
        cJSON_ArrayForEach(attempt, attempts)
        {
            fprintf(stderr, "            %s: %s\n",
                    printable_field(attempt, "source"),
                    printable_field(attempt, "detail"));
        }
    }
}

static void print_trace_why(const struct script_line *script,
                            const char *release)
{
    const cJSON *file;

    fprintf(stderr, "%.*s:%llu:%llu\n", (int)script->frame.url.size,
            script->frame.url.data, (unsigned long long)script->frame.line,
            (unsigned long long)script->frame.column);
    cJSON_ArrayForEach(file, script->why)
    {
        print_trace_why_file(file, release);
    }
}

/* Prints a line, or the several of functions that are inlined there. */
static void
print_trace_lines(struct output *output, struct script_line *script,
                  void (*print)(struct output *, const struct script_line *))
{
    print_trace_symbol(script);
    do {
        print(output, script);
    } while (print_trace_symbol(script));
}

/* Prints all lines, and why nothing was found if so. */
int script_print_trace(struct script_trace *trace, bool is_json,
                       int code_of_nothing, const char *why)
{
    static struct output output;
    size_t i, found = 0, maps = 0, bare = 0;

    output_init(&output, STDOUT_FILENO);
    for (i = 0; i < trace->count; i++) {
        found += trace->lines[i].is_found;
        maps += trace->lines[i].has_map;
        bare += trace->lines[i].is_bare;
        if (!is_json) {
            print_trace_lines(&output, &trace->lines[i], print_script_line);
        } else if (trace->lines[i].is_frame) {
            print_trace_lines(&output, &trace->lines[i],
                              print_script_frame_json);
        }
        if (!is_json && trace->lines[i].why != NULL) {
            print_trace_why(&trace->lines[i], trace->release);
        }
    }
    if (found == 0) {
        fputs("symcachectl: no frame was found: ", stderr);
        printable_put(
            stderr, maps == 0 ? why
                    : maps == bare
                        ? "the module has no source map, no lines and no "
                          "names: it is stripped"
                        : "the source maps have nothing at these places: are "
                          "scripts and trace of one build?");
        fputc('\n', stderr);
    }
    return output_finish(&output, found > 0 ? COMMAND_OK : code_of_nothing);
}
