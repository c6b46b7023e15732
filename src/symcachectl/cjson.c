/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cjson.h"
#include "command.h"

const cJSON *cjson_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

void cjson_add(cJSON *object, const char *key, cJSON *value)
{
    if (value == NULL || !cJSON_AddItemToObject(object, key, value)) {
        command_no_memory();
    }
}

void cjson_append(cJSON *list, cJSON *value)
{
    if (value == NULL || !cJSON_AddItemToArray(list, value)) {
        command_no_memory();
    }
}
