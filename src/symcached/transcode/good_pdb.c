/*
 * Copyright (C) the ngx_symcache authors
 */
#include "good_pdb.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/program_path.h"

#define CANARY_FILE "canary.pdb"
#define CANARY_ID "402B1916A8335C454C4C44205044422E1"
#define CANARY_PORTABLE_FILE "canary-portable.pdb"
#define CANARY_PORTABLE_ID "F7E3EF0BCE844612965806E61B424B4BFFFFFFFF"

/* From the program's folder: in a build tree, and after "make install". */
static const char *const folders[] = {"", "../share/ngx_symcache/"};

/* Is a Windows PDB among what files of the kind are made of? */
static bool made_of_pdb(symcache_kind_e kind)
{
    const uint8_t *slot = symcache_kind(kind)->slots;

    while (*slot != SYMCACHE_KINDS && *slot != SYMCACHE_KIND_DEBUGINFO) {
        slot++;
    }
    return *slot == SYMCACHE_KIND_DEBUGINFO;
}

bool good_pdb_find(symcache_kind_e kind, symcache_key_t *key,
                   char path[PATH_MAX])
{
    bool is_portable = kind == SYMCACHE_KIND_PPDBCACHE;
    const char *name = is_portable ? CANARY_PORTABLE_FILE : CANARY_FILE;
    const char *id = is_portable ? CANARY_PORTABLE_ID : CANARY_ID;
    char place[64];
    size_t i;

    path[0] = '\0';
    if (!is_portable && !made_of_pdb(kind)) {
        return false;
    }
    (void)symcache_name_parse(name, strlen(name), key);
    (void)symcache_debug_id_parse(id, strlen(id), key);
    key->kind = (uint8_t)kind;
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(place, sizeof(place), "%s%s", folders[i], name);
        if (beside_path(path, place) && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}
