/*
 * Copyright (C) the ngx_symcache authors
 */

#include "id.h"

#include <stdio.h>

void id_print(char id[ID_MAX], const char *store, const symcache_key_t *key)
{
    char text[SYMCACHE_KEY_TEXT_MAX + 1];

    symcache_key_print(text, key);
    snprintf(id, ID_MAX, "%.64s/%s", store, text);
}
