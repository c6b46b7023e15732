/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdio.h>
#include "id.h"

void id_print(char id[ID_MAX], const char *store, const symcache_key_t *key)
{
    char relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_dir(relative, key);
    snprintf(id, ID_MAX, "%.64s/%s", store, relative);
}

/* FNV-1a */
unsigned id_hash(const char *id)
{
    unsigned h = 2166136261u;

    for (; *id != '\0'; id++) {
        h = (h ^ (unsigned char)*id) * 16777619u;
    }
    return h;
}
