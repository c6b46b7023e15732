/*
 * Copyright (C) the ngx_symcache authors
 */

#include "operands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "command.h"
#include "symcachectl/files/examine.h"
#include "symcachectl/files/module_file.h"

/* A GUIDAGE in one word is longer than a GUID without dashes; or it is in
 * Symbolicator's form, a GUID with dashes, one more and the age. */
static bool operand_is_id(const char *text, symcache_key_t *key)
{
    char plain[48];

    if (strlen(text) > 37 && text[36] == '-' &&
        symcache_guid_parse(text, 36, key->guid) == SYMCACHE_OK) {
        snprintf(plain, sizeof(plain), "%.8s%.4s%.4s%.4s%.12s%.9s", text,
                 text + 9, text + 14, text + 19, text + 24, text + 37);
        text = plain;
    }
    return symcache_debug_id_parse(text, strlen(text), key) == SYMCACHE_OK;
}

bool operands_is_mapping(const char *name, size_t size)
{
    static const char mapping[] = "mapping.txt";

    return size == sizeof(mapping) - 1 &&
           strncasecmp(name, mapping, size) == 0;
}

/* The ids of PDBs and mappings, of operands_original(). */
static int read_pdb_identity(const char *command, int count, char **operands,
                             struct identity *identity)
{
    const char *wrong, *name, *id, *age;
    symcache_key_t key;
    size_t size;

    if (count < 1 || count > 3) {
        command_usage(command, "which module? Say PDB GUID AGE, or ./FILE",
                      NULL);
        return -1;
    }
    name = operands[0];
    size = strlen(name);
    id = count > 1 ? operands[1] : strrchr(name, '/');
    age = count > 2 ? operands[2] : NULL;
    if (id == NULL) {
        command_usage(command,
                      "no GUID and age after the PDB, and no such "
                      "file",
                      name);
        return -1;
    }
    if (count == 1) {
        size = (size_t)(id - name);
        id++;
    }
    if (age == NULL && operands_is_mapping(name, size)) {
        age = "0"; /* unless the UUID has it */
    }
    if ((age == NULL || count < 3) && operand_is_id(id, &key)) {
        wrong = identity_set(identity, name, size, key.guid, key.age);
    } else {
        wrong = identity_read(identity, name, size, id, strlen(id), age,
                              age != NULL ? strlen(age) : 0);
    }
    if (wrong != NULL) {
        command_usage(command, wrong,
                      count == 1 || wrong == symcache_status_text(
                                                 SYMCACHE_BAD_NAME)
                          ? name
                          : operands[1]);
        return -1;
    }
    return 0;
}

/* Reads the module of a file.  Returns 1, 0 if the operand is no path of a
 * file, or -1 after printing what is wrong. */
static int operands_from_file(const char *command, const char *path,
                              struct identity *identity)
{
    char error[MODULE_FILE_ERROR] = "belongs to no module";
    enum module_file found = MODULE_FILE_OTHER;
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && (errno == EACCES || strchr(path, '/') != NULL)) {
        command_usage(command, errno == ENOENT || errno == ENOTDIR
                                   ? "no such file, and not PDB/GUIDAGE"
                                   : strerror(errno), path);
        return -1;
    }
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fd_close(fd);
        if (!S_ISDIR(st.st_mode)) {
            return 0;
        }
        command_usage(command, "is a folder, and not PDB/GUIDAGE", path);
        return -1;
    }
    found = module_file_read(path, fd, identity, error);
    if (found == MODULE_FILE_OTHER && st.st_size == 0) {
        snprintf(error, sizeof(error), "is empty");
    } else if (found == MODULE_FILE_OTHER && examine_is_packed(fd)) {
        snprintf(error, sizeof(error),
                 "is packed: unpack it, or give its name and id");
    } else if (found == MODULE_FILE_OTHER &&
               operands_is_mapping(basename(path), strlen(basename(path)))) {
        snprintf(error, sizeof(error),
                 "is a mapping, which has no id in it: give its UUID as well");
    }
    close(fd);
    if (found != MODULE_FILE_FOUND && found != MODULE_FILE_PORTABLE) {
        command_usage(command, error, path);
        return -1;
    }
    return 1;
}

/* Crash reports have the whole path of a PDB, and no name has such a byte. */
static char *name_of_path(char *path)
{
    char *last = path;

    for (; *path != '\0'; path++) {
        if ((*path == '/' || *path == '\\') && path[1] != '\0') {
            last = path + 1;
        }
    }
    return last;
}

/* Splits the path of a request, as the access log has it: that of a SymCache
 * (".../vVERSION/NAME/GUID/AGE"), or of an original (".../NAME/ID/NAME", or
 * ".../buildid/HEX/debuginfo"), of which version or kind is set.  Returns the
 * number of operands that it is, or 0. */
static int split_request(char *path, char *operands[3],
                         struct identity *identity)
{
    const char **kind = &identity->kind;
    symcache_key_t key;
    uint8_t guid[16];
    char *slash;
    int i;

    for (i = 2; i > 0; i--) {
        slash = strrchr(path, '/');
        if (slash == NULL) {
            return 0;
        }
        *slash = '\0';
        operands[i] = slash + 1;
    }
    operands[0] = name_of_path(path);
    if (strcmp(operands[0], "buildid") == 0 &&
        strspn(operands[1], "0123456789abcdefABCDEF") ==
            strlen(operands[1])) {
        memcpy(operands[0], SYMCACHE_NAME_NONE, sizeof(SYMCACHE_NAME_NONE));
        *kind = symcache_kind_text(strcmp(operands[2], "executable") == 0
                                       ? SYMCACHE_KIND_EXECUTABLE
                                       : SYMCACHE_KIND_DEBUGINFO);
        return 2;
    }
    if (strcasecmp(operands[0], operands[2]) == 0 &&
        symcache_id_parse(operands[1], strlen(operands[1]), &key) ==
            SYMCACHE_OK) {
        if (key.id_type == SYMCACHE_ID_DEBUG) {
            *kind = symcache_kind_text(SYMCACHE_KIND_DEBUGINFO);
        }
        return 2;
    }
    if (symcache_guid_parse(operands[1], strlen(operands[1]), guid) !=
        SYMCACHE_OK) {
        return 0;
    }
    if (operands[0] > path) {
        operands[0][-1] = '\0';
        slash = name_of_path(path);
        if (*slash == 'v' || *slash == 'V') {
            (void)symcache_version_parse(slash + 1, strlen(slash + 1),
                                         &identity->version);
        }
    }
    return 3;
}

/* Returns NAME/ID of the path of a folder in a symbol store, or NULL. */
static char *name_of_folder(char *path)
{
    symcache_key_t key;
    char *slash, *name;
    size_t n = strlen(path);

    while (n > 0 && path[n - 1] == '/') {
        path[--n] = '\0';
    }
    slash = strrchr(path, '/');
    if (slash == NULL ||
        (!operand_is_id(slash + 1, &key) &&
         symcache_id_parse(slash + 1, strlen(slash + 1), &key) !=
             SYMCACHE_OK)) {
        return NULL;
    }
    *slash = '\0';
    name = name_of_path(path);
    *slash = '/';
    return name;
}

int operands_original(const char *command, int count, char **operands,
                      struct identity *identity)
{
    static const uint8_t none[16];
    char build_id[SYMCACHE_ID_TEXT_MAX + 1];
    const char *id = NULL, *wrong;
    char path[1024], *own[3];
    symcache_key_t key;
    size_t size = 0;
    int rc;

    identity->kind = NULL;
    memset(&identity->version, 0, sizeof(identity->version));
    snprintf(path, sizeof(path), "%s", count > 0 ? operands[0] : "");
    if (count == 1 && access(operands[0], F_OK) == 0) {
        own[0] = name_of_folder(path);
        operands = own[0] != NULL ? own : operands;
    } else if (count == 1) {
        rc = split_request(path, own, identity);
        if (rc != 0) {
            count = rc;
            operands = own;
        }
    } else if (count == 2 || count == 3) {
        memcpy(own, operands, (size_t)count * sizeof(own[0]));
        own[0] = name_of_path(own[0]);
        operands = own;
    }
    if (count == 2) {
        size = strlen(operands[0]);
        id = operands[1];
    } else if (count == 1 && (id = strrchr(operands[0], '/')) != NULL) {
        size = (size_t)(id++ - operands[0]);
    }
    if (size == strlen(SYMCACHE_NAME_NONE) &&
        memcmp(operands[0], SYMCACHE_NAME_NONE, size) == 0 &&
        strspn(id, "0123456789abcdefABCDEF") == strlen(id)) {
        /* no PDB is without a name, so that is no GUID */
        snprintf(build_id, sizeof(build_id), "buildid-%s", id);
        id = build_id;
    }
    if (id == NULL || symcache_id_parse(id, strlen(id), &key) != SYMCACHE_OK ||
        key.id_type == SYMCACHE_ID_DEBUG) {
        rc = count == 1 && (id == NULL || !operand_is_id(id, &key))
                 ? operands_from_file(command, operands[0], identity)
                 : 0;
        if (rc != 0) {
            return rc > 0 ? 0 : -1;
        }
        return read_pdb_identity(command, count, operands, identity);
    }
    wrong = identity_set(identity, operands[0], size, none, 0);
    if (wrong != NULL) {
        command_usage(command, wrong, operands[0]);
        return -1;
    }
    (void)symcache_id_parse(id, strlen(id), &identity->key);
    symcache_id_print(identity->id, &identity->key);
    return 0;
}
