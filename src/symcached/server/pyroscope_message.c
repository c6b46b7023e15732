/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pyroscope_message.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <string.h>

static const char damaged[] = "the message is damaged";
static const char no_build_id[] = "the GNU build id has 2 to 40 hex digits";

/* Fields of FileMetadata; of the flat messages the first one. */
#define FIELD_BUILD_ID 1
#define FIELD_NAME 4

/* Wire types: protobuf.dev/programming-guides/encoding */
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct input {
    const uint8_t *p;
    const uint8_t *end;
};

static bool read_varint(struct input *in, uint64_t *value)
{
    unsigned shift;

    *value = 0;
    for (shift = 0; shift < 64 && in->p < in->end; shift += 7) {
        *value |= (uint64_t)(*in->p & 0x7f) << shift;
        if ((*in->p++ & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

static bool skip_field(struct input *in, uint64_t size)
{
    if (size > (uint64_t)(in->end - in->p)) {
        return false;
    }
    in->p += size;
    return true;
}

/* Reads the next field; *bytes is that of BYTES, and empty of others.  Returns
 * false if it is damaged. */
static bool read_field(struct input *in, uint64_t *number, struct input *bytes)
{
    uint64_t tag, value;

    bytes->p = bytes->end = in->p;
    if (!read_varint(in, &tag)) {
        return false;
    }
    *number = tag >> 3;
    switch (tag & 7) {
    case VARINT:
        return read_varint(in, &value);
    case FIXED64:
        return skip_field(in, 8);
    case FIXED32:
        return skip_field(in, 4);
    case BYTES:
        if (!read_varint(in, &value)) {
            return false;
        }
        bytes->p = in->p;
        if (!skip_field(in, value)) {
            return false;
        }
        bytes->end = in->p;
        return true;
    default:
        return false;
    }
}

bool pyroscope_build_id(char to[PYROSCOPE_BUILD_ID_MAX + 1], const char *text,
                        size_t size)
{
    size_t i;

    if (size == 1 || size > PYROSCOPE_BUILD_ID_MAX || size % 2 != 0) {
        return false;
    }
    for (i = 0; i < size; i++) {
        if (text[i] >= 'A' && text[i] <= 'F') {
            to[i] = (char)(text[i] - 'A' + 'a');
        } else if ((text[i] >= 'a' && text[i] <= 'f') ||
                   (text[i] >= '0' && text[i] <= '9')) {
            to[i] = text[i];
        } else {
            return false;
        }
    }
    to[size] = '\0';
    return true;
}

/* A name that cannot be one of a file is left out: the file has others. */
static void take_name(struct pyroscope_file *file, const char *text,
                      size_t size)
{
    symcache_key_t key = {.name_len = 0};

    file->name[0] = '\0';
    if (size > 0 && text[0] != '.' &&
        symcache_name_parse(text, size, &key) == SYMCACHE_OK) {
        memcpy(file->name, key.name, (size_t)key.name_len + 1);
    }
}

static const char *read_fields(struct input *in, struct pyroscope_file *file)
{
    struct input bytes;
    uint64_t number;

    while (in->p < in->end) {
        if (!read_field(in, &number, &bytes)) {
            return damaged;
        }
        if (number == FIELD_BUILD_ID &&
            !pyroscope_build_id(file->build_id, (const char *)bytes.p,
                                (size_t)(bytes.end - bytes.p))) {
            return no_build_id;
        }
        if (number == FIELD_NAME) {
            take_name(file, (const char *)bytes.p,
                      (size_t)(bytes.end - bytes.p));
        }
    }
    return NULL;
}

const char *pyroscope_read_proto(const void *data, size_t size, bool is_flat,
                                 struct pyroscope_file *file)
{
    struct input in = {data, (const uint8_t *)data + size}, bytes;
    const char *wrong = NULL;
    uint64_t number;

    memset(file, 0, sizeof(*file));
    if (is_flat) {
        return read_fields(&in, file);
    }
    while (in.p < in.end && wrong == NULL) {
        if (!read_field(&in, &number, &bytes)) {
            return damaged;
        }
        wrong = number == 1 ? read_fields(&bytes, file) : NULL;
    }
    return wrong;
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
        take_name(file, name, strlen(name));
    }
    cJSON_Delete(json);
    return wrong;
}
