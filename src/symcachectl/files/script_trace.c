/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a stack trace of JavaScript: its lines get the
 * functions, files and lines of the originals, from source maps on this
 * machine.
 */
#include "script_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input.h"
#include "script_files.h"
#include "symbolication/js/js.h"
#include "symcachectl/command.h"

static void trace_read_lines(struct script_trace *trace, const char *text,
                             size_t size)
{
    const char *end = text + size, *next;
    struct script_line *line;

    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        if (array_need(&trace->lines, &trace->room, trace->count + 1,
                       sizeof(*trace->lines)) != 0) {
            command_no_memory();
        }
        line = &trace->lines[trace->count++];
        memset(line, 0, sizeof(*line));
        line->data = text;
        line->size = (size_t)(next - text);
        line->size -= line->size > 0 && text[line->size - 1] == '\r';
        line->is_frame = jstrace_read(text, line->size, &line->frame);
    }
}

size_t script_drop_second_hash(char *name, size_t size)
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
    function.size = script_drop_second_hash(folded, function.size);
    function.data = folded;
    return function;
}

/* The name of the original in the map, without what packers add. */
static struct symc_string trace_file_name(const struct jscache_file *file)
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
                                            struct script_line *line,
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
    line->file = trace_file_name(&file);
    line->line = (uint64_t)token.line + 1;
    line->column = (uint64_t)token.column + 1;
    return token.name;
}

/* Finds what a frame comes from.  Returns how it calls the next one. */
static struct symc_string trace_find_frame(struct script_files *files,
                                           struct arena *names,
                                           struct script_line *line,
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

/* From the outermost frame on, as names of callers help. */
static void trace_find_all(struct script_trace *trace, const char *maps)
{
    size_t i;
    struct symc_string caller = {NULL, 0};
    static struct script_files files;

    files.maps = maps;
    for (i = 0; i < trace->count; i++) {
        if (trace->lines[i].is_frame) {
            script_files_note(&files, &trace->lines[i].frame);
        }
    }
    for (i = trace->count; i-- > 0;) {
        caller =
            trace_find_frame(&files, &trace->names, &trace->lines[i], caller);
    }
}

int script_trace_show(const struct settings *settings,
                      const struct script_options *options, const char *text,
                      size_t size)
{
    const char *maps = options->maps;
    static struct script_trace trace;
    int code;

    trace_read_lines(&trace, text, size);
    if (settings->socket != NULL) {
        code = script_request_names(settings, options, &trace);
    } else {
        trace_find_all(&trace, maps);
        input_enter_sandbox();
        linkage_by(linkage_demangle_here);
        code = maps != NULL
                   ? script_print_trace(
                         &trace, settings->is_json != 0, COMMAND_NOT_FOUND,
                         "the folder has no source map of these scripts")
                   : script_print_trace(
                         &trace, settings->is_json != 0, COMMAND_OK,
                         "no source map is next to these scripts; --maps "
                         "FOLDER or --url URL names another place");
    }
    free(trace.lines);
    arena_free(&trace.names);
    return code;
}
