/*
 * Copyright (C) the ngx_symcache authors
 *
 * Members of cJSON's objects and lists.  A command that has no memory for one
 * ends with the message that says so.
 */
#pragma once

#include <cjson/cJSON.h>

/* Returns the member of that name, or NULL; object may be NULL or no object.
 */
const cJSON *cjson_get(const cJSON *object, const char *key);

/* Give value to the object or list, which frees it. */
void cjson_add(cJSON *object, const char *key, cJSON *value);
void cjson_append(cJSON *list, cJSON *value);

void cjson_add_text(cJSON *object, const char *key, const char *text);
void cjson_add_string(cJSON *object, const char *key, const char *data,
                      size_t size);
void cjson_add_number(cJSON *object, const char *key, double number);

/* Add an empty list or object, and return it. */
cJSON *cjson_add_list(cJSON *object, const char *key);
cJSON *cjson_append_object(cJSON *list);

/* The text of an object, without blanks; free() it.  cjson_finish() frees the
 * object. */
char *cjson_print(const cJSON *object);
char *cjson_finish(cJSON *object);
