/*
 * Copyright (C) the ngx_symcache authors
 *
 * The name of one key in one store, for tables and log lines: the store's name
 * and the key's text, such as <store>/<pdb>/<GUIDAGE>.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "proto/path.h"

#define ID_MAX (64 + 1 + SYMCACHE_PATH_MAX + 1)

void id_print(char id[ID_MAX], const char *store, const symcache_key_t *key);

#endif
