/*
 * Copyright (C) the ngx_symcache authors
 */

#include "identity.h"

#include <string.h>

const char *identity_set(struct identity *identity, const char *name,
                         size_t size, const uint8_t guid[16], uint32_t age)
{
    symcache_status_e status;

    status = symcache_name_parse(name, size, &identity->key);
    if (status != SYMCACHE_OK) {
        return symcache_status_text(status);
    }
    memcpy(identity->name, name, size);
    identity->name[size] = '\0';
    memcpy(identity->key.guid, guid, 16);
    identity->key.age = age;
    symcache_id_print(identity->id, &identity->key);
    identity->code_id[0] = '\0';
    return NULL;
}

const char *identity_read(struct identity *identity, const char *name,
                          size_t name_size, const char *guid, size_t guid_size,
                          const char *age, size_t age_size)
{
    uint8_t parsed[16];
    uint32_t number = 1;
    symcache_status_e status;

    status = symcache_guid_parse(guid, guid_size, parsed);
    if (status == SYMCACHE_OK && age != NULL) {
        status = symcache_age_parse(age, age_size, &number);
    }
    if (status != SYMCACHE_OK) {
        return symcache_status_text(status);
    }
    return identity_set(identity, name, name_size, parsed, number);
}
