/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a stack trace of JavaScript: its lines get the
 * functions, files and lines of the originals, from source maps on this
 * machine.
 */
#include "symbolicate.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "input.h"
#include "reports/jstrace/jstrace.h"
#include "script_files.h"
#include "script_ids.h"
#include "symbolication/js/js.h"
#include "symbolication/symbolication.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/json_request.h"
#include "symcachectl/terminal/output.h"
#include "symcachectl/terminal/printable.h"

struct trace_line {
    const char *data;
    size_t size;
    bool is_frame;
    struct jstrace_frame frame;
    bool has_map;  /* its script has a source map, which was read */
    bool is_bare;  /* has_map, but it is a module without lines and names */
    bool is_found; /* then the next ones are what it comes from */
    bool is_ignored;
    struct symc_frames symbols; /* of a module: the next ones are made of it */
    struct symc_string function;
    struct symc_string file;
    uint64_t line;   /* 0: it is unknown, as the column of a module is */
    uint64_t column;
    const cJSON *why; /* of a server; or NULL */
};

struct script_lines {
    struct trace_line *list;
    size_t count;
    size_t room;
    struct arena names;
    char release[600]; /* and dist that a server is asked for, in words */
};

static void trace_read_lines(struct script_lines *lines, const char *text,
                             size_t size)
{
    const char *end = text + size, *next;
    struct trace_line *line;

    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        if (array_need(&lines->list, &lines->room, lines->count + 1,
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

/* Bundlers have "#x" in a map as the name of a private member, of which the
 * scope has "#" already.  Symbolicator calls it "##x", and so do servers. */
static size_t drop_second_hash(char *name, size_t size)
{
    char *hashes = memmem(name, size, "##", 2);

    if (hashes == NULL) {
        return size;
    }
    memmove(hashes, hashes + 1, (size_t)(name + size - hashes) - 1);
    return size - 1;
}

/* The name of a frame, in the arena; caller is how the frame below calls it, or
 * absent. */
static struct symc_string trace_name_frame(struct arena *arena,
                                           const struct jstrace_frame *frame,
                                           const struct jscache_token *token,
                                           struct symc_string caller)
{
    char *folded;
    struct symc_string own = {NULL, 0}, function;

    if (frame->function.size > 0) {
        own.data = frame->function.data;
        own.size = frame->function.size;
    }
    function = js_frame_function(token, own, caller);
    folded = arena_take(arena, 3 * function.size + 16);
    if (folded == NULL) {
        command_no_memory();
    }
    function.size = js_fold(function, folded, 3 * function.size + 16);
    function.size = drop_second_hash(folded, function.size);
    function.data = folded;
    return function;
}

/* The name of the original in the map, without what packers add. */
static struct symc_string file_name(const struct jscache_file *file)
{
    struct js_names names;
    const struct symc_string none = {NULL, 0};
    char *module = malloc(file->name.size + 1);

    if (module == NULL) {
        command_no_memory();
    }
    names = js_file_names(file->name, none, true, module);
    free(module);
    return names.filename;
}

/* Finds what a frame of a script comes from.  Returns the name of its token. */
static struct symc_string trace_find_in_map(const struct jscache_reader *map,
                                            struct arena *names,
                                            struct trace_line *line,
                                            struct symc_string caller)
{
    const struct jstrace_frame *frame = &line->frame;
    const struct symc_string none = {NULL, 0};
    struct jscache_token token;
    struct jscache_file file;

    if (!jscache_reader_lookup(map, frame->line - 1, frame->column - 1, true,
                               &token) ||
        !jscache_reader_file(map, token.file, &file)) {
        return none;
    }
    line->is_found = true;
    line->is_ignored = file.is_ignored;
    line->function = trace_name_frame(names, frame, &token, caller);
    line->file = file_name(&file);
    line->line = (uint64_t)token.line + 1;
    line->column = (uint64_t)token.column + 1;
    return token.name;
}

/* Finds what a frame comes from.  Returns how it calls the next one. */
static struct symc_string trace_find_frame(struct script_files *files,
                                           struct arena *names,
                                           struct trace_line *line,
                                           struct symc_string caller)
{
    const struct symc_string none = {NULL, 0};
    const struct script_file *file;
    struct symc_frames symbols;
    struct symc_frame first;

    file = line->is_frame ? script_files_find(files, &line->frame) : NULL;
    line->has_map = file != NULL;
    if (file == NULL) {
        return none;
    }
    if (file->kind == SCRIPT_MAP) {
        return trace_find_in_map(&file->map, names, line, caller);
    }
    line->is_bare = file->module.num_functions == 0;
    symc_reader_lookup(&file->module, line->frame.column - 1 + file->shift,
                       &line->symbols);
    symbols = line->symbols;
    line->is_found = symc_reader_next(&symbols, &first);
    return none;
}

/* Takes the next frame at a place in a module, inlined ones first.  Returns
 * false if there is none. */
static bool trace_take_symbol(struct trace_line *line)
{
    static struct source_path path;
    static char room[DEMANGLE_ROOM];
    const struct symc_string *file;
    struct symc_frame frame;

    if (line->symbols.reader == NULL ||
        !symc_reader_next(&line->symbols, &frame)) {
        return false;
    }
    file = source_path(&path, line->symbols.reader, frame.location.file);
    if (file == NULL) {
        command_no_memory();
    }
    demangle(&frame.function.name, frame.function.language, room,
             &line->function);
    line->file = *file;
    line->line = frame.location.line;
    return true;
}

/* From the outermost frame on, as names of callers help. */
static void trace_find_all(struct script_lines *lines, const char *maps)
{
    size_t i;
    struct symc_string caller = {NULL, 0};
    static struct script_files files;

    files.maps = maps;
    for (i = 0; i < lines->count; i++) {
        if (lines->list[i].is_frame) {
            script_files_note(&files, &lines->list[i].frame);
        }
    }
    for (i = lines->count; i-- > 0;) {
        caller =
            trace_find_frame(&files, &lines->names, &lines->list[i], caller);
    }
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
                              const struct trace_line *line)
{
    const struct jstrace_text *given = &line->frame.place;

    if (line->file.size == 0) {
        print_trace_part(output, given->data, given->size);
        return;
    }
    output_string(output, &line->file);
    if (line->line > 0) {
        output_text(output, ":");
        output_decimal(output, line->line);
    }
    if (line->column > 0) {
        output_text(output, ":");
        output_decimal(output, line->column);
    }
}

static bool is_named(const struct trace_line *line)
{
    static const char unknown[] = "<unknown>";

    return line->function.size != sizeof(unknown) - 1 ||
           memcmp(line->function.data, unknown, sizeof(unknown) - 1) != 0;
}

static void print_script_line(struct output *output,
                              const struct trace_line *line)
{
    const struct jstrace_frame *frame = &line->frame;

    if (!line->is_found) {
        print_trace_part(output, line->data, line->size);
        output_text(output, "\n");
        return;
    }
    print_trace_part(output, line->data, frame->begin);
    if (is_named(line)) {
        output_string(output, &line->function);
        output_text(output, frame->has_at ? " (" : "@");
    } else if (line->data[frame->begin] == '@') {
        output_text(output, "@");
    }
    print_trace_place(output, line);
    output_text(output, frame->has_at && is_named(line) ? ")" : "");
    print_trace_part(output, line->data + frame->end, line->size - frame->end);
    output_text(output, "\n");
}

static void print_why_json(struct output *output, const cJSON *why)
{
    char *text = cjson_print(why);

    output_text(output, ", \"why\": ");
    output_text(output, text);
    cJSON_free(text);
}

/* A frame as an object of JSON, with the names of Symbolicator's members. */
static void print_script_frame_json(struct output *output,
                                    const struct trace_line *line)
{
    const struct jstrace_frame *frame = &line->frame;
    const struct symc_string url = {frame->url.data, frame->url.size};
    const struct symc_string own = {frame->function.data,
                                    frame->function.size};
    const struct symc_string *function =
        line->is_found ? &line->function : &own;
    bool has_file = line->is_found && line->file.size > 0;
    const struct symc_string *file = has_file ? &line->file : &url;

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
    output_text(output, ", \"filename\": ");
    output_json(output, file);
    output_text(output, ", \"lineno\": ");
    output_decimal(output, has_file ? line->line : frame->line);
    output_text(output, ", \"colno\": ");
    if (has_file && line->column == 0) {
        output_text(output, "null");
    } else {
        output_decimal(output, has_file ? line->column : frame->column);
    }
    if (line->is_found) {
        output_text(output, line->is_ignored ? ", \"in_app\": false"
                                             : ", \"in_app\": true");
    }
    if (line->why != NULL) {
        print_why_json(output, line->why);
    }
    output_text(output, "}\n");
}

/* The attempts for a file of a frame: questions and answers.  The list of a
 * release has a hash as its key. */
static void print_why_file(const cJSON *file, const char *release)
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

static void print_trace_why(const struct trace_line *line, const char *release)
{
    const cJSON *file;

    fprintf(stderr, "%.*s:%llu:%llu\n", (int)line->frame.url.size,
            line->frame.url.data, (unsigned long long)line->frame.line,
            (unsigned long long)line->frame.column);
    cJSON_ArrayForEach(file, line->why)
    {
        print_why_file(file, release);
    }
}

/* Prints a line, or the several of functions that are inlined there. */
static void print_trace_lines(struct output *output, struct trace_line *line,
                              void (*print)(struct output *,
                                            const struct trace_line *))
{
    trace_take_symbol(line);
    do {
        print(output, line);
    } while (trace_take_symbol(line));
}

/* Prints all lines, and why nothing was found if so. */
static int print_trace(struct script_lines *lines, bool is_json,
                       int code_of_nothing, const char *why)
{
    static struct output output;
    size_t i, found = 0, maps = 0, bare = 0;

    output_init(&output, STDOUT_FILENO);
    for (i = 0; i < lines->count; i++) {
        found += lines->list[i].is_found;
        maps += lines->list[i].has_map;
        bare += lines->list[i].is_bare;
        if (!is_json) {
            print_trace_lines(&output, &lines->list[i], print_script_line);
        } else if (lines->list[i].is_frame) {
            print_trace_lines(&output, &lines->list[i],
                              print_script_frame_json);
        }
        if (!is_json && lines->list[i].why != NULL) {
            print_trace_why(&lines->list[i], lines->release);
        }
    }
    if (found == 0) {
        fputs("symcachectl: no frame was found: ", stderr);
        printable_put(stderr,
                      maps == 0 ? why
                      : maps == bare
                          ? "the module has no source map, no lines and no "
                            "names: it is stripped"
                          : "the source maps have nothing at these places: are "
                            "scripts and trace of one build?");
        fputc('\n', stderr);
    }
    return output_finish(&output, found > 0 ? COMMAND_OK : code_of_nothing);
}

/* a server ---------------------------------------------------------------- */

static struct {
    struct script_lines lines;
    bool is_json;
    char none[2048]; /* why nothing is found, in words */
    int code;
} asked;

static cJSON *trace_frame_of(const struct jstrace_frame *frame)
{
    cJSON *object = cJSON_CreateObject();

    cjson_add_text(object, "platform", "javascript");
    cjson_add_string(object, "abs_path", frame->url.data, frame->url.size);
    cjson_add_number(object, "lineno", frame->line);
    cjson_add_number(object, "colno", frame->column);
    if (frame->function.size > 0) {
        cjson_add_string(object, "function", frame->function.data,
                         frame->function.size);
    }
    return object;
}

/* Names the debug ids of scripts; one of several frames in a row once. */
static void trace_add_modules(cJSON *root, const struct script_lines *lines,
                              const char *ids)
{
    cJSON *modules = cjson_add_list(root, "modules"), *module;
    const struct jstrace_frame *frame, *last = NULL;
    struct symc_string id;
    size_t i;

    for (i = 0; i < lines->count; i++) {
        frame = &lines->list[i].frame;
        if (!lines->list[i].is_frame ||
            (last != NULL && last->url.size == frame->url.size &&
             memcmp(last->url.data, frame->url.data, last->url.size) == 0)) {
            continue;
        }
        last = frame;
        id = script_ids_find(ids, frame);
        if (id.data == NULL) {
            continue;
        }
        module = cjson_append_object(modules);
        cjson_add_text(module, "type", "sourcemap");
        cjson_add_string(module, "code_file", frame->url.data,
                         frame->url.size);
        cjson_add_string(module, "debug_id", id.data, id.size);
    }
}

/* The request for all frames; a trace ends with a line that is none.  It names
 * no artifacts, so that the server's own files are all that there is. */
static char *trace_make_request(const struct script_lines *lines,
                                const struct script_options *of)
{
    size_t i;
    cJSON *root = cJSON_CreateObject(), *source = cJSON_CreateObject();
    cJSON *stacks = cJSON_CreateArray(), *frames = NULL, *options;

    for (i = 0; i < lines->count; i++) {
        if (!lines->list[i].is_frame) {
            frames = NULL;
            continue;
        }
        if (frames == NULL) {
            frames = cjson_add_list(cjson_append_object(stacks), "frames");
        }
        cjson_append(frames, trace_frame_of(&lines->list[i].frame));
    }
    options = cJSON_CreateObject();
    cjson_add_text(options, "frame_order", "callee_first");
    cjson_add(options, "apply_source_context", cJSON_CreateFalse());
    cjson_add_text(source, "id", "symcachectl");
    cjson_add_text(source, "url", "https://symcachectl.invalid/");
    cjson_add_text(source, "token", "none");
    cjson_add(root, "source", source);
    if (of->release != NULL) {
        cjson_add_text(root, "release", of->release);
    }
    if (of->dist != NULL) {
        cjson_add_text(root, "dist", of->dist);
    }
    if (of->debug_id != NULL) {
        trace_add_modules(root, lines, of->debug_id);
    }
    cjson_add(root, "options", options);
    cjson_add(root, "stacktraces", stacks);
    return cjson_finish(root);
}

static struct symc_string text_of(const cJSON *object, const char *key)
{
    const char *text = printable_field(object, key);
    const struct symc_string string = {text, strlen(text)};

    return string;
}

static void trace_take_frame(const cJSON *frame, struct trace_line *line)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(frame, "data");
    char *function = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(frame, "function"));

    line->is_found =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(data, "symbolicated"));
    line->function = (struct symc_string){function, 0};
    if (function != NULL) {
        line->function.size = drop_second_hash(function, strlen(function));
    }
    line->file = text_of(frame, "filename");
    line->line = (uint64_t)printable_number(frame, "lineno");
    line->column = (uint64_t)printable_number(frame, "colno");
    line->why = cJSON_GetObjectItemCaseSensitive(frame, "why");
}

#define NO_MODULES                                                            \
    "a server names no frames of WebAssembly in a text; --maps FOLDER does"

static void trace_set_none(const char *why)
{
    snprintf(asked.none, sizeof(asked.none), "%s", why);
}

/* Why a release has nothing: it can have the scripts under other paths. */
static void set_none_of_release(const struct script_options *options)
{
    struct symc_string path = {"", 0};
    size_t i = 0, size = 0;

    snprintf(asked.lines.release, sizeof(asked.lines.release),
             "release \"%.250s\"%s%.250s%s", options->release,
             options->dist != NULL ? ", dist \"" : " without a dist",
             options->dist != NULL ? options->dist : "",
             options->dist != NULL ? "\"" : "");
    while (i < asked.lines.count && !asked.lines.list[i].is_frame) {
        i++;
    }
    if (i < asked.lines.count) {
        path.data = asked.lines.list[i].frame.url.data;
        path.size = asked.lines.list[i].frame.url.size;
        path = js_path(path);
    }
    while (size < path.size && size < 1024 && path.data[size] != '?' &&
           path.data[size] != '#') {
        size++;
    }
    snprintf(asked.none, sizeof(asked.none),
             "the server has no source map of these scripts in %s, under "
             "paths such as \"~%.*s\": \"symcachectl uploads ls --release "
             "'*'\" on the server lists releases, and --url-prefix of "
             "\"sentry-cli sourcemaps upload\" gives scripts other paths",
             asked.lines.release, (int)size, path.data);
}

static void trace_print_answer(const cJSON *answer)
{
    size_t i = 0, scripts = 0, modules = 0;
    const cJSON *stack, *frame, *error;
    const char *type;
    struct script_lines *lines = &asked.lines;

    cJSON_ArrayForEach(stack,
                       cJSON_GetObjectItemCaseSensitive(answer, "stacktraces"))
    {
        cJSON_ArrayForEach(frame,
                           cJSON_GetObjectItemCaseSensitive(stack, "frames"))
        {
            while (i < lines->count && !lines->list[i].is_frame) {
                i++;
            }
            if (i < lines->count) {
                scripts += !lines->list[i].frame.is_wasm;
                modules += lines->list[i].frame.is_wasm;
                trace_take_frame(frame, &lines->list[i++]);
            }
        }
    }
    cJSON_ArrayForEach(error, cjson_get(answer, "errors"))
    {
        type = printable_field(error, "type");
        if (strcmp(type, "fetching_failed") == 0) {
            trace_set_none(
                "the server could not look for a file of these scripts: "
                "its log says why");
        } else if (strcmp(type, "malformed_sourcemap") == 0) {
            trace_set_none("a source map is malformed");
            fputs("symcachectl: ", stderr);
            printable_put_field(stderr, error, "abs_path");
            fputs(": its source map is malformed: ", stderr);
            printable_put_field(stderr, error, "url");
            fputc('\n', stderr);
        }
    }
    if (modules > 0 && scripts == 0) {
        trace_set_none(NO_MODULES);
    } else if (modules > 0) {
        fputs("symcachectl: note: " NO_MODULES "\n", stderr);
    }
    asked.code =
        print_trace(lines, asked.is_json, COMMAND_NOT_FOUND, asked.none);
}

static int trace_judge_answer(const cJSON *answer)
{
    return asked.code;
}

static int trace_ask_server(const struct settings *settings,
                            const struct script_options *options)
{
    int code;
    char *request = trace_make_request(&asked.lines, options);
    struct settings plain = *settings;

    asked.is_json = settings->is_json != 0;
    if (options->release != NULL) {
        set_none_of_release(options);
    } else {
        trace_set_none(
            options->debug_id != NULL
                ? "the server has no source map of these scripts"
                : "the server has no source map of these scripts; what "
                  "was uploaded is found with --debug-id ID or --release "
                  "TEXT only");
    }
    plain.is_json = 0; /* prints a text made from the answer, not the answer */
    code = json_request_post(
        &plain, options->why ? "/symbolicate-js?why=1" : "/symbolicate-js",
        request, trace_print_answer, trace_judge_answer);
    free(request);
    return code;
}

int script_trace_show(const struct settings *settings,
                      const struct script_options *options, const char *text,
                      size_t size)
{
    const char *maps = options->maps;
    int code;

    trace_read_lines(&asked.lines, text, size);
    if (settings->socket != NULL) {
        code = trace_ask_server(settings, options);
    } else {
        trace_find_all(&asked.lines, maps);
        input_enter_sandbox();
        linkage_by(linkage_demangle_here);
        code =
            maps != NULL
                ? print_trace(&asked.lines, settings->is_json != 0,
                              COMMAND_NOT_FOUND,
                              "the folder has no source map of these scripts")
                : print_trace(&asked.lines, settings->is_json != 0, COMMAND_OK,
                              "no source map is next to these scripts; --maps "
                              "FOLDER or --url URL names another place");
    }
    free(asked.lines.list);
    arena_free(&asked.lines.names);
    return code;
}
