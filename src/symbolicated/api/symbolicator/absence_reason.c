/*
 * Copyright (C) the ngx_symcache authors
 */
#include "absence_reason.h"

const char *absence_state(const struct api_module *module)
{
    static const char *const words[] = {
        [API_MODULE_UNKNOWN] = "pending",
        [API_MODULE_FOUND] = "found",
        [API_MODULE_MISSING] = "not found",
        [API_MODULE_UNSUPPORTED] = "unsupported",
        [API_MODULE_MALFORMED] = "malformed",
        [API_MODULE_FAILED] = "failed",
        [API_MODULE_LATE] = "timeout",
    };

    return words[module != NULL ? module->state : API_MODULE_UNKNOWN];
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

void absence_attempts_write(struct json_writer *w,
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
