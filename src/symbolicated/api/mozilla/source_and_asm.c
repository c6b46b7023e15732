/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_and_asm.h"

#include <string.h>

#include "base/hex.h"

const char mozilla_no_memory[] = "out of memory";

enum api_next mozilla_refuse(struct api_reply *reply, int status,
                             const char *error)
{
    if (status == 503) {
        api_reply_header(reply, "Retry-After", "1");
    }
    reply->status = status;
    reply->type = "application/json";
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "error", error);
    json_write_close(reply->body, '}');
    return API_FINISHED;
}

bool mozilla_member_text(const struct json *json, const char *name,
                         struct symc_string *text)
{
    uint32_t value =
        json->values[0].type == JSON_OBJECT ? json_member(json, 0, name) : 0;

    if (value == 0 || json->values[value].type != JSON_STRING) {
        return false;
    }
    text->data = json_text(json, value);
    text->size = json->values[value].size;
    return true;
}

bool mozilla_read_hex(const struct symc_string *text, uint64_t *value)
{
    return text->size <= 2 + 16 && text->size > 2 &&
           memcmp(text->data, "0x", 2) == 0 &&
           hex_number(text->data + 2, text->size - 2, value);
}

bool mozilla_set_module(struct api_module *module, symcache_kind_e kind,
                        const struct symc_string *name,
                        const struct symc_string *id)
{
    module->name = name->data;
    module->name_size = name->size;
    if (symcache_name_parse(name->data, name->size, &module->key) !=
            SYMCACHE_OK ||
        symcache_debug_id_parse(id->data, id->size, &module->key) !=
            SYMCACHE_OK) {
        return false;
    }
    module->key.kind = (uint8_t)kind;
    return true;
}
