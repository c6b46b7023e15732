/*
 * Copyright (C) the ngx_symcache authors
 *
 * Members of cJSON's objects and lists.  A command that has no memory for one
 * ends with the message that says so.
 */
#ifndef SYMCACHECTL_CJSON_H
#define SYMCACHECTL_CJSON_H

#include <cjson/cJSON.h>

/* Returns the member of that name, or NULL; object may be NULL or no object.
 */
const cJSON *cjson_get(const cJSON *object, const char *key);

/* Give value to the object or list, which frees it. */
void cjson_add(cJSON *object, const char *key, cJSON *value);
void cjson_append(cJSON *list, cJSON *value);

#endif
