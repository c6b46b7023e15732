/*
 * Copyright (C) the ngx_symcache authors
 *
 * The identity of a module: PDB name, GUID and age.
 */
#pragma once

#include "proto/key.h"
#include "proto/version.h"

struct identity {
    symcache_key_t key;
    char name[SYMCACHE_NAME_MAX +
              1]; /* the name of the key, before it was put in lower case */
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    char code_id[SYMCACHE_ID_TEXT_MAX + 1]; /* of a module that is no PDB; or
                                               "" */
    const char *kind; /* that the path of a request asks for; or NULL */
    symcache_version_t version; /* that it asks for; or 0.0.0 */
};

/* Sets a name of size bytes, and leaves GUID and age.  Returns NULL, or
 * what is wrong with the name. */
const char *identity_set(struct identity *identity, const char *name,
                         size_t size, const uint8_t guid[16], uint32_t age);

/* The same with GUID and age as texts.  The age is decimal, and 1 if there
 * is no text. */
const char *identity_read(struct identity *identity, const char *name,
                          size_t name_size, const char *guid, size_t guid_size,
                          const char *age, size_t age_size);
