/*
 * Copyright (C) the ngx_symcache authors
 */
#include "nginx_body_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"

/* The folders that client_body_temp_path may have, and the file. */
#define BODY_PATH_DEPTH_MAX 4
#define BODY_PATH_NAME_MAX 32

/* Digits of the name of such a folder, and of a file. */
#define FOLDER_DIGITS_MAX 3
#define FILE_DIGITS_MIN 10

/* Passes slashes and parts that are ".". */
static const char *skip_empty_parts(const char *path)
{
    while (path[0] == '/' ||
           (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))) {
        path++;
    }
    return path;
}

/* Returns what follows the folder in the path, or NULL.  nginx's path is as
 * its configuration has it, and may have "//". */
static const char *path_below(const char *spool, const char *path)
{
    size_t len;

    if (spool[0] != '/' || path[0] != '/') {
        return NULL;
    }
    spool = skip_empty_parts(spool);
    path = skip_empty_parts(path);
    while (*spool != '\0') {
        len = strcspn(spool, "/");
        if (strncmp(path, spool, len) != 0 || path[len] != '/') {
            return NULL;
        }
        spool = skip_empty_parts(spool + len);
        path = skip_empty_parts(path + len);
    }
    return path;
}

/*
 * Opens "12/3/0000000123", one part after the other: the kernel refuses
 * symbolic links, and parts of the path that are not folders.
 */
static int open_below(int dir, const char *body_path)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, depth, fd;
    char part[BODY_PATH_NAME_MAX];
    bool last = false;
    size_t n;

    for (depth = 0; depth < BODY_PATH_DEPTH_MAX && !last; depth++) {
        n = strspn(body_path, "0123456789");
        last = body_path[n] == '\0';
        if (n == 0 || n >= sizeof(part) || (!last && body_path[n] != '/')) {
            break;
        }
        memcpy(part, body_path, n);
        part[n] = '\0';
        fd = openat(dir, part, last ? flags : flags | O_DIRECTORY);
        close(dir);
        if (fd < 0) {
            return -1;
        }
        dir = fd;
        body_path += n + 1;
    }
    if (last) {
        return dir;
    }
    close(dir);
    errno = EINVAL;
    return -1;
}

/* Is the path at fault, and not a limit of this machine? */
static bool is_wrong_path(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP ||
           errnum == EINVAL;
}

int nginx_body_file_open(const char *spool, const char *path, int *status,
                         char *error, size_t size)
{
    const char *body_path = path_below(spool, path);
    struct stat st;
    int fd = -1;

    *status = 400;
    if (body_path == NULL) {
        snprintf(error, size, "the body is not a file in \"uploads.spool\"");
        return -1;
    }
    fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        *status = 500;
        snprintf(error, size, "\"uploads.spool\" cannot be opened: %s",
                 strerror(errno));
        return -1;
    }
    fd = open_below(fd, body_path);
    if (fd < 0) {
        *status = is_wrong_path(errno) ? 400 : 500;
        snprintf(error, size, "the body cannot be opened: %s",
                 strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) != 0) {
        *status = 500;
        snprintf(error, size, "the body cannot be looked at: %s",
                 strerror(errno));
        close(fd);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(error, size, "the body is not a regular file");
        close(fd);
        return -1;
    }
    return fd;
}

struct body_files {
    const char *spool;
    time_t before;
    uint64_t files;
    uint64_t bytes;
};

/* Closes the descriptor. */
static void clean_body_files(struct body_files *removed, int fd, int depth)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    struct stat st;
    size_t n;

    if (dir == NULL && fd >= 0) {
        close(fd);
    }
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        n = strspn(entry->d_name, "0123456789");
        if (n == 0 || entry->d_name[n] != '\0' ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode) && n <= FOLDER_DIGITS_MAX &&
            depth < BODY_PATH_DEPTH_MAX) {
            clean_body_files(
                removed,
                openat(fd, entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                depth + 1);
        } else if (S_ISREG(st.st_mode) && n >= FILE_DIGITS_MIN &&
                   st.st_mtime < removed->before) {
            if (unlinkat(fd, entry->d_name, 0) != 0) {
                log_error(
                    errno,
                    "clean: \"%s\" in \"uploads.spool\" (%s), which nginx "
                    "has left, cannot be removed",
                    entry->d_name, removed->spool);
                continue;
            }
            removed->files++;
            removed->bytes += (uint64_t)st.st_size;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

void nginx_body_files_clean(const char *spool, time_t before, uint64_t *files,
                            uint64_t *bytes)
{
    struct body_files removed = {.spool = spool, .before = before};

    clean_body_files(&removed, open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                     1);
    *files = removed.files;
    *bytes = removed.bytes;
}
