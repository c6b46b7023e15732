/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sympath_folders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/stat_timeout.h"

#define SYMPATH_EXAMPLE "\"srv*https://h.example.com/symbols\""

int config_sympath_value(struct config_reader *r, const cJSON *item,
                         const struct config_field *field, void *at)
{
    return field_text(r, item, SYMPATH_EXAMPLE) != NULL ? 0 : -1;
}

int config_sympath_read(struct config_reader *r, const cJSON *item,
                        struct config_sympath *sympath)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "value");
    const char *text;

    if (value == NULL) {
        return field_error(r, item, "\"value\" is missing");
    }
    text = field_text(r, value, SYMPATH_EXAMPLE);
    if (text == NULL) {
        return -1;
    }
    if (sympath_parse(&sympath->path, text) != 0) {
        return field_error(r, value, "%s", sympath->path.error);
    }
    return 0;
}

/* UNKNOWN is a path on a share that does not answer or that may not be read.
 * It must not be treated as missing, as it may be there later. */
enum presence { PRESENT, MISSING, UNKNOWN };

static enum presence look_for(const char *path, bool folder)
{
    mode_t mode;

    if (stat_with_timeout(path, F_OK, &mode) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? MISSING : UNKNOWN;
    }
    return !folder || S_ISDIR(mode) ? PRESENT : MISSING;
}

/* Finds the local folder for a place, which may be a whole share such as
 * "\\srv\share".  Returns NULL, or why there is none. */
static const char *find_folder(const struct source_config *source,
                               const char *text, char *folder)
{
    char location[SYMPATH_TEXT + 2], rel[SYMPATH_TEXT + 2];
    const char *root, *refused;
    size_t len;

    if (text[0] == '/' && text[1] != '/') {
        snprintf(folder, CONFIG_PATH_MAX, "%s", text);
        return strlen(text) < CONFIG_PATH_MAX ? NULL : "is too long";
    }

    /* config_map_location() maps files, so the path of one in the folder is
       mapped, and its name is cut off again */
    snprintf(location, sizeof(location), "%s\\x", text);
    refused = config_map_location(source->map, source->nmap, NULL, location,
                                  &root, rel);
    if (refused != NULL) {
        return refused;
    }
    len = strlen(rel);
    rel[len > 1 ? len - 2 : 0] = '\0';
    return snprintf(folder, CONFIG_PATH_MAX, "%s%s%s", root,
                    rel[0] != '\0' ? "/" : "", rel) < CONFIG_PATH_MAX
               ? NULL
               : "is too long";
}

static void add_folder(struct config_sympath *sympath, const char *folder,
                       const char *below, enum source_layout layout)
{
    int len = snprintf(sympath->folders[sympath->n], CONFIG_PATH_MAX, "%s%s",
                       folder, below);

    if (len < CONFIG_PATH_MAX) {
        sympath->layouts[sympath->n++] = layout;
    }
}

/* Adds a folder of PDBs, or a store if it has pingme.txt.  Returns false with
 * errno if it cannot be found out which of the two it is. */
static bool add_plain(struct config_sympath *sympath, const char *folder)
{
    static const char *const below[] = {"/pdb", "/symbols/pdb"};
    char path[CONFIG_PATH_MAX + 16];
    bool missing;
    size_t i;

    snprintf(path, sizeof(path), "%s/pingme.txt", folder);
    switch (look_for(path, false)) {
    case PRESENT:
        add_folder(sympath, folder, "", LAYOUT_SYMSTORE);
        return true;
    case UNKNOWN:
        return false;
    case MISSING:
        break;
    }

    /* a missing folder may turn out to be either, so all are added for it */
    missing = look_for(folder, true) == MISSING;
    add_folder(sympath, folder, "", LAYOUT_FLAT);
    for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", folder, below[i]);
        if (missing || look_for(path, true) != MISSING) {
            add_folder(sympath, folder, below[i], LAYOUT_FLAT);
        }
    }
    if (missing) {
        add_folder(sympath, folder, "", LAYOUT_SYMSTORE);
    }
    return true;
}

int config_sympath_folders(struct config_reader *r, const cJSON *item,
                           const struct source_config *source,
                           const struct sympath_place *place,
                           struct config_sympath *sympath)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "value");
    char folder[CONFIG_PATH_MAX];
    const char *refused = find_folder(source, place->text, folder);

    sympath->n = 0;
    if (place->cache &&
        (refused != NULL || look_for(folder, true) == MISSING)) {
        return 0;
    }
    if (refused != NULL) {
        return field_error(r, value, "\"%.200s\": %s in \"map\"", place->text,
                           refused);
    }

    if (place->kind == SYMPATH_STORE) {
        add_folder(sympath, folder, "", LAYOUT_SYMSTORE);
    } else if (!add_plain(sympath, folder)) {
        return field_error(r, value,
                           "\"%.200s\" %s: is it a store, or a folder of "
                           "PDBs?",
                           folder,
                           errno == ETIMEDOUT ? "does not answer"
                                              : "cannot be looked at");
    }
    return 0;
}
