/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_answer.h"

#include <stdlib.h>
#include <string.h>

#include "symbolication/js/js.h"
#include "symbolication/symbolication.h"

#include "absence_reason.h"
#include "frame_source.h"

/*
 * Lines of source code around places of scripts and of their originals.
 */

/* Whole lines around one, which is there if there are more than before it. */
struct js_lines {
    struct symc_string lines[2 * SOURCE_CONTEXT_LINES + 1];
    unsigned before;
    unsigned count; /* of all */
};

/* Frames of a script often have the same line, which may be all of it. */
struct js_lines_cache {
    struct text_lines known;
    struct js_lines_item {
        struct symc_string text; /* no data: nothing yet */
        uint32_t line;
        struct js_lines lines;
    } items[8];
};

/* Those around a line of a text, from 1. */
static void find_text_lines(struct js_lines *lines, struct text_lines *known,
                            struct symc_string text, uint32_t line)
{
    uint32_t first =
        line > SOURCE_CONTEXT_LINES ? line - SOURCE_CONTEXT_LINES : 1;

    lines->before = lines->count = 0;
    if (line > 0) {
        lines->before = line - first;
        lines->count = text_lines_find(
            known, text, first, lines->before + 1 + SOURCE_CONTEXT_LINES,
            lines->lines);
    }
}

/* Those around a line of a file of a map, whose text the map has; line from
 * 0. */
static void find_map_lines(struct js_lines *lines,
                           const struct jscache_reader *reader, uint32_t file,
                           uint32_t line)
{
    uint32_t first =
        line > SOURCE_CONTEXT_LINES ? line - SOURCE_CONTEXT_LINES : 0;

    lines->before = line - first;
    lines->count = jscache_reader_lines(
        reader, file, first, lines->before + 1 + SOURCE_CONTEXT_LINES,
        lines->lines);
}

/* Cuts the lines for an answer.  Returns false if there is none to tell. */
static bool trim_lines(const struct js_lines *lines, uint32_t column,
                       struct source_context *context)
{
    unsigned i;

    context->before = lines->before;
    context->count = lines->count;
    for (i = 0; i < lines->count; i++) {
        context->lines[i] = source_line_trim(lines->lines[i], column);
    }
    return lines->count > lines->before;
}

/* The same of a text, line from 1.  The texts must not change as long as the
 * cache is used, and have data; it is all zero at first. */
static const struct js_lines *cached_lines(struct js_lines_cache *cache,
                                           struct symc_string text,
                                           uint32_t line)
{
    struct js_lines_item *item =
        &cache->items[line % (sizeof(cache->items) / sizeof(*item))];

    if (item->text.data != text.data || item->text.size != text.size ||
        item->line != line) {
        item->text = text;
        item->line = line;
        find_text_lines(&item->lines, &cache->known, text, line);
    }
    return &item->lines;
}

/*
 * Why a frame of a script has no original, or another one than expected: what
 * was asked for its files, and what was answered.
 */

static void write_asked(struct json_writer *w, const struct js_asked *asked)
{
    json_write_open(w, '{');
    json_put_text(w, "what", asked->what);
    js_member_write(w, "key", asked->key);
    js_member_write(w, "bundle", asked->bundle);
    json_put_text(w, "answer", asked->answer);
    if (asked->module != NULL && asked->module->attempts != NULL) {
        absence_attempts_write(w, asked->module);
    }
    json_write_close(w, '}');
}

static void write_file(struct json_writer *w, const char *type,
                       const struct js_file *file)
{
    static const char *const states[] = {
        [JS_FILE_PENDING] = "pending",
        [JS_FILE_FOUND] = "found",
        [JS_FILE_MISSING] = "not found",
    };
    const struct js_asked *asked;

    if (file == NULL) {
        return;
    }
    json_write_open(w, '{');
    json_put_text(w, "type", type);
    json_put_text(w, "answer", states[file->state]);
    json_put_open(w, "asked", '[');
    for (asked = file->asked; asked != NULL; asked = asked->next) {
        write_asked(w, asked);
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void write_cache(struct json_writer *w, const struct api_module *cache)
{
    json_write_open(w, '{');
    json_put_text(w, "type", "jscache");
    json_put_text(w, "answer", absence_state(cache));
    if (cache->attempts != NULL) {
        absence_attempts_write(w, cache);
    }
    json_write_close(w, '}');
}

/* Writes the member "why" of a frame. */
static void write_frame_errors(struct json_writer *w,
                               const struct js_place *place)
{
    const struct js_module *module = place->module;

    json_put_open(w, "why", '[');
    if (module != NULL) {
        write_file(w, "minified_source", module->script);
        write_file(w, "source_map", module->map);
        if (module->cache != NULL) {
            write_cache(w, module->cache);
        }
        write_file(w, "source", place->source);
    }
    json_write_close(w, ']');
}

/* What was written of the frames of a script. */
struct written {
    const struct js_module *module; /* NULL: nothing yet */
    size_t at, size;
};

/* An answer that is written. */
struct js_answer {
    struct json_writer *w;
    const struct js_files *files;
    struct js_lines_cache lines; /* of scripts and of originals */
    struct written data[8];      /* of mapped frames */
};

/* Those that a frame came with. */
static void pass_lines(struct json_writer *w, const struct json *json,
                       const struct js_frame *frame)
{
    frame_source_pass_lines(w, json, frame->members[JS_PRE_CONTEXT],
                            frame->members[JS_CONTEXT_LINE],
                            frame->members[JS_POST_CONTEXT]);
}

static uint32_t one_more(uint32_t n)
{
    return n < UINT32_MAX ? n + 1 : n;
}

/* Lines of the original, or else those that the frame came with. */
static void write_lines(struct js_answer *answer, const struct js_frame *frame,
                        const struct js_place *place)
{
    const struct jscache_token *token = &place->token;
    const struct js_lines *lines = NULL;
    struct source_context context;
    struct js_lines of_map;

    if (place->has_text) {
        find_map_lines(&of_map, place->module->reader, token->file,
                       token->line);
        lines = &of_map;
    } else if (place->source != NULL &&
               place->source->state == JS_FILE_FOUND) {
        lines = cached_lines(&answer->lines, place->source->text,
                             one_more(token->line));
    }
    if (lines != NULL &&
        trim_lines(lines, one_more(token->column), &context)) {
        frame_source_write_lines(answer->w, &context);
    } else {
        pass_lines(answer->w, &answer->files->request->json, frame);
    }
}

/* The same of the script. */
static void write_raw_lines(struct js_answer *answer,
                            const struct js_frame *frame,
                            const struct js_place *place)
{
    const struct js_file *script =
        place->module != NULL && answer->files->request->wants_context
            ? place->module->script
            : NULL;
    struct source_context context;

    if (script != NULL && script->state == JS_FILE_FOUND &&
        trim_lines(cached_lines(&answer->lines, script->text, frame->line),
                   frame->column, &context)) {
        frame_source_write_lines(answer->w, &context);
    } else {
        pass_lines(answer->w, &answer->files->request->json, frame);
    }
}

/* In which bundle, and by what. */
static void write_bundled(struct json_writer *w,
                          const struct js_module *module)
{
    json_write_open(w, '{');
    json_put_open(w, "bundled", '[');
    json_write_string(w, module->map->uri.data, module->map->uri.size);
    json_write_open(w, '{');
    json_put_open(w, "source_map", '{');
    js_member_write(w, "abs_path", module->map_key);
    if (module->map_id[0] != '\0') {
        json_put_text(w, "debug_id", module->map_id);
    }
    json_write_close(w, '}');
    json_write_close(w, '}');
    json_write_close(w, ']');
    json_write_close(w, '}');
}

/* How the map was found. */
static void write_origin(struct json_writer *w,
                         const struct js_module *module)
{
    json_write_key(w, "sourcemap_origin");
    if (module->is_embedded) {
        json_write_text(w, "embedded");
    } else if (module->map->is_bundled) {
        write_bundled(w, module);
    } else {
        json_write_open(w, '{');
        js_member_write(
            w,
            module->map->resolved_with != NULL &&
                    strcmp(module->map->resolved_with, "scraping") == 0
                ? "scraped_file"
                : "individual_file",
            module->map->uri);
        json_write_close(w, '}');
    }
}

static void write_data(struct json_writer *w, const struct js_place *place,
                       bool is_mapped)
{
    const struct js_module *module = place->module;

    json_write_open(w, '{');
    if (is_mapped) {
        js_member_write(w, "sourcemap", module->map_url);
    }
    if (is_mapped || place->error == JS_ERROR_MALFORMED) {
        write_origin(w, module);
        json_put_text(w, "resolved_with", module->resolved_with);
    }
    json_put_bool(w, "symbolicated", is_mapped);
    json_write_close(w, '}');
}

/* The same of a mapped frame: each one of a script has the same. */
static void write_mapped_data(struct js_answer *answer,
                              const struct js_place *place)
{
    const struct js_module *module = place->module;
    struct written *data =
        &answer->data[(uintptr_t)module / sizeof(*module) %
                      (sizeof(answer->data) / sizeof(answer->data[0]))];
    struct json_writer *w = answer->w;

    if (data->module == module) {
        json_write_again(w, data->at, data->size);
        return;
    }
    data->at = w->size;
    write_data(w, place, true);
    data->size = w->size - data->at;
    data->module = module;
}

/* A frame as it came, with the lines of its script. */
static void write_raw(struct js_answer *answer, const struct js_frame *frame,
                      const struct js_place *place, bool tells_why)
{
    const struct json *json = &answer->files->request->json;
    const uint32_t *members = frame->members;
    struct json_writer *w = answer->w;

    json_write_open(w, '{');
    json_put_value(w, "platform", json, members[JS_PLATFORM]);
    json_put_value(w, "function", json, members[JS_FUNCTION]);
    json_put_value(w, "filename", json, members[JS_FILENAME]);
    json_put_value(w, "module", json, members[JS_MODULE]);
    js_member_write(w, "abs_path", frame->abs_path);
    json_put_value(w, "lineno", json, members[JS_LINENO]);
    json_put_value(w, "colno", json, members[JS_COLNO]);
    write_raw_lines(answer, frame, place);
    json_write_key(w, "data");
    write_data(w, place, false);
    if (tells_why) {
        write_frame_errors(w, place);
    }
    json_write_close(w, '}');
}

static void write_frame(struct js_answer *answer, const struct js_frame *frame,
                        const struct js_place *place)
{
    const struct js_files *files = answer->files;
    struct json_writer *w = answer->w;

    if (!place->is_found) {
        write_raw(answer, frame, place, files->tells_why);
        return;
    }
    json_write_open(w, '{');
    json_put_value(w, "platform", &files->request->json,
                   frame->members[JS_PLATFORM]);
    js_member_write(w, "function", place->function);
    js_member_write(w, "filename", place->filename);
    js_member_write(w, "module", place->name_module);
    js_member_write(w, "abs_path", place->abs_path);
    json_put_number(w, "lineno", one_more(place->token.line));
    json_put_number(w, "colno", one_more(place->token.column));
    write_lines(answer, frame, place);
    json_write_key(w, "data");
    write_mapped_data(answer, place);
    if (files->tells_why) {
        write_frame_errors(w, place);
    }
    json_write_close(w, '}');
}

static void write_stacks(struct js_answer *answer,
                         const struct js_place *places, bool is_raw)
{
    const struct js_files *files = answer->files;
    const struct js_request *request = files->request;
    struct json_writer *w = answer->w;
    const struct js_stack *stack;
    size_t i, k;

    json_put_open(w, is_raw ? "raw_stacktraces" : "stacktraces", '[');
    for (i = 0; i < request->nstacks && w->size <= files->most; i++) {
        stack = &request->stacks[i];
        json_write_open(w, '{');
        json_put_open(w, "frames", '[');
        for (k = stack->first;
             k < stack->first + stack->count && w->size <= files->most; k++) {
            if (is_raw) {
                write_raw(answer, &request->frames[k], &places[k], false);
            } else {
                write_frame(answer, &request->frames[k], &places[k]);
            }
        }
        json_write_close(w, ']');
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

/* errors ------------------------------------------------------------------- */

struct error {
    const struct js_frame *frame;
    const struct js_place *place;
};

/* Without a column, an error has null, or 0 if there is a map. */
static uint64_t column_of(const struct error *e)
{
    if (e->frame->members[JS_COLNO] != 0) {
        return (uint64_t)e->frame->column + 1;
    }
    return e->place->module != NULL ? 1 : 0;
}

static int compare_errors(const void *a, const void *b)
{
    const struct error *x = a, *y = b;
    int n = js_compare(x->frame->abs_path, y->frame->abs_path);

    if (n == 0) {
        n = (int)x->place->error - (int)y->place->error;
    }
    if (n == 0 && x->place->error == JS_ERROR_CONTENT) {
        n = js_compare(x->place->abs_path, y->place->abs_path);
    }
    if (n == 0 && x->place->error == JS_ERROR_LOCATION) {
        n = (x->frame->line > y->frame->line) -
            (x->frame->line < y->frame->line);
        n = n != 0 ? n
                   : (column_of(x) > column_of(y)) -
                         (column_of(x) < column_of(y));
    }
    return n;
}

static void write_error(struct json_writer *w, const struct json *json,
                        const struct error *e)
{
    static const char *const names[] = {
        [JS_ERROR_LOCATION] = "invalid_location",
        [JS_ERROR_CONTENT] = "missing_source_content",
        [JS_ERROR_SOURCE] = "missing_source",
        [JS_ERROR_MALFORMED] = "malformed_sourcemap",
        [JS_ERROR_MAP] = "missing_sourcemap",
        [JS_ERROR_DISABLED] = "scraping_disabled",
        [JS_ERROR_FAILED] = "fetching_failed",
    };
    const uint32_t column = e->frame->members[JS_COLNO];

    json_write_open(w, '{');
    js_member_write(w, "abs_path", e->frame->abs_path);
    json_put_text(w, "type", names[e->place->error]);
    if (e->place->error == JS_ERROR_LOCATION) {
        json_put_value(w, "line", json, e->frame->members[JS_LINENO]);
        json_write_key(w, "col");
        if (column != 0) {
            json_write_value(w, json, column);
        } else if (e->place->module == NULL) {
            json_write_raw(w, "null", 4);
        } else {
            json_write_number(w, 0);
        }
    } else if (e->place->error == JS_ERROR_CONTENT) {
        js_member_write(w, "source", e->place->abs_path);
        js_member_write(w, "sourcemap", e->place->module->map_url);
    } else if (e->place->error == JS_ERROR_MALFORMED) {
        js_member_write(w, "url", e->place->module->map_url);
    }
    json_write_close(w, '}');
}

/* A set, sorted.  Returns 0, or -1 without memory. */
static int write_errors(struct json_writer *w, const struct js_files *files,
                        const struct js_place *places)
{
    const struct js_request *request = files->request;
    struct error *errors = calloc(request->nframes + 1, sizeof(*errors));
    size_t i, n = 0;

    if (errors == NULL) {
        return -1;
    }
    for (i = 0; i < request->nframes; i++) {
        if (places[i].error != JS_NO_ERROR) {
            errors[n++] = (struct error){&request->frames[i], &places[i]};
        }
    }
    qsort(errors, n, sizeof(*errors), compare_errors);
    if (n > 0) {
        json_put_open(w, "errors", '[');
        for (i = 0; i < n && w->size <= files->most; i++) {
            if (i == 0 || compare_errors(&errors[i - 1], &errors[i]) != 0) {
                write_error(w, &request->json, &errors[i]);
            }
        }
        json_write_close(w, ']');
    }
    free(errors);
    return 0;
}

/* attempts ----------------------------------------------------------------- */

static int by_url(const void *a, const void *b)
{
    return js_compare((*(const struct js_attempt *const *)a)->url,
                      (*(const struct js_attempt *const *)b)->url);
}

static void write_attempt(struct json_writer *w, const struct js_attempt *a)
{
    json_write_open(w, '{');
    js_member_write(w, "url", a->url);
    json_put_text(w, "status",
                  a->is_success       ? "success"
                  : a->reason == NULL ? "not_attempted"
                                      : "failure");
    json_put_known(w, "reason", a->reason);
    json_put_known(w, "details", a->details);
    json_write_close(w, '}');
}

/* Returns 0, or -1 without memory. */
static int write_attempts(struct json_writer *w, const struct js_files *files)
{
    const struct js_attempt **list, *attempt;
    size_t n = 0, i;

    for (attempt = files->attempts; attempt != NULL; attempt = attempt->next) {
        n++;
    }
    if (n == 0) {
        return 0;
    }
    list = calloc(n, sizeof(*list));
    if (list == NULL) {
        return -1;
    }
    i = n;
    for (attempt = files->attempts; attempt != NULL; attempt = attempt->next) {
        list[--i] = attempt;
    }
    qsort(list, n, sizeof(*list), by_url);
    json_put_open(w, "scraping_attempts", '[');
    for (i = 0; i < n; i++) {
        write_attempt(w, list[i]);
    }
    json_write_close(w, ']');
    free(list);
    return 0;
}

int js_answer_write(struct js_files *files, const struct js_place *places,
                    struct json_writer *w)
{
    struct js_answer answer = {.w = w, .files = files};

    json_write_open(w, '{');
    json_put_text(w, "status", "completed");
    write_stacks(&answer, places, false);
    write_stacks(&answer, places, true);
    text_lines_free(&answer.lines.known);
    if (write_errors(w, files, places) != 0 || write_attempts(w, files) != 0) {
        return -1;
    }
    json_write_close(w, '}');
    return w->has_failed ? -1 : 0;
}
