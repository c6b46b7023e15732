/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which module is meant: PDB name, GUID and age.
 */
#ifndef SYMCACHECTL_IDENTITY_H
#define SYMCACHECTL_IDENTITY_H

#include "proto/key.h"

struct identity {
    symcache_key_t key;
    char name[SYMCACHE_NAME_MAX + 1]; /* the key's in its own case */
    char id[SYMCACHE_ID_TEXT_MAX + 1];
};

/* A name of size bytes, GUID and age as they are.  Returns NULL, or what is
 * wrong with the name. */
const char *identity_set(struct identity *identity, const char *name,
                         size_t size, const uint8_t guid[16], uint32_t age);

/* The same with GUID and age (decimal; 1 without text) as text. */
const char *identity_read(struct identity *identity, const char *name,
                          size_t name_size, const char *guid, size_t guid_size,
                          const char *age, size_t age_size);

#endif
