/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cjson.h"

#include <stdlib.h>
#include <string.h>

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

void cjson_add_text(cJSON *object, const char *key, const char *text)
{
    cjson_add(object, key, cJSON_CreateString(text));
}

void cjson_add_string(cJSON *object, const char *key, const char *data,
                      size_t size)
{
    char *text = strndup(data, size);

    if (text == NULL) {
        command_no_memory();
    }
    cjson_add_text(object, key, text);
    free(text);
}

void cjson_add_number(cJSON *object, const char *key, double number)
{
    cjson_add(object, key, cJSON_CreateNumber(number));
}

cJSON *cjson_add_list(cJSON *object, const char *key)
{
    cJSON *list = cJSON_CreateArray();

    cjson_add(object, key, list);
    return list;
}

cJSON *cjson_append_object(cJSON *list)
{
    cJSON *object = cJSON_CreateObject();

    cjson_append(list, object);
    return object;
}

char *cjson_print(const cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);

    if (text == NULL) {
        command_no_memory();
    }
    return text;
}

char *cjson_finish(cJSON *object)
{
    char *text = cjson_print(object);

    cJSON_Delete(object);
    return text;
}
