/*
 * Copyright (C) the ngx_symcache authors
 */
#include "stored_uploads.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/key.h"
#include "symcached/upload_index/upload_index.h"

static bool is_stored(const char *root, const char *name, const char *id)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%.1024s/%s/%s/%s", root, name, id, name);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool add_stored_of(struct results *results, const char *root,
                          const symcache_key_t *key, const char *build_id)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], id[PATH_MAX];
    struct upload_index_names names = {.n = 0};
    size_t i;

    /* the first of them is that of ELF, as debuginfod has no other files */
    if (upload_index_folders(folders, key) == 0 ||
        upload_index_find(root, folders[0], &names) != 0) {
        return false;
    }
    snprintf(id, sizeof(id), "elf-buildid-sym-%s",
             folders[0] + sizeof("elf-buildid-") - 1);
    if (is_stored(root, "_.debug", id)) {
        results_add(results, "debuginfo", build_id, NULL, NULL);
    }
    for (i = 0; i < names.n; i++) {
        if (!names.list[i].is_asked && !names.list[i].is_text &&
            is_stored(root, names.list[i].text, folders[0])) {
            results_add(results, "executable", build_id, NULL, NULL);
        }
    }
    return true;
}

bool stored_uploads_add(struct results *results, const struct config *config,
                        const char *build_id)
{
    symcache_key_t key = {.name_len = 0};
    bool is_whole = true, is_named;
    char root[PATH_MAX];
    int is_try;
    size_t i;

    if (config->uploads.root == NULL ||
        symcache_build_id_parse(build_id, strlen(build_id), &key) !=
            SYMCACHE_OK) {
        return true;
    }
    for (is_try = 0; is_try < 2; is_try++) {
        is_named = false;
        for (i = 0; i < config->nstores; i++) {
            is_named |= config_store_has_uploads(&config->stores[i], is_try);
        }
        snprintf(root, sizeof(root), "%.1024s%s", config->uploads.root,
                 is_try ? "/" UPLOADS_TRY : "");
        if (is_named) {
            is_whole &= root_mark_check(config) == 0 &&
                        add_stored_of(results, root, &key, build_id);
        }
    }
    return is_whole;
}
