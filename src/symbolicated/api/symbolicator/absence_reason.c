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

void absence_attempts_write(struct json_writer *w,
                            const struct api_module *module)
{
    const struct api_attempts *attempts;
    const struct json *json;
    uint32_t i;

    json_put_open(w, "attempts", '[');
    for (attempts = module->attempts; attempts != NULL;
         attempts = attempts->next) {
        json = attempts->json;
        for (i = attempts->list + 1; i < json->values[attempts->list].end;
             i = json->values[i].end) {
            json_write_open(w, '{');
            json_put_value(w, "source", json, json_member(json, i, "source"));
            json_put_value(w, "outcome", json,
                           json_member(json, i, "outcome"));
            json_put_value(w, "status", json, json_member(json, i, "status"));
            json_put_value(w, "detail", json, json_member(json, i, "detail"));
            json_write_close(w, '}');
        }
    }
    json_write_close(w, ']');
}
