/*
 * Copyright (C) the ngx_symcache authors
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "files.h"
#include "proto/path.h"

/* A folder has a file or two; more is not ours to read through. */
#define ENTRIES_MAX 4096

/* Files may be replaced faster than they are opened, but not for ever. */
#define TRIES 5

/* Clocks of file systems tick in milliseconds; a server's may be off. */
#define SETTLED_SECONDS 2

static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
}

/* The path of the best file; false if there is none.  Sets errno on failure.
 */
static bool best_path(DIR *dir, const symcache_key_t *key,
                      char path[SYMCACHE_PATH_MAX + 1])
{
    const struct derived_type *type =
        derived_type((symcache_kind_e)key->kind);
    symcache_version_t version, best = {0, 0, 0};
    symcache_file_e file;
    struct dirent *entry;
    unsigned n;

    for (n = 0; n < ENTRIES_MAX; n++) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            break;
        }
        if (symcache_path_name_parse(entry->d_name, strlen(entry->d_name),
                                     key, &version, &file) &&
            file == SYMCACHE_FILE_PLAIN &&
            symcache_version_serves(&version, &type->newest, &type->oldest) &&
            symcache_version_cmp(&version, &best) > 0) {
            best = version;
        }
    }
    if (errno != 0 || best.major == 0) {
        return false;
    }
    symcache_path_file(path, key, &best, SYMCACHE_FILE_PLAIN);
    return true;
}

static int folder_state(int fd, struct folder_state *folder)
{
    struct timespec now;
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return -1;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    folder->device = st.st_dev;
    folder->inode = st.st_ino;
    folder->changed = st.st_ctim;
    folder->settled = st.st_ctim.tv_sec + SETTLED_SECONDS < now.tv_sec;
    return 0;
}

/* Returns false if the folder has changed meanwhile. */
static bool look_once(struct mapped_modules *mapped, int root, bool stays,
                      const symcache_key_t *key, struct module_sight *sight)
{
    char path[SYMCACHE_PATH_MAX + 1];
    DIR *dir = NULL;
    int fd;

    memset(sight, 0, sizeof(*sight));
    symcache_path_dir(path, key);
    fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd != -1 && folder_state(fd, &sight->folder) == 0) {
        dir = fdopendir(fd);
    }
    if (dir == NULL) {
        sight->error = is_absence(errno) ? 0 : errno;
        fd_close(fd);
        return true;
    }
    if (best_path(dir, key, path)) {
        sight->module = mapped_modules_open(mapped, fd, stays ? root : -1,
                                            path, (symcache_kind_e)key->kind);
    }
    sight->error = sight->module == NULL ? errno : 0;
    closedir(dir);
    return sight->error != ENOENT;
}

void module_open_newest(struct mapped_modules *mapped, int root, bool stays,
                        const symcache_key_t *key, struct module_sight *sight)
{
    unsigned tries = 0;

    while (!look_once(mapped, root, stays, key, sight) && ++tries < TRIES) {
        continue;
    }
}
