/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "command.h"
#include "identity.h"

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

/* GUIDAGE in one piece: longer than a GUID alone can be without dashes. */
static int is_id(const char *text, struct identity *identity)
{
    size_t size = strlen(text);

    return size > 32 && size <= SYMCACHE_ID_TEXT_MAX &&
           symcache_id_parse(text, size, &identity->key) == SYMCACHE_OK;
}

int identity_operands(const char *command, int count, char **operands,
                      struct identity *identity)
{
    const char *wrong, *name, *id, *age;
    size_t size;

    if (count < 1 || count > 3) {
        command_usage(command, "which PDB? Say PDB GUID AGE", NULL);
        return -1;
    }
    name = operands[0];
    size = strlen(name);
    id = count > 1 ? operands[1] : strrchr(name, '/');
    age = count > 2 ? operands[2] : NULL;
    if (id == NULL) {
        command_usage(command, "no GUID and age behind the PDB", name);
        return -1;
    }
    if (count == 1) {
        size = (size_t)(id - name);
        id++;
    }
    if (age == NULL && is_id(id, identity)) {
        wrong = identity_set(identity, name, size, identity->key.guid,
                             identity->key.age);
    } else {
        wrong = identity_read(identity, name, size, id, strlen(id), age,
                              age != NULL ? strlen(age) : 0);
    }
    if (wrong != NULL) {
        command_usage(command, wrong, count > 1 ? operands[1] : name);
        return -1;
    }
    return 0;
}
