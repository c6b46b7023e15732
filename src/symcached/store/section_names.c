/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/plain_file.h"
#include "base/workdir.h"
#include "proto/path.h"

#define NAMES_FILE ".sections" /* a line for each name, as folders have it */

static FILE *section_open_names(const char *root)
{
    char path[PATH_MAX];
    int fd;
    FILE *f;

    snprintf(path, sizeof(path), "%.1024s/" NAMES_FILE, root);
    fd = open(path,
              O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0644);
    f = fd < 0 ? NULL : fdopen(fd, "a+");
    if (f == NULL && fd >= 0) {
        close(fd);
    }
    return f;
}

/* Reads the next name.  A line that was cut is of a section that did not get
 * its place. */
static bool section_next_name(FILE *f, symcache_key_t *key)
{
    char line[sizeof(key->name) + 1];
    size_t len;

    while (fgets(line, sizeof(line), f) != NULL) {
        len = strcspn(line, "\n"); /* a power failure may leave zeros */
        if (line[len] == '\n' && len > 0 && len < sizeof(key->name)) {
            line[len] = '\0';
            memcpy(key->name, line, len + 1);
            key->name_len = (uint32_t)len;
            return true;
        }
    }
    return false;
}

int section_names_add(const char *root, const symcache_key_t *key)
{
    symcache_key_t each;
    bool found = false;
    FILE *f = section_open_names(root);

    if (f == NULL && errno == ENOENT && workdir_make_path(root) == 0) {
        f = section_open_names(root);
    }
    if (f == NULL) {
        return -1;
    }
    rewind(f);
    while (!found && section_next_name(f, &each)) {
        found = strcmp(each.name, key->name) == 0;
    }
    /* a line that was cut is ended first */
    if (!found) {
        fseek(f, 0, SEEK_END);
        fprintf(f, "\n%s\n", key->name);
    }
    return fclose(f) == 0 ? 0 : -1;
}

void section_names_discard(const char *root, const symcache_key_t *id)
{
    symcache_key_t key = *id;
    char path[PATH_MAX], relative[SYMCACHE_PATH_MAX + 1];
    FILE *f;

    snprintf(path, sizeof(path), "%.1024s/" NAMES_FILE, root);
    f = plain_file_read(path);
    if (f == NULL) {
        return;
    }
    key.kind = SYMCACHE_KIND_SECTION;
    while (section_next_name(f, &key)) {
        symcache_path_original(relative, &key);
        snprintf(path, sizeof(path), "%.1024s/%s", root, relative);
        (void)unlink(path);
    }
    fclose(f);
}
