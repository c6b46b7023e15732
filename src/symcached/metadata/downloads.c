/*
 * Copyright (C) the ngx_symcache authors
 */
#include "downloads.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/glob.h"
#include "proto/key.h"
#include "proto/properties.h"

#define FOLDERS_MAX 200000
#define GLOB_STEPS 20000 /* for one path */

static const char downloads_prefix[] = "buildid-";

/* The value of a property in text, which is cut there; or NULL. */
static const char *download_property(char *text, const char *name)
{
    char *line = text, *next;
    size_t n = strlen(name);

    for (; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            next++;
        }
        if (strncmp(line, SYMCACHE_PROPERTY_DEBUGINFOD,
                    sizeof(SYMCACHE_PROPERTY_DEBUGINFOD) - 1) == 0 &&
            strncmp(line + sizeof(SYMCACHE_PROPERTY_DEBUGINFOD) - 1, name,
                    n) == 0 &&
            strncmp(line + sizeof(SYMCACHE_PROPERTY_DEBUGINFOD) - 1 + n, ": ",
                    2) == 0) {
            return line + sizeof(SYMCACHE_PROPERTY_DEBUGINFOD) + 1 + n;
        }
    }
    return NULL;
}

/* Copies the value up to the end of its line; NULL: there is none. */
static const char *copy_download_value(char *buf, const char *value)
{
    if (value == NULL) {
        return NULL;
    }
    snprintf(buf, SYMCACHE_PROPERTIES_MAX + 1, "%.*s",
             (int)strcspn(value, "\n"), value);
    return buf;
}

static bool is_download_wanted(enum metadata_key key, const char *value,
                               const char *file)
{
    size_t steps = GLOB_STEPS;

    switch (key) {
    case METADATA_FILE:
        return file != NULL && strcmp(file, value) == 0;
    case METADATA_GLOB:
        return file != NULL &&
               glob_matches(value, strlen(value), file, strlen(file), &steps);
    default:
        return true;
    }
}

/* Adds the two files that a build id may have. */
static void look_at_download(struct results *results, const char *folder,
                             const char *id, enum metadata_key key,
                             const char *value)
{
    static const symcache_kind_e kinds[] = {SYMCACHE_KIND_DEBUGINFO,
                                            SYMCACHE_KIND_EXECUTABLE};
    char text[SYMCACHE_PROPERTIES_MAX + 1], file[SYMCACHE_PROPERTIES_MAX + 1];
    char archive[SYMCACHE_PROPERTIES_MAX + 1], path[PATH_MAX];
    const char *name;
    struct stat st;
    ssize_t n;
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s%s", folder, id,
                             SYMCACHE_NAME_NONE,
                             symcache_kind(kinds[i])->end) >= sizeof(path) ||
            stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        n = getxattr(path, SYMCACHE_PROPERTIES_ATTRIBUTE, text,
                     sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        name = copy_download_value(file, download_property(text, "file"));
        if (is_download_wanted(key, value, name)) {
            results_add(results, symcache_kind_text(kinds[i]),
                        id + sizeof(downloads_prefix) - 1, name,
                        copy_download_value(
                            archive, download_property(text, "archive")));
        }
    }
}

bool downloads_walk(struct results *results, const char *folder,
                    enum metadata_key key, const char *value)
{
    char id[sizeof(downloads_prefix) + 2 * SYMCACHE_BUILD_ID_MAX];
    const struct dirent *entry;
    unsigned n = 0;
    bool is_whole;
    DIR *dir;

    if (key == METADATA_BUILDID) {
        snprintf(id, sizeof(id), "%s%s", downloads_prefix, value);
        look_at_download(results, folder, id, key, value);
        return true;
    }
    dir = opendir(folder);
    if (dir == NULL) {
        return errno == ENOENT;
    }
    while ((errno = 0, entry = readdir(dir)) != NULL && n < FOLDERS_MAX) {
        if (strncmp(entry->d_name, downloads_prefix,
                    sizeof(downloads_prefix) - 1) == 0) {
            look_at_download(results, folder, entry->d_name, key, value);
            n++;
        }
    }
    is_whole = entry == NULL && errno == 0;
    closedir(dir);
    return is_whole;
}
