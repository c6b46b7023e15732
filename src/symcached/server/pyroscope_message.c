/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pyroscope_message.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/hex.h"
#include "base/protobuf.h"

static const char damaged[] = "the message is damaged";
static const char no_build_id[] = "the GNU build id has 2 to 40 hex digits";

/* Fields of FileMetadata; of the flat messages the first one. */
#define FIELD_BUILD_ID 1
#define FIELD_NAME 4

bool pyroscope_build_id(char to[PYROSCOPE_BUILD_ID_MAX + 1], const char *text,
                        size_t size)
{
    size_t i;

    if (size > PYROSCOPE_BUILD_ID_MAX || size % 2 != 0) {
        return false;
    }
    for (i = 0; i < size && hex_digit(text[i]) >= 0; i++) {
        to[i] = HEX_LOWER[hex_digit(text[i])];
    }
    to[i] = '\0';
    return i == size;
}

/* A name that cannot be one of a file is left out: the file has others. */
static void pyroscope_take_name(struct pyroscope_file *file, const char *text,
                                size_t size)
{
    symcache_key_t key = {.name_len = 0};

    file->name[0] = '\0';
    if (size > 0 && text[0] != '.' &&
        symcache_name_parse(text, size, &key) == SYMCACHE_OK) {
        memcpy(file->name, key.name, (size_t)key.name_len + 1);
    }
}

static const char *read_fields(struct protobuf message,
                               struct pyroscope_file *file)
{
    struct protobuf_field field;
    const char *text;
    size_t size;

    while (protobuf_next(&message, &field)) {
        text = (const char *)field.bytes.at;
        size = (size_t)(field.bytes.end - field.bytes.at);
        if (field.number == FIELD_BUILD_ID &&
            !pyroscope_build_id(file->build_id, text, size)) {
            return no_build_id;
        }
        if (field.number == FIELD_NAME) {
            pyroscope_take_name(file, text, size);
        }
    }
    return message.is_damaged ? damaged : NULL;
}

const char *pyroscope_read_proto(const void *data, size_t size, bool is_flat,
                                 struct pyroscope_file *file)
{
    struct protobuf message = protobuf_of(data, size);
    struct protobuf_field field;
    const char *wrong = NULL;

    memset(file, 0, sizeof(*file));
    if (is_flat) {
        return read_fields(message, file);
    }
    while (wrong == NULL && protobuf_next(&message, &field)) {
        wrong = field.number == 1 ? read_fields(field.bytes, file) : NULL;
    }
    return wrong == NULL && message.is_damaged ? damaged : wrong;
}

const char *pyroscope_read_json(const char *text, size_t size, bool is_flat,
                                struct pyroscope_file *file)
{
    cJSON *json = cJSON_ParseWithLength(text, size);
    const cJSON *object =
        is_flat ? json : cJSON_GetObjectItemCaseSensitive(json, "file");
    const char *id = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(object, "gnuBuildId"));
    const char *name = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(object, "name"));
    const char *wrong = cJSON_IsObject(json) ? NULL : damaged;

    memset(file, 0, sizeof(*file));
    if (id != NULL &&
        !pyroscope_build_id(file->build_id, id, strlen(id))) {
        wrong = no_build_id;
    }
    if (name != NULL) {
        pyroscope_take_name(file, name, strlen(name));
    }
    cJSON_Delete(json);
    return wrong;
}
