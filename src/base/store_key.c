/*
 * Copyright (C) the ngx_symcache authors
 */

#include "store_key.h"

#include <stdio.h>

void store_key_print(char id[STORE_KEY_MAX], const char *store,
                     const symcache_key_t *key)
{
    char text[SYMCACHE_KEY_TEXT_MAX + 1];

    symcache_key_print(text, key);
    snprintf(id, STORE_KEY_MAX, "%.64s/%s", store, text);
}
