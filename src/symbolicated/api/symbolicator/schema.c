/*
 * Copyright (C) the ngx_symcache authors
 */
#include "schema.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/hex.h"

const char *const schema_frame_orders[] = {"caller_first", "callee_first",
                                           NULL};

int schema_read(struct schema_walk *walk, struct json *json, char *body,
                size_t size, size_t most, bool takes_rest)
{
    struct json_error wrong = {"trailing characters", 0, 1, 1, false};
    size_t n = json_read(json, body, size, most, &wrong);

    walk->json = json;
    if (n > 0 && (n == size || takes_rest)) {
        return 0;
    }
    snprintf(walk->error, walk->error_size, "%s at line %u column %zu",
             wrong.reason, wrong.line, wrong.column);
    return wrong.out_of_memory ? 500 : 400;
}

void schema_enter(struct schema_walk *walk, const char *name, size_t index)
{
    if (walk->depth < SCHEMA_PATH_MAX) {
        walk->path[walk->depth].name = name;
        walk->path[walk->depth].index = index;
    }
    walk->depth++;
}

void schema_leave(struct schema_walk *walk)
{
    walk->depth--;
}

bool schema_next(struct schema_walk *walk, const char *name, uint32_t list,
                 uint32_t *item)
{
    const struct json_value *values = walk->json->values;

    if (list == 0) {
        return false;
    }
    if (*item == 0) {
        schema_enter(walk, name, 0);
        schema_enter(walk, NULL, 0);
        *item = list + 1;
    } else {
        walk->path[walk->depth - 1].index++;
        *item = values[*item].end;
    }
    if (*item < values[list].end) {
        return true;
    }
    walk->depth -= 2;
    return false;
}

bool schema_fail(struct schema_walk *walk, const char *reason)
{
    size_t i, n;

    walk->error[0] = '\0';
    for (i = n = 0;
         !walk->is_bare && i < walk->depth && i < SCHEMA_PATH_MAX; i++) {
        n = strlen(walk->error);
        if (walk->path[i].name != NULL) {
            snprintf(walk->error + n, walk->error_size - n, "%s%s",
                     i > 0 ? "." : "", walk->path[i].name);
        } else {
            snprintf(walk->error + n, walk->error_size - n, "[%zu]",
                     walk->path[i].index);
        }
    }
    n = strlen(walk->error);
    snprintf(walk->error + n, walk->error_size - n, "%s%s", n > 0 ? ": " : "",
             reason);
    return false;
}

bool schema_fail_member(struct schema_walk *walk, const char *name,
                        const char *reason)
{
    schema_enter(walk, name, 0);
    schema_fail(walk, reason);
    schema_leave(walk);
    return false;
}

bool schema_hex(const struct json *json, uint32_t value, uint64_t *hex)
{
    uint64_t n;
    const char *p;
    const struct json_value *v;

    v = &json->values[value];
    if (v->type == JSON_STRING) {
        p = json_text(json, value);
        return v->size > 2 && p[0] == '0' && (p[1] | 0x20) == 'x'
                   ? hex_number(p + 2, v->size - 2, hex)
                   : decimal_number(p, v->size, hex);
    }
    switch (json_integer(json, value, hex)) {
    case JSON_INTEGER_POSITIVE:
        return true;
    case JSON_INTEGER_NEGATIVE:
        n = *hex;
        *hex = 0 - n;
        return n <= (uint64_t)INT64_MAX + 1;
    default:
        return false;
    }
}

static bool schema_is_strings(const struct json *json, uint32_t value)
{
    uint32_t i;

    if (json->values[value].type != JSON_ARRAY) {
        return false;
    }
    for (i = value + 1; i < json->values[value].end; i++) {
        if (json->values[i].type != JSON_STRING) {
            return false;
        }
    }
    return true;
}

static bool schema_is_one_of(const struct json *json, uint32_t value,
                             const char *const *texts)
{
    for (; *texts != NULL; texts++) {
        if (json_is(json, value, *texts)) {
            return true;
        }
    }
    return false;
}

/* What a value is. */
static void schema_describe_value(char *text, size_t size,
                                  const struct json *json, uint32_t value)
{
    const struct json_value *v = &json->values[value];
    int n = (int)(v->size < 32 ? v->size : 32);

    switch (v->type) {
    case JSON_NULL:
        snprintf(text, size, "null");
        break;
    case JSON_FALSE:
    case JSON_TRUE:
        snprintf(text, size, "boolean `%s`",
                 v->type == JSON_TRUE ? "true" : "false");
        break;
    case JSON_NUMBER:
        snprintf(text, size, "%s `%.*s`",
                 memchr(json_text(json, value), '.', v->size) != NULL
                     ? "floating point"
                     : "integer",
                 n, json_text(json, value));
        break;
    case JSON_STRING:
        snprintf(text, size, "string \"%.*s\"", n, json_text(json, value));
        break;
    default:
        snprintf(text, size, "%s",
                 v->type == JSON_ARRAY ? "sequence" : "map");
    }
}

/* NULL, or what was expected instead. */
static const char *schema_mismatch(const struct json *json, uint32_t value,
                                   const struct schema_member *member)
{
    uint64_t n;
    uint32_t type;

    type = json->values[value].type;
    switch (member->type) {
    case SCHEMA_ANY:
        return NULL;
    case SCHEMA_STRING:
        return type == JSON_STRING ? NULL : "a string";
    case SCHEMA_STRINGS:
        return schema_is_strings(json, value) ? NULL : "a list of strings";
    case SCHEMA_BOOL:
        return type == JSON_TRUE || type == JSON_FALSE ? NULL
                                                       : "a boolean";
    case SCHEMA_U32:
        return json_integer(json, value, &n) == JSON_INTEGER_POSITIVE &&
                       n <= UINT32_MAX
                   ? NULL
                   : "u32";
    case SCHEMA_U64:
        return json_integer(json, value, &n) == JSON_INTEGER_POSITIVE
                   ? NULL
                   : "u64";
    case SCHEMA_HEX:
        return schema_hex(json, value, &n) ? NULL
                                          : "a number or hex string";
    case SCHEMA_LIST:
        return type == JSON_ARRAY ? NULL : "a sequence";
    case SCHEMA_OBJECT:
        return type == JSON_OBJECT || type == JSON_ARRAY
                   ? NULL
                   : "a map";
    case SCHEMA_MAP:
        return type == JSON_OBJECT ? NULL : "a map";
    case SCHEMA_ENUMERATION:
        return schema_is_one_of(json, value, member->texts) ? NULL
                                                            : "another text";
    }
    return NULL;
}

static bool schema_take_member(struct schema_walk *walk, uint32_t value,
                               const struct schema_member *member,
                               uint32_t *found)
{
    const char *expected;
    char reason[160], found_text[64];

    if (member->presence == SCHEMA_NULLABLE &&
        walk->json->values[value].type == JSON_NULL) {
        return true;
    }
    expected = schema_mismatch(walk->json, value, member);
    if (expected == NULL) {
        *found = value;
        return true;
    }
    if (member->type == SCHEMA_ENUMERATION) {
        return schema_fail_member(walk, member->name, "unknown variant");
    }
    schema_describe_value(found_text, sizeof(found_text), walk->json, value);
    snprintf(reason, sizeof(reason), "invalid type: %s, expected %s",
             found_text, expected);
    return schema_fail_member(walk, member->name, reason);
}

static bool schema_required_are_there(struct schema_walk *walk,
                                      const struct schema_member *members,
                                      size_t count, const uint32_t *found)
{
    size_t i;
    char reason[64];

    for (i = 0; i < count; i++) {
        if (members[i].presence == SCHEMA_REQUIRED && found[i] == 0) {
            snprintf(reason, sizeof(reason), "missing field `%s`",
                     members[i].name);
            return schema_fail(walk, reason);
        }
    }
    return true;
}

/* The values of an array are those of the members, in their order. */
static bool schema_take_items(struct schema_walk *walk, uint32_t value,
                              const struct schema_member *members,
                              size_t count, uint32_t *found)
{
    size_t k;
    uint32_t i;
    const struct json_value *values;

    values = walk->json->values;
    for (i = value + 1, k = 0; i < values[value].end; i = values[i].end, k++) {
        if (k == count) {
            return schema_fail(walk, "too many items for its members");
        }
        if (!schema_take_member(walk, i, &members[k], &found[k])) {
            return false;
        }
    }
    return true;
}

static bool schema_take_members(struct schema_walk *walk, uint32_t value,
                                const struct schema_member *members,
                                size_t count, uint32_t *found)
{
    size_t k;
    uint32_t i, seen;
    char reason[64], first;
    const struct json_value *values;

    values = walk->json->values;
    seen = 0;
    for (i = value + 1; i < values[value].end; i = values[i + 1].end) {
        first = values[i].size > 0 ? *json_text(walk->json, i) : '\0';
        for (k = 0; k < count; k++) {
            if (members[k].name[0] == first &&
                json_is(walk->json, i, members[k].name)) {
                break;
            }
        }
        if (k == count) {
            continue;
        }
        if ((seen & (uint32_t)1 << k) != 0) {
            snprintf(reason, sizeof(reason), "duplicate field `%s`",
                     members[k].name);
            return schema_fail(walk, reason);
        }
        seen |= (uint32_t)1 << k;
        if (!schema_take_member(walk, i + 1, &members[k], &found[k])) {
            return false;
        }
    }
    return true;
}

bool schema_object(struct schema_walk *walk, uint32_t value,
                   const struct schema_member *members, size_t count,
                   uint32_t *found)
{
    uint32_t type;

    memset(found, 0, count * sizeof(*found));
    type = walk->json->values[value].type;
    if (type != JSON_OBJECT && type != JSON_ARRAY) {
        return schema_fail(walk, "expected a map");
    }
    if (!(type == JSON_OBJECT ? schema_take_members : schema_take_items)(
            walk, value, members, count, found)) {
        return false;
    }
    return schema_required_are_there(walk, members, count, found);
}

bool schema_part(struct schema_walk *walk, const char *name, uint32_t value,
                 const struct schema_member *members, size_t count,
                 uint32_t *found)
{
    memset(found, 0, count * sizeof(*found));
    if (value != 0) {
        schema_enter(walk, name, 0);
        if (!schema_object(walk, value, members, count, found)) {
            return false;
        }
        schema_leave(walk);
    }
    return true;
}

struct symc_string schema_text(const struct json *json, uint32_t value)
{
    return value != 0 ? (struct symc_string){json_text(json, value),
                                             json->values[value].size}
                      : (struct symc_string){NULL, 0};
}
