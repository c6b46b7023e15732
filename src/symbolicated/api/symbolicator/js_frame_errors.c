/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_frame_errors.h"

#include <string.h>

#include "absence_reason.h"

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

void js_frame_errors_write(struct json_writer *w, const struct js_place *place)
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
