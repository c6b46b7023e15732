/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/workdir.h"
#include "config/config.h"
#include "proto/profiler_id.h"

/* The kernel's interface, for C libraries whose headers lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define RESOLVE_WITHOUT_DISK 0x20u /* RESOLVE_CACHED; of Linux 5.12 */

#define TEXT ".sym"
/* The index was compared with all files; .whole of older releases said so of
 * an index without the ids of profilers. */
#define WHOLE ".whole-2"

/* The same while that is being done. */
#define BEGUN ".begun-2"
#define BUILD_ID "buildid-"
#define DEBUG_ID "debugid-"
#define CODE_ID "codeid-"
#define HASH "hash-"
#define USERS "users-"
#define ELF_DIGITS 40 /* shorter ones are filled up with zeros (SSQP) */
#define UUID_SIZE 16

/* How long to keep a folder that leads to no file here: longer than any
 * absence is remembered.  If it has names by which clients asked for its id,
 * as long as files made under these can be in use. */
#define KEPT_SECONDS (7 * 86400)
#define KEPT_ASKED_SECONDS (365 * 86400)

bool upload_index_has_name(const struct symstore_path *place)
{
    return strcmp(place->name, "_.debug") != 0 &&
           strcmp(place->name, "_.dwarf") != 0;
}

static bool index_is_text(const char *name, size_t *stem)
{
    size_t len = strlen(name);

    if (len <= sizeof(TEXT) - 1 || strcmp(name + len - 4, TEXT) != 0) {
        return false;
    }
    *stem = len - (sizeof(TEXT) - 1);
    return true;
}

/* Has a file with this name, of a module with the other name, an entry as a
 * text? */
static bool index_is_text_of(const char *file, const char *name)
{
    size_t stem;

    return strcmp(file, name) != 0 && index_is_text(file, &stem);
}

size_t
upload_index_folders(char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE],
                     const symcache_key_t *key)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    const char *hex = id + sizeof(BUILD_ID) - 1;
    size_t n = 0, digits = 2 * (size_t)key->build_len, len;

    symcache_id_print(id, key);
    switch (key->id_type) {
    case SYMCACHE_ID_HASH:
        if (key->build_len == SYMCACHE_PROFILER_ID_SIZE) {
            snprintf(folders[n++], SYMSTORE_ID_SIZE, "%s", id);
        }
        return n;
    case SYMCACHE_ID_BUILD:
        len = (size_t)snprintf(folders[n], SYMSTORE_ID_SIZE, "elf-buildid-%s",
                               hex);
        for (; digits < ELF_DIGITS; digits++) {
            folders[n][len++] = '0';
            folders[n][len] = '\0';
        }
        n++;
        if (key->build_len == UUID_SIZE) {
            snprintf(folders[n++], SYMSTORE_ID_SIZE, "mach-uuid-%s", hex);
        }
        return n;
    default:
        snprintf(folders[n++], SYMSTORE_ID_SIZE, "%s", id);
        return n;
    }
}

/* The first id of a type that a file has, or NULL. */
static const symcache_key_t *index_id_of(const struct symstore_path *place,
                                         uint8_t type)
{
    size_t i;

    for (i = 0; i < place->nids; i++) {
        if (place->ids[i].id_type == type) {
            return &place->ids[i];
        }
    }
    return NULL;
}

/* Writes the entry by which the profiler's id of a PE image leads to its own
 * one.  Returns how many there are. */
static size_t index_print_code_id(char entries[][UPLOAD_INDEX_ENTRY_SIZE],
                                  size_t most,
                                  const struct symstore_path *place,
                                  const symcache_key_t *hash)
{
    const symcache_key_t *code_id = index_id_of(place, SYMCACHE_ID_PE);
    char from[SYMCACHE_ID_TEXT_MAX + 1], to[SYMCACHE_ID_TEXT_MAX + 1];

    if (code_id == NULL || most == 0) {
        return 0;
    }
    symcache_id_print(from, hash);
    symcache_id_print(to, code_id);
    snprintf(entries[0], UPLOAD_INDEX_ENTRY_SIZE, "%s/" CODE_ID "%s", from,
             to);
    return 1;
}

/* Writes the entries by which one of the ids of a file leads to another one of
 * it, and back.  Returns how many there are. */
static size_t index_print_links(char entries[][UPLOAD_INDEX_ENTRY_SIZE],
                                size_t most, const struct symstore_path *place,
                                const symcache_key_t *id)
{
    char from[SYMCACHE_ID_TEXT_MAX + 1], to[SYMCACHE_ID_TEXT_MAX + 1];
    bool is_hash = id->id_type == SYMCACHE_ID_HASH;
    const symcache_key_t *other = is_hash
                                      ? index_id_of(place, SYMCACHE_ID_DEBUG)
                                  : id->id_type == SYMCACHE_ID_DEBUG
                                      ? index_id_of(place, SYMCACHE_ID_BUILD)
                                      : NULL;

    if (other == NULL || most < 1 + (size_t)is_hash) {
        return 0;
    }
    symcache_id_print(from, id);
    symcache_id_print(to, other);
    snprintf(entries[0], UPLOAD_INDEX_ENTRY_SIZE, "%s/%s%s", from,
             is_hash ? DEBUG_ID : "", to);
    if (is_hash) {
        snprintf(entries[1], UPLOAD_INDEX_ENTRY_SIZE, "%s/%s", to, from);
    }
    return 1 + (size_t)is_hash;
}

size_t upload_index_entries(
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE],
    const struct symstore_path *place)
{
    size_t i, n = 0;

    if (place->nids == 0 || place->ids[0].id_type == SYMCACHE_ID_HASH) {
        return 0;
    }
    if (upload_index_has_name(place) &&
        strlen(place->name) + sizeof(TEXT) <= SYMCACHE_NAME_MAX) {
        snprintf(entries[n++], UPLOAD_INDEX_ENTRY_SIZE, "%s/%s%s", place->id,
                 place->name,
                 index_is_text_of(place->file, place->name) ? TEXT : "");
    }
    for (i = 0; i < place->nids && n < UPLOAD_INDEX_ENTRIES; i++) {
        n += index_print_links(entries + n, UPLOAD_INDEX_ENTRIES - n, place,
                               &place->ids[i]);
        if (place->ids[i].id_type == SYMCACHE_ID_HASH) {
            n += index_print_code_id(entries + n, UPLOAD_INDEX_ENTRIES - n,
                                     place, &place->ids[i]);
        }
    }
    return n;
}

/* reading ----------------------------------------------------------------- */

static bool index_take_user(struct upload_index_names *names,
                            const char *entry)
{
    symcache_key_t key = {.name_len = 0};

    if (strncmp(entry, DEBUG_ID, strlen(DEBUG_ID)) != 0 ||
        symcache_debug_id_parse(entry + strlen(DEBUG_ID),
                                strlen(entry) - strlen(DEBUG_ID),
                                &key) != SYMCACHE_OK) {
        return false;
    }
    if (names->nusers < UPLOAD_INDEX_USERS) {
        memcpy(names->users[names->nusers].guid, key.guid, sizeof(key.guid));
        names->users[names->nusers++].age = key.age;
    }
    return true;
}

static void index_add_name(struct upload_index_names *names,
                           const struct upload_index_name *name)
{
    size_t i, alike = 0;

    for (i = 0; i < names->n; i++) {
        alike += names->list[i].is_asked == name->is_asked &&
                 names->list[i].is_text == name->is_text;
        if (names->list[i].is_text == name->is_text &&
            names->list[i].is_asked == name->is_asked &&
            strcmp(names->list[i].text, name->text) == 0) {
            return;
        }
    }
    if (alike < (name->is_asked ? UPLOAD_INDEX_ASKED : UPLOAD_INDEX_NAMES)) {
        names->list[names->n++] = *name;
    }
}

void upload_index_take(struct upload_index_names *names, const char *entry)
{
    struct upload_index_name name = {.is_asked = entry[0] == '.'};
    symcache_key_t key = {.name_len = 0};
    size_t stem;

    entry += name.is_asked;
    if (name.is_asked && index_take_user(names, entry)) {
        return;
    }
    if (!name.is_asked && strncmp(entry, BUILD_ID, strlen(BUILD_ID)) == 0 &&
        symcache_id_parse(entry, strlen(entry), &key) == SYMCACHE_OK) {
        names->has_build_id = true;
        names->build_id = key;
        return;
    }
    if (!name.is_asked && strncmp(entry, HASH, strlen(HASH)) == 0 &&
        symcache_id_parse(entry, strlen(entry), &key) == SYMCACHE_OK) {
        if (names->nhashes < UPLOAD_INDEX_HASHES) {
            upload_index_set_name(&key, SYMCACHE_NAME_NONE);
            names->hashes[names->nhashes++] = key;
        }
        return;
    }
    if (!name.is_asked && strncmp(entry, DEBUG_ID, strlen(DEBUG_ID)) == 0 &&
        symcache_debug_id_parse(entry + strlen(DEBUG_ID),
                                strlen(entry) - strlen(DEBUG_ID),
                                &key) == SYMCACHE_OK) {
        names->has_debug_id = true;
        names->debug_id = key;
        return;
    }
    if (!name.is_asked && strncmp(entry, CODE_ID, strlen(CODE_ID)) == 0 &&
        symcache_id_parse(entry + strlen(CODE_ID),
                          strlen(entry) - strlen(CODE_ID),
                          &key) == SYMCACHE_OK &&
        key.id_type == SYMCACHE_ID_PE) {
        names->has_code_id = true;
        names->code_id = key;
        return;
    }
    if (symcache_name_parse(entry, strlen(entry), &key) != SYMCACHE_OK ||
        strcmp(key.name, entry) != 0) {
        return;
    }
    snprintf(name.text, sizeof(name.text), "%s", entry);
    index_add_name(names, &name);
    /* "x.sym" is the text of "x", or a program that has this name */
    if (!name.is_asked && index_is_text(entry, &stem)) {
        name.is_text = true;
        name.text[stem] = '\0';
        index_add_name(names, &name);
    }
}

static void index_print_path(char path[PATH_MAX], const char *root,
                             const char *below)
{
    snprintf(path, PATH_MAX, "%.1024s/" UPLOADS_INDEX "/%s", root, below);
}

static int index_read_folder(const char *root, const char *folder,
                             struct upload_index_names *names)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    int errnum;
    DIR *dir;

    index_print_path(path, root, folder);
    dir = opendir(path);
    if (dir == NULL) {
        return errno == ENOENT ? 0 : errno;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            upload_index_take(names, entry->d_name);
        }
    }
    errnum = errno;
    closedir(dir);
    return errnum;
}

int upload_index_find(const char *root, const char *folder,
                      struct upload_index_names *names)
{
    int errnum = index_read_folder(root, folder, names);
    char users[PATH_MAX];

    snprintf(users, sizeof(users), USERS "%s", folder);
    return errnum != 0 ? errnum : index_read_folder(root, users, names);
}

void upload_index_set_name(symcache_key_t *key, const char *name)
{
    key->name_len =
        (uint32_t)snprintf(key->name, sizeof(key->name), "%s", name);
}

int64_t upload_index_changed(const char *root, const symcache_key_t *key)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], path[PATH_MAX];
    size_t n = upload_index_folders(folders, key);
    int64_t changed, newest = 0;
    struct stat st;

    while (n-- > 0) {
        index_print_path(path, root, folders[n]);
        if (stat(path, &st) == 0) {
            changed =
                (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
            newest = changed > newest ? changed : newest;
        }
    }
    return newest;
}

static bool index_is_known_absent(const char *path)
{
    const struct {
        uint64_t flags;
        uint64_t mode;
        uint64_t resolve;
    } how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_WITHOUT_DISK};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

    if (fd >= 0) {
        close(fd);
        return false;
    }
    return errno == ENOENT;
}

bool upload_index_is_known_absent(const char *root, const symcache_key_t *key)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], path[PATH_MAX];
    size_t n = upload_index_folders(folders, key);

    while (n-- > 0) {
        index_print_path(path, root, folders[n]);
        if (!index_is_known_absent(path)) {
            return false;
        }
    }
    return true;
}

/* writing ----------------------------------------------------------------- */

/* Returns 0, also if it is there, or an errno. */
static int index_make_entry(const char *root, const char *entry)
{
    const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    char path[PATH_MAX], *slash;
    int fd;

    index_print_path(path, root, entry);
    fd = open(path, flags, 0644);
    if (fd < 0 && errno == ENOENT) {
        slash = strrchr(path, '/');
        *slash = '\0';
        if (workdir_make_path(path) != 0) {
            return errno;
        }
        *slash = '/';
        fd = open(path, flags, 0644);
    }
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

/* Also without an entry: findings by other names may be old. */
static int index_touch_entry(const char *root, const symcache_key_t *key)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], path[PATH_MAX];
    size_t n = upload_index_folders(folders, key);
    int rc = 0;

    while (n-- > 0) {
        index_print_path(path, root, folders[n]);
        if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) != 0 &&
            (errno != ENOENT || workdir_make_path(path) != 0)) {
            rc = errno;
        }
    }
    return rc;
}

bool upload_index_is_shared(const char *root,
                            const struct symstore_path *place)
{
    bool is_shared = false,
         has_text = index_is_text_of(place->file, place->name);
    const struct dirent *entry = NULL;
    char path[PATH_MAX];
    DIR *dir;

    snprintf(path, sizeof(path), "%.1024s/%s/%s", root, place->name,
             place->id);
    dir = opendir(path);
    if (dir == NULL) {
        return errno != ENOENT && errno != ENOTDIR; /* or it may be */
    }
    while (!is_shared && (errno = 0, entry = readdir(dir)) != NULL) {
        is_shared = entry->d_name[0] != '.' &&
                    strcmp(entry->d_name, place->file) != 0 &&
                    index_is_text_of(entry->d_name, place->name) == has_text;
    }
    is_shared |= entry == NULL && errno != 0; /* or it may be */
    closedir(dir);
    return is_shared;
}

static void index_drop_entry(const char *root,
                             const struct symstore_path *place)
{
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE],
        path[PATH_MAX];

    if (upload_index_entries(entries, place) > 0 &&
        upload_index_has_name(place) && !upload_index_is_shared(root, place)) {
        index_print_path(path, root, entries[0]);
        (void)unlink(path);
    }
}

int upload_index_touch(const char *root, const struct symstore_path *place)
{
    int rc = 0, one;
    size_t i;

    for (i = 0; i < place->nids; i++) {
        one = index_touch_entry(root, &place->ids[i]);
        rc = one != 0 ? one : rc;
    }
    return rc;
}

int upload_index_change(const char *root, const struct symstore_path *place,
                        bool is_there)
{
    int kept = 0, touched;

    if (is_there) {
        kept = upload_index_keep(root, place);
    } else {
        index_drop_entry(root, place);
    }
    touched = upload_index_touch(root, place);
    return touched != 0 ? touched : kept;
}

bool upload_index_is_whole(const char *root)
{
    char path[PATH_MAX];

    index_print_path(path, root, WHOLE);
    return access(path, F_OK) == 0;
}

void upload_index_begin(const char *root)
{
    (void)index_make_entry(root, BEGUN);
}

void upload_index_set_whole(const char *root)
{
    char begun[PATH_MAX], whole[PATH_MAX];

    index_print_path(begun, root, BEGUN);
    index_print_path(whole, root, WHOLE);
    (void)rename(begun, whole); /* another index has none */
}

/* It is that of the folder of uploads, also for try builds. */
static void index_set_incomplete(const char *root)
{
    static const char *const marks[] = {BEGUN, WHOLE};
    char path[PATH_MAX], folder[PATH_MAX], *end;
    size_t i;

    snprintf(folder, sizeof(folder), "%.1024s", root);
    end = strrchr(folder, '/');
    if (end != NULL && strcmp(end + 1, UPLOADS_TRY) == 0) {
        *end = '\0';
    }
    for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        index_print_path(path, folder, marks[i]);
        (void)unlink(path);
    }
}

int upload_index_keep(const char *root, const struct symstore_path *place)
{
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE];
    size_t n = upload_index_entries(entries, place);
    int rc = 0, one;

    while (n-- > 0) {
        one = index_make_entry(root, entries[n]);
        rc = one != 0 ? one : rc;
    }
    if (rc != 0) {
        index_set_incomplete(root);
    }
    return rc;
}

int upload_index_note_asked(const char *root, const symcache_key_t *key)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE];
    char entry[UPLOAD_INDEX_ENTRY_SIZE + 1];
    struct upload_index_names names = {.n = 0};
    size_t i, n = 0;

    if (upload_index_folders(folders, key) == 0) {
        return EINVAL;
    }
    (void)upload_index_find(root, folders[0], &names);
    for (i = 0; i < names.n; i++) {
        if (strcmp(names.list[i].text, key->name) == 0) {
            return 0;
        }
        n += names.list[i].is_asked;
    }
    snprintf(entry, sizeof(entry), "%s/.%s", folders[0], key->name);
    return n < UPLOAD_INDEX_ASKED ? index_make_entry(root, entry) : E2BIG;
}

void upload_index_note_user(const char *root, const symcache_key_t *key,
                            const symcache_key_t *user)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE];
    char entry[UPLOAD_INDEX_ENTRY_SIZE + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    struct upload_index_names names = {.n = 0};

    (void)upload_index_note_asked(root, user);
    if (symcache_key_same_id(key, user) ||
        upload_index_folders(folders, key) == 0) {
        return;
    }
    (void)upload_index_find(root, folders[0], &names);
    if (names.nusers < UPLOAD_INDEX_USERS) {
        symcache_id_print(id, user);
        snprintf(entry, sizeof(entry), USERS "%s/." DEBUG_ID "%s", folders[0],
                 id);
        (void)index_make_entry(root, entry);
    }
}

/* cleaning ---------------------------------------------------------------- */

static bool index_is_there(const char *root, const char *name, const char *id)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.1024s/%s/%s", root, name, id);
    return access(path, F_OK) == 0;
}

/* Does the index of this machine know a debug id, or that of a PE image?  It
 * is cleaned like the folder that leads to it. */
static bool index_has_id(const char *root, const symcache_key_t *key)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    symcache_id_print(id, key);
    return index_is_there(root, UPLOADS_INDEX, id);
}

/* Is there a file on this machine that has the build id? */
static bool index_has_build_id(const char *root,
                               const symcache_key_t *build_id)
{
    static const char *const kinds[][2] = {{"_.debug", "elf-buildid-sym-%s"},
                                           {"_.dwarf", "mach-uuid-sym-%s"}};
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], id[SYMSTORE_ID_SIZE];
    size_t i, n = upload_index_folders(folders, build_id);

    for (i = 0; i < n; i++) {
        snprintf(id, sizeof(id), kinds[i][1], strrchr(folders[i], '-') + 1);
        if (index_is_there(root, UPLOADS_INDEX, folders[i]) ||
            index_is_there(root, kinds[i][0], id)) {
            return true;
        }
    }
    return false;
}

static bool index_is_old(const char *root, const char *folder, time_t age)
{
    struct upload_index_names names = {.n = 0};
    bool was_asked = false;
    size_t i;

    if (age < KEPT_SECONDS) {
        return false;
    }
    if (upload_index_find(root, folder, &names) != 0) {
        return false;
    }
    was_asked = names.nusers > 0;
    for (i = 0; i < names.n; i++) {
        if (!names.list[i].is_asked &&
            index_is_there(root, names.list[i].text, folder)) {
            return false;
        }
        was_asked |= names.list[i].is_asked;
    }
    return (!names.has_build_id ||
            !index_has_build_id(root, &names.build_id)) &&
           (!names.has_debug_id || !index_has_id(root, &names.debug_id)) &&
           (!names.has_code_id || !index_has_id(root, &names.code_id)) &&
           (!was_asked || age >= KEPT_ASKED_SECONDS);
}

static void index_remove_folder(const char *path)
{
    const struct dirent *entry;
    DIR *dir = opendir(path);

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir != NULL) {
        closedir(dir);
        (void)rmdir(path);
    }
}

void upload_index_clean(const char *root, time_t now)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    struct stat st;
    DIR *dir;

    index_print_path(path, root, "");
    dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        index_print_path(path, root, entry->d_name);
        if (entry->d_name[0] != '.' && lstat(path, &st) == 0 &&
            index_is_old(root, entry->d_name, now - st.st_mtime)) {
            index_remove_folder(path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}
