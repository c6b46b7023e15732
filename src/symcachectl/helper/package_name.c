/*
 * Copyright (C) the ngx_symcache authors
 */
#include "package_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "symcachectl/files/examine.h"

/* Writes the name of a package that has the debug id of a file. */
static bool name_by_id(FILE *program, char name[SYMCACHE_NAME_MAX + 1])
{
    char error[512], id[SYMCACHE_DEBUG_TEXT_MAX + 1];
    struct symstore_path place;
    size_t i;

    if (examine_place(fileno(program), "program", &place, error,
                      sizeof(error)) != 0) {
        return false;
    }
    for (i = 0; i < place.nids; i++) {
        if (place.ids[i].id_type == SYMCACHE_ID_DEBUG) {
            symcache_debug_id_write(id, place.ids[i].guid, place.ids[i].age);
            snprintf(name, SYMCACHE_NAME_MAX + 1, "%s.dwp", id);
            return true;
        }
    }
    return false;
}

bool package_name(const char *path, char name[SYMCACHE_NAME_MAX + 1])
{
    static const char *const ends[] = {"", ".debug"};
    char program[PATH_MAX];
    size_t len = strlen(path), i;
    bool is_named = false;
    FILE *file;

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]) && !is_named && len > 4 &&
                strcmp(path + len - 4, ".dwp") == 0;
         i++) {
        snprintf(program, sizeof(program), "%.*s%s", (int)len - 4, path,
                 ends[i]);
        file = fopen(program, "re");
        if (file != NULL) {
            is_named = name_by_id(file, name);
            fclose(file);
        }
    }
    return is_named;
}
