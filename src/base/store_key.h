/*
 * Copyright (C) the ngx_symcache authors
 *
 * The name of one key in one store, for tables and log lines: the store's name
 * and the key's text, such as <store>/<pdb>/<GUIDAGE>.
 */
#pragma once

#include "proto/path.h"

#define STORE_KEY_MAX (64 + 1 + SYMCACHE_PATH_MAX + 1)

void store_key_print(char id[STORE_KEY_MAX], const char *store,
                     const symcache_key_t *key);
