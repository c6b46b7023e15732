/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examine.h"

/* Reads the module of an image or a PDB.  Returns NULL, or what is wrong. */
static const char *from_binary(const char *name, int fd,
                               struct identity *identity, bool *is_portable,
                               char error[MODULE_FILE_ERROR])
{
    struct examine_result result;
    const char *wrong;

    if (examine_file(fd, &result) != 0) {
        snprintf(error, MODULE_FILE_ERROR, "%s", result.error);
        wrong = result.is_portable
                    ? identity_set(identity, result.name, result.name_size,
                                   result.guid, result.age)
                    : error;
        *is_portable = wrong == NULL;
        return wrong != NULL ? wrong : error;
    }
    return result.kind == EXAMINE_PDB
               ? identity_set(identity, name, strlen(name), result.guid,
                              result.age)
               : identity_set(identity, result.name, result.name_size,
                              result.guid, result.age);
}

/* Is it an ELF or Mach-O file, or a portable PDB, to the first bytes? */
static bool is_module(int fd, bool *is_portable)
{
    static const char magics[][5] = {"\177ELF", "\xfe\xed\xfa\xce",
                                     "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
                                     "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe",
                                     "BSJB"};
    char head[4];
    size_t i;

    if (pread(fd, head, sizeof(head), 0) != sizeof(head)) {
        return false;
    }
    for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (memcmp(head, magics[i], sizeof(head)) == 0) {
            *is_portable = head[0] == 'B';
            return true;
        }
    }
    return false;
}

/* The length of a module's name without what debug files have after it. */
static size_t module_name(const char *name)
{
    static const char *const ends[] = {".debug", ".dbg", ".dwarf"};
    size_t i, n, size = strlen(name);

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        n = strlen(ends[i]);
        if (size > n && strcmp(name + size - n, ends[i]) == 0) {
            return size - n;
        }
    }
    return size;
}

/* Reads a module that has no PDB, with the debug id that is made of its own, or
 * a portable PDB.  Returns NULL, or what is wrong. */
static const char *from_module(const char *name, int fd,
                               struct identity *identity,
                               char error[MODULE_FILE_ERROR])
{
    const char *wrong = "has no debug id";
    struct symstore_path place;
    size_t i;

    if (examine_place(fd, name, &place, error, MODULE_FILE_ERROR) != 0) {
        return error;
    }
    for (i = 0; i < place.nids; i++) {
        if (place.ids[i].id_type == SYMCACHE_ID_DEBUG) {
            wrong = identity_set(identity, name, module_name(name),
                                 place.ids[i].guid, place.ids[i].age);
        }
    }
    for (i = 0; wrong == NULL && i < place.nids; i++) {
        if (place.ids[i].id_type == SYMCACHE_ID_BUILD) {
            symcache_id_print(identity->code_id, &place.ids[i]);
        }
    }
    return wrong;
}

enum module_file module_file_read(const char *path, int fd,
                                  struct identity *identity,
                                  char error[MODULE_FILE_ERROR])
{
    const char *wrong, *name = basename(path);
    enum examine_kind kind = examine_sniff(fd);
    bool is_portable = false;

    if (kind == EXAMINE_IMAGE || kind == EXAMINE_PDB) {
        wrong = from_binary(name, fd, identity, &is_portable, error);
    } else if (is_module(fd, &is_portable)) {
        wrong = from_module(name, fd, identity, error);
        is_portable = is_portable && wrong == NULL;
        wrong = is_portable ? "is a portable PDB of .NET" : wrong;
    } else {
        return MODULE_FILE_OTHER;
    }
    if (wrong == NULL) {
        return MODULE_FILE_FOUND;
    }
    if (wrong != error) {
        snprintf(error, MODULE_FILE_ERROR, "%s", wrong);
    }
    return is_portable ? MODULE_FILE_PORTABLE : MODULE_FILE_WRONG;
}
