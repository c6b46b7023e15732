/*
 * Copyright (C) the ngx_symcache authors
 */
#include "config_sympath.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symptr.h"

int config_sympath_value(struct config_reader *r, const cJSON *item,
                         const struct config_field *field, void *at)
{
    return config_text(r, item) != NULL ? 0 : -1;
}

int config_sympath_read(struct config_reader *r, const cJSON *item,
                        struct config_sympath *sympath)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "value");
    const char *text;

    if (value == NULL) {
        return config_error(r, item, "\"value\" is missing");
    }
    text = config_text(r, value);
    if (text == NULL) {
        return -1;
    }
    if (sympath_parse(&sympath->path, text) != 0) {
        return config_error(r, value, "%s", sympath->path.error);
    }
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* NULL, or why there is no such folder; also of "\\srv\share" itself. */
static const char *find_folder(const struct source_config *source,
                               const char *text, char *folder)
{
    char location[SYMPATH_TEXT + 2], rel[SYMPTR_TEXT];
    const char *root, *refused;
    size_t len;

    if (text[0] == '/' && text[1] != '/') {
        snprintf(folder, CONFIG_PATH_MAX, "%s", text);
        return strlen(text) < CONFIG_PATH_MAX ? NULL : "is too long";
    }

    /* a map is of files: one in the folder, whose name is cut off again */
    snprintf(location, sizeof(location), "%s\\x", text);
    refused =
        symptr_map(source->map, source->nmap, NULL, location, &root, rel);
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

int config_sympath_folders(struct config_reader *r, const cJSON *item,
                           const struct source_config *source,
                           const struct sympath_place *place,
                           struct config_sympath *sympath)
{
    static const char *const below[] = {"pdb", "symbols/pdb"};
    char *folder = sympath->folders[0], name[CONFIG_PATH_MAX + 16];
    const char *refused = find_folder(source, place->text, folder);
    size_t i;

    sympath->n = 0;
    if (place->cache && (refused != NULL || !is_folder(folder))) {
        return 0;
    }
    if (refused != NULL) {
        return config_error(r, cJSON_GetObjectItemCaseSensitive(item, "value"),
                            "\"%.200s\": %s in \"map\"", place->text, refused);
    }

    sympath->n = 1;
    sympath->layout = LAYOUT_SYMSTORE;
    snprintf(name, sizeof(name), "%s/pingme.txt", folder);
    if (place->kind == SYMPATH_STORE || access(name, F_OK) == 0) {
        return 0;
    }

    sympath->layout = LAYOUT_FLAT;
    for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        char *next = sympath->folders[sympath->n];
        int len = snprintf(next, CONFIG_PATH_MAX, "%s/%s", folder, below[i]);

        sympath->n += len < CONFIG_PATH_MAX && is_folder(next);
    }
    return 0;
}
