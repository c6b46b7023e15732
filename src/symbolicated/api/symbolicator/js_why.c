/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_why.h"

#include <string.h>

static void write_text(struct json_writer *w, const char *name,
                       const char *text)
{
    json_write_key(w, name);
    json_write_text(w, text);
}

static void write_string(struct json_writer *w, const char *name,
                         struct symc_string text)
{
    if (text.data != NULL) {
        json_write_key(w, name);
        json_write_string(w, text.data, text.size);
    }
}

/* A member of an attempt, if it has it. */
static void pass(struct json_writer *w, const struct json *json, uint32_t item,
                 const char *name)
{
    uint32_t value = json_member(json, item, name);

    if (value != 0) {
        json_write_key(w, name);
        json_write_value(w, json, value);
    }
}

/* What the sources said, an HTTP status for example, and not where they are:
 * that is the operator's. */
static void write_attempts(struct json_writer *w,
                           const struct api_module *module)
{
    const struct api_attempts *attempts;
    const struct json *json;
    uint32_t i;

    json_write_key(w, "attempts");
    json_write_open(w, '[');
    for (attempts = module->attempts; attempts != NULL;
         attempts = attempts->next) {
        json = attempts->json;
        for (i = attempts->list + 1; i < json->values[attempts->list].end;
             i = json->values[i].end) {
            json_write_open(w, '{');
            pass(w, json, i, "source");
            pass(w, json, i, "outcome");
            pass(w, json, i, "status");
            pass(w, json, i, "detail");
            json_write_close(w, '}');
        }
    }
    json_write_close(w, ']');
}

static void write_asked(struct json_writer *w, const struct js_asked *asked)
{
    json_write_open(w, '{');
    write_text(w, "what", asked->what);
    write_string(w, "key", asked->key);
    write_string(w, "bundle", asked->bundle);
    write_text(w, "answer", asked->answer);
    if (asked->module != NULL && asked->module->attempts != NULL) {
        write_attempts(w, asked->module);
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
    write_text(w, "type", type);
    write_text(w, "answer", states[file->state]);
    json_write_key(w, "asked");
    json_write_open(w, '[');
    for (asked = file->asked; asked != NULL; asked = asked->next) {
        write_asked(w, asked);
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void write_cache(struct json_writer *w, const struct api_module *cache)
{
    json_write_open(w, '{');
    write_text(w, "type", "jscache");
    write_text(w, "answer", js_state_word(cache));
    if (cache->attempts != NULL) {
        write_attempts(w, cache);
    }
    json_write_close(w, '}');
}

void js_why_write(struct json_writer *w, const struct js_place *place)
{
    const struct js_module *module = place->module;

    json_write_key(w, "why");
    json_write_open(w, '[');
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
