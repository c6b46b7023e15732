/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "manifest.h"

bool sourcebundle_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "SYSB", 4) == 0;
}

/* The last part of a path of any system. */
static void set_name(char name[SOURCEBUNDLE_NAME_SIZE],
                     const struct symc_text *path)
{
    size_t at = path->size;

    while (at > 0 && path->data[at - 1] != '/' && path->data[at - 1] != '\\') {
        at--;
    }
    if (path->size - at < SOURCEBUNDLE_NAME_SIZE &&
        memchr(path->data, '\0', path->size) == NULL) {
        memcpy(name, path->data + at, path->size - at);
    }
}

int sourcebundle_identity_read(const uint8_t *data, size_t size,
                               struct sourcebundle_identity *identity,
                               char *error, size_t error_size)
{
    struct manifest manifest = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct zip *zip = zip_open(data, size);
    static const char name[] = "object_name";
    size_t i;
    int rc;

    if (zip == NULL) {
        snprintf(error, error_size, "is damaged: no archive in it");
        return -1;
    }
    rc = manifest_read(&manifest, zip, &failure);
    snprintf(error, error_size, "%s", failure.text);
    memcpy(identity->guid, manifest.identity.guid, sizeof(identity->guid));
    identity->age = manifest.identity.age;
    memset(identity->name, 0, sizeof(identity->name));
    for (i = 0; i < manifest.num_attributes; i++) {
        if (manifest.attributes[i].name.size == sizeof(name) - 1 &&
            memcmp(manifest.attributes[i].name.data, name,
                   sizeof(name) - 1) == 0) {
            set_name(identity->name, &manifest.attributes[i].value);
        }
    }
    manifest_free(&manifest);
    zip_close(zip);
    return rc;
}
