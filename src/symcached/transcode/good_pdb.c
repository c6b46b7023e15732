/*
 * Copyright (C) the ngx_symcache authors
 */
#include "good_pdb.h"

#include <string.h>
#include <unistd.h>

#include "base/installed_file.h"

#define CANARY_FILE "canary.pdb"
#define CANARY_ID "402B1916A8335C454C4C44205044422E1"

/* From the program's folder: in a build tree, and after "make install". */
static const char *const places[] = {CANARY_FILE,
                                     "../share/ngx_symcache/" CANARY_FILE};

bool good_pdb_find(symcache_key_t *key, char path[PATH_MAX])
{
    size_t i;

    (void)symcache_name_parse(CANARY_FILE, strlen(CANARY_FILE), key);
    (void)symcache_debug_id_parse(CANARY_ID, strlen(CANARY_ID), key);
    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (beside_path(path, places[i]) && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}
