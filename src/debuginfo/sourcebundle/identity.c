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

int sourcebundle_identity_read(const uint8_t *data, size_t size,
                               struct sourcebundle_identity *identity,
                               char *error, size_t error_size)
{
    struct manifest manifest = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct zip *zip = zip_open(data, size);
    int rc = -1;

    if (zip == NULL) {
        snprintf(error, error_size, "is damaged: no archive in it");
        return -1;
    }
    rc = manifest_read(&manifest, zip, &failure);
    snprintf(error, error_size, "%s", failure.text);
    memcpy(identity->guid, manifest.identity.guid, sizeof(identity->guid));
    identity->age = manifest.identity.age;
    manifest_free(&manifest);
    zip_close(zip);
    return rc;
}
