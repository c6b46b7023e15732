/*
 * Copyright (C) the ngx_symcache authors
 */

#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/durable.h"
#include "base/plain_file.h"
#include "proto/path.h"

int transcoder_versions_write(const char *root, const char *tmp,
                              const symcache_version_t *versions, size_t n)
{
    char path[PATH_MAX], text[SYMCACHE_VERSION_TEXT_MAX + 1];
    FILE *list = fopen(tmp, "we");
    size_t i;

    if (list == NULL) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        symcache_version_print(text, &versions[i]);
        fprintf(list, "%s\n", text);
    }
    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_TRANSCODERS_FILE, root);
    return durable_close(list, tmp, path);
}

void transcoder_versions_remove_outdated(const char *root,
                                         const symcache_version_t *versions,
                                         size_t n)
{
    char path[PATH_MAX], line[64], text[SYMCACHE_VERSION_TEXT_MAX + 1];
    bool same = true;
    size_t i;
    FILE *list;

    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_TRANSCODERS_FILE, root);
    list = plain_file_read(path);
    if (list == NULL) {
        return;
    }
    for (i = 0; i < n && same; i++) {
        symcache_version_print(text, &versions[i]);
        same = fgets(line, sizeof(line), list) != NULL &&
               strncmp(line, text, strlen(text)) == 0 &&
               strcmp(line + strlen(text), "\n") == 0;
    }
    same = same && fgets(line, sizeof(line), list) == NULL && !ferror(list);
    fclose(list);
    if (!same) {
        (void)unlink(path);
    }
}

bool transcoder_versions_exist(const char *root)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_TRANSCODERS_FILE, root);
    return access(path, F_OK) == 0 || errno != ENOENT;
}
