/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_modules.h"
#include "js_wants.h"
#include "schema.h"

#include <stdlib.h>
#include <string.h>

static struct symc_string absent;

static void *take_room(struct js_files *files, size_t size)
{
    void *piece = arena_take(&files->arena, size);

    files->has_failed = files->has_failed || piece == NULL;
    return piece;
}

static struct symc_string join_url(struct js_files *files,
                                   struct symc_string base,
                                   struct symc_string right)
{
    size_t room = base.size + right.size + 8, size;
    char *url = take_room(files, room);

    if (url == NULL) {
        return absent;
    }
    size = js_join(base, right, url, room);
    return (struct symc_string){url, size < room ? size : room};
}

/* scripts ------------------------------------------------------------------ */

/* Takes what has become of the JsCache.  Returns false while it is pending. */
static bool take_cache(struct js_module *module,
                       const struct api_module *cache)
{
    if (cache == NULL) {
        return false;
    }
    module->cache = cache;
    if (cache->state == API_MODULE_FOUND) {
        module->reader = &cache->reader->jscache;
    } else {
        module->error = cache->state == API_MODULE_MALFORMED
                            ? JS_ERROR_MALFORMED
                        : cache->state == API_MODULE_FAILED ? JS_ERROR_FAILED
                                                            : JS_ERROR_MAP;
    }
    return true;
}

/* Why a file is not there, if it is not missing. */
static enum js_error_type error_of(const struct js_file *file,
                                   enum js_error_type missing)
{
    return file->is_unknown    ? JS_ERROR_FAILED
           : file->is_disabled ? JS_ERROR_DISABLED
                               : missing;
}

/* The debug id by which a map is looked for. */
static const char *debug_id_of(struct js_files *files,
                               const struct js_script *script,
                               const struct js_file *file)
{
    struct symc_string id =
        script->debug_id[0] != '\0' ? absent
                                    : js_want_comments(files, file)->debug_id;
    char *text;

    if (id.data == NULL || id.size >= JS_DEBUG_ID) {
        return script->debug_id;
    }
    text = take_room(files, id.size + 1);
    if (text == NULL) {
        return script->debug_id;
    }
    memcpy(text, id.data, id.size);
    text[id.size] = '\0';
    return text;
}

/* The same of the map of a script that was found. */
static bool find_map(struct js_files *files, const struct js_script *script,
                     struct js_module *module)
{
    struct symc_string reference = module->script->reference;
    const char *debug_id = debug_id_of(files, script, module->script);
    struct symc_string url = absent;
    bool is_known = false;

    if (reference.data == NULL) {
        reference = js_want_comments(files, module->script)->map;
        is_known = true;
    }
    if (reference.data != NULL && js_is_data_url(reference)) {
        if (is_known || js_want_reads_data(files, reference)) {
            module->is_embedded = true;
            module->resolved_with = module->script->resolved_with;
            return take_cache(module,
                              js_want_cache(files, module->script, NULL));
        }
        reference = absent;
    }
    if (reference.data == NULL && debug_id[0] == '\0') {
        return true;
    }
    if (reference.data != NULL) {
        url = join_url(files, script->abs_path, reference);
        module->map_url = url;
    }
    module->map_key = url;
    module->map_id = debug_id;
    module->map = js_files_find(files, SOURCECACHE_MAP, url, debug_id);
    module->resolved_with = module->map->resolved_with;
    if (module->map->state == JS_FILE_MISSING) {
        module->error = error_of(module->map, JS_ERROR_MAP);
    }
    return module->map->state == JS_FILE_MISSING ||
           (module->map->state == JS_FILE_FOUND &&
            take_cache(module,
                       js_want_cache(files, module->script, module->map)));
}

static bool find_script(struct js_files *files, const struct js_script *script,
                        struct js_module *module)
{
    *module = (struct js_module){.is_wanted = true,
                                 .error = JS_NO_ERROR,
                                 .map_url = script->abs_path};
    module->script = js_files_find(files, SOURCECACHE_MINIFIED,
                                   script->abs_path, script->debug_id);
    switch (module->script->state) {
    case JS_FILE_FOUND:
        return find_map(files, script, module);
    case JS_FILE_MISSING:
        module->error = error_of(module->script, JS_ERROR_SOURCE);
        return true;
    default:
        return false;
    }
}

/* frames ------------------------------------------------------------------- */

/* Finds the text of an original file.  Returns false while it is pending. */
static bool find_text(struct js_files *files, struct js_place *place,
                      const struct jscache_file *file)
{
    if (!files->request->wants_context) {
        return true;
    }
    place->has_text = file->text.data != NULL;
    if (place->has_text) {
        return true;
    }
    place->source =
        js_files_find(files, SOURCECACHE_SOURCE, place->abs_path, "");
    if (place->source->state == JS_FILE_MISSING) {
        place->error = JS_ERROR_CONTENT;
    }
    return place->source->state != JS_FILE_PENDING;
}

static struct symc_string fold_name(struct js_files *files,
                                    struct symc_string name)
{
    size_t room = 3 * name.size + 16, size;
    char *text;

    if (memchr(name.data, '.', name.size) == NULL) {
        return name;
    }
    text = take_room(files, room);
    if (text == NULL) {
        return name;
    }
    size = js_fold(name, text, room);
    return (struct symc_string){text, size < room ? size : room};
}

/* An original file as frames name it. */
struct js_original {
    const struct js_module *module; /* whose map has it; NULL: none yet */
    uint32_t number;
    bool has_module; /* the frames have members of that name */
    struct jscache_file file;
    struct symc_string abs_path; /* these if the file has a name */
    struct js_names names;
};

/* Frames on their way from a request to places. */
struct js_place_walk {
    struct js_files *files;
    bool has_all_lines;
    struct js_original originals[16]; /* those of frames before, by number */
};

/* Fills an original whose module, number and has_module are set.  Returns false
 * if the map has no such file, or without memory. */
static bool read_original(struct js_files *files, struct js_original *original)
{
    struct jscache_file *file = &original->file;
    size_t room;
    char *text;

    if (!jscache_reader_file(original->module->reader, original->number,
                             file)) {
        return false;
    }
    if (file->name.size == 0) {
        return true;
    }
    original->abs_path =
        join_url(files, original->module->map_url, file->name);
    room = file->name.size > original->abs_path.size
               ? file->name.size
               : original->abs_path.size;
    text = take_room(files, room + 1);
    if (text == NULL) {
        return false;
    }
    original->names = js_file_names(file->name, original->abs_path,
                                    original->has_module, text);
    return true;
}

/* The original of a place, or NULL.  Many frames are in a few files. */
static const struct js_original *original_of(struct js_place_walk *walk,
                                             const struct js_place *place,
                                             bool has_module)
{
    uint32_t number = place->token.file;
    struct js_original *original =
        &walk->originals[number % (sizeof(walk->originals) /
                                   sizeof(walk->originals[0]))];

    if (original->module == place->module && original->number == number &&
        original->has_module == has_module) {
        return original;
    }
    *original = (struct js_original){
        .module = place->module, .number = number, .has_module = has_module};
    if (!read_original(walk->files, original)) {
        original->module = NULL;
        return NULL;
    }
    return original;
}

/* Fills a frame from its token.  Returns false while it is pending. */
static bool take_token(struct js_place_walk *walk,
                       const struct js_frame *frame, struct symc_string caller,
                       struct js_place *place)
{
    const uint32_t *members = frame->members;
    struct js_files *files = walk->files;
    const struct js_request *request = files->request;
    const struct js_original *original;

    place->function = fold_name(
        files, js_frame_function(
                   &place->token,
                   schema_text(&request->json, members[JS_FUNCTION]), caller));
    files->told += place->function.size;
    place->filename = schema_text(&request->json, members[JS_FILENAME]);
    place->name_module = schema_text(&request->json, members[JS_MODULE]);
    place->abs_path = frame->abs_path;
    original = original_of(walk, place, members[JS_MODULE] != 0);
    if (original == NULL) {
        return true;
    }
    if (original->file.name.size > 0) {
        place->abs_path = original->abs_path;
        place->filename = original->names.filename;
        if (original->names.module.data != NULL) {
            place->name_module = original->names.module;
        }
    }
    files->told += place->filename.size + place->abs_path.size;
    return find_text(files, place, &original->file);
}

/* Finds what a frame comes from.  *caller is the name of the token of the frame
 * that called it, and becomes that of its own. */
static bool find_place(struct js_place_walk *walk,
                       const struct js_frame *frame,
                       const struct js_module *module,
                       struct symc_string *caller, struct js_place *place)
{
    struct symc_string called = *caller;

    memset(place, 0, sizeof(*place));
    place->error = JS_NO_ERROR;
    *caller = absent;
    if (frame->line == 0) {
        place->error = JS_ERROR_LOCATION;
        return true;
    }
    place->module = module;
    place->error = module->error;
    if (module->reader == NULL) {
        return true;
    }
    place->is_found = jscache_reader_lookup(
        module->reader, frame->line - 1,
        frame->column > 0 ? frame->column - 1 : 0, walk->has_all_lines,
        &place->token);
    if (!place->is_found) {
        place->error = JS_ERROR_LOCATION;
        return true;
    }
    *caller = place->token.name;
    return take_token(walk, frame, called, place);
}

/* Each frame has texts of its own: when they are too large for the answer, no
 * more are looked for. */
static bool find_places(struct js_files *files,
                        const struct js_module *modules,
                        struct js_place *places, bool has_all_lines)
{
    struct js_place_walk walk = {.files = files,
                                 .has_all_lines = has_all_lines};
    const struct js_request *request = files->request;
    const struct js_stack *stack;
    struct symc_string caller;
    bool is_known = true;
    size_t i, k, at;

    for (i = 0; i < request->nstacks; i++) {
        stack = &request->stacks[i];
        caller = absent;
        for (k = 0; k < stack->count && files->told <= files->most; k++) {
            at = stack->first +
                 (request->is_caller_first ? k : stack->count - 1 - k);
            is_known = find_place(&walk, &request->frames[at],
                                  &modules[request->frames[at].script],
                                  &caller, &places[at]) &&
                       is_known;
        }
    }
    return is_known;
}

/* Scripts of which only frames with line 0 know are not looked for. */
static void mark_wanted(const struct js_request *request,
                        struct js_module *modules)
{
    size_t i;

    memset(modules, 0, request->nscripts * sizeof(*modules));
    for (i = 0; i < request->nframes; i++) {
        if (request->frames[i].line > 0) {
            modules[request->frames[i].script].is_wanted = true;
        }
    }
}

bool js_modules_find(struct js_files *files, struct js_module *modules,
                     struct js_place *places, bool has_all_lines)
{
    const struct js_request *request = files->request;
    bool is_known = true;
    size_t i;

    mark_wanted(request, modules);
    for (i = 0; i < request->nscripts; i++) {
        if (modules[i].is_wanted) {
            is_known =
                find_script(files, &request->scripts[i], &modules[i]) &&
                is_known;
        }
    }
    return is_known && find_places(files, modules, places, has_all_lines) &&
           !files->has_failed;
}
