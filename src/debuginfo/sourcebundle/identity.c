/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manifest.h"

bool sourcebundle_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "SYSB", 4) == 0;
}

/* The last part of a path of any system. */
static void identity_set_name(char name[SOURCEBUNDLE_NAME_SIZE],
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

/* The code id of a PE image is a time stamp and a size, and has at most 16
 * digits. */
static void identity_set_build_id(struct sourcebundle_identity *identity,
                                  const struct symc_text *id)
{
    symcache_key_t key = {0};

    if (symcache_code_id_parse(id->data, id->size, &key) == SYMCACHE_OK &&
        key.id_type == SYMCACHE_ID_BUILD) {
        memcpy(identity->build_id, key.build, key.build_len);
        identity->build_id_size = key.build_len;
    }
}

static bool is_key(const struct symc_text *text, const char *word)
{
    return text->size == strlen(word) &&
           memcmp(text->data, word, text->size) == 0;
}

int sourcebundle_identity_read(const uint8_t *data, size_t size,
                               struct sourcebundle_identity *identity,
                               char *error, size_t error_size)
{
    struct manifest manifest = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct zip *zip = zip_open(data, size);
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
    identity->build_id_size = 0;
    for (i = 0; i < manifest.num_attributes; i++) {
        if (is_key(&manifest.attributes[i].name, "object_name")) {
            identity_set_name(identity->name, &manifest.attributes[i].value);
        } else if (is_key(&manifest.attributes[i].name, "code_id")) {
            identity_set_build_id(identity, &manifest.attributes[i].value);
        }
    }
    manifest_free(&manifest);
    zip_close(zip);
    return rc;
}

static int identity_compare_members(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Returns false without memory. */
static bool identity_take_ids(const struct manifest *manifest,
                              struct sourcebundle_ids *ids)
{
    size_t i, n = 0;

    ids->n = 0;
    ids->texts = calloc(manifest->num_files + 1, sizeof(ids->texts[0]));
    if (ids->texts == NULL) {
        return false;
    }
    for (i = 0; i < manifest->num_files; i++) {
        if (manifest->files[i].has_id) {
            symcache_debug_id_write(ids->texts[n++], manifest->files[i].guid,
                                    0);
        }
    }
    qsort(ids->texts, n, sizeof(ids->texts[0]), identity_compare_members);
    for (i = 0; i < n; i++) {
        if (i == 0 || strcmp(ids->texts[i], ids->texts[i - 1]) != 0) {
            memmove(ids->texts[ids->n++], ids->texts[i],
                    sizeof(ids->texts[0]));
        }
    }
    return true;
}

int sourcebundle_ids_read(const uint8_t *data, size_t size,
                          struct sourcebundle_ids *ids, char *error,
                          size_t error_size)
{
    struct manifest manifest = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct zip *zip = zip_open(data, size);
    int rc;

    if (zip == NULL) {
        snprintf(error, error_size, "is damaged: no archive in it");
        return -1;
    }
    rc = manifest_read(&manifest, zip, &failure);
    snprintf(error, error_size, "%s", failure.text);
    if (rc == 0 && !identity_take_ids(&manifest, ids)) {
        snprintf(error, error_size, "needs more memory than there is");
        rc = -1;
    }
    manifest_free(&manifest);
    zip_close(zip);
    return rc;
}

void sourcebundle_ids_free(struct sourcebundle_ids *ids)
{
    free(ids->texts);
}
