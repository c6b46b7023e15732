/*
 * Copyright (C) the ngx_symcache authors
 */

#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/digest_attribute.h"
#include "base/durable.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/scarce.h"
#include "metrics/metrics.h"
#include "base/workdir.h"

/* A cleaner may remove a folder between mkdir() and rename(), but not again
 * and again. */
#define RENAME_TRIES 50

static void store_key_dir(char buf[PATH_MAX], const char *root,
                          const symcache_key_t *key)
{
    char relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_dir(relative, key);
    snprintf(buf, PATH_MAX, "%.1024s/%s", root, relative);
}

void store_path(char buf[PATH_MAX], const char *root,
                const symcache_key_t *key, const symcache_version_t *version,
                symcache_file_e kind)
{
    char relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_file(relative, key, version, kind);
    snprintf(buf, PATH_MAX, "%.1024s/%s", root, relative);
}

static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
}

int store_versions(const char *root, const symcache_key_t *key,
                   symcache_version_t versions[STORE_VERSIONS_MAX])
{
    char path[PATH_MAX];
    symcache_file_e kind;
    struct dirent *entry;
    struct stat st;
    DIR *dir;
    int n = 0, error = 0;

    store_key_dir(path, root, key);
    dir = opendir(path);
    if (dir == NULL) {
        return is_absence(errno) ? 0 : -1;
    }

    while (n < STORE_VERSIONS_MAX &&
           (errno = 0, entry = readdir(dir)) != NULL) {
        if (!symcache_path_name_parse(entry->d_name, strlen(entry->d_name),
                                      key, &versions[n], &kind) ||
            kind != SYMCACHE_FILE_PLAIN) {
            continue;
        }
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0) {
            error = is_absence(errno) ? error : errno;
        } else if (S_ISREG(st.st_mode) &&
                   (st.st_size > 0 || symcache_key_is_url(key))) {
            n++;
        }
    }
    error = errno != 0 ? errno : error;
    closedir(dir);
    errno = error;
    return n > 0 || error == 0 ? n : -1;
}

int store_clone(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC), out = -1, rc = -1;
    int saved;

    if (in != -1) {
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0644);
    }
    if (out != -1) {
        rc = ioctl(out, FICLONE, in);
    }
    saved = errno;
    if (out != -1) {
        close(out);
        if (rc != 0) {
            (void)unlink(to);
        }
    }
    fd_close(in);
    errno = saved;
    return rc;
}

int store_rename(const char *from, const char *to)
{
    char dir[PATH_MAX];
    int tries;

    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(to, '/') - to), to);

    for (tries = 0; tries < RENAME_TRIES; tries++) {
        if (rename(from, to) == 0) {
            return 0;
        }
        /* a cleaner may take a folder away as soon as it is made; where what
         * is renamed has gone, too, the whole store was removed, and stays so
         */
        if (errno != ENOENT || access(from, F_OK) != 0 ||
            (workdir_make_path(dir) != 0 && errno != ENOENT)) {
            return -1;
        }
    }
    return -1;
}

/* The size of a result, once its content is durable.  The kernel reports a
 * failure only to the first process that syncs. */
static long long store_sync_file(const char *file, bool may_be_empty,
                                 bool has_digest)
{
    struct stat st;
    long long size = -1;
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd == -1) {
        return -1;
    }
    if (fstat(fd, &st) != 0) {
        goto out;
    }
    if (!S_ISREG(st.st_mode) || (st.st_size == 0 && !may_be_empty)) {
        errno = EINVAL;
        goto out;
    }
    if (has_digest) {
        file_digest_note(fd);
    } else {
        digest_note(fd, NULL);
    }
    if (fchmod(fd, 0644) == 0 && durable_sync(fd) == 0) {
        size = st.st_size;
    }

out:
    fd_close(fd);
    return size;
}

long long store_publish(const char *root, const symcache_key_t *key,
                        const symcache_version_t *version, const char *file,
                        bool has_digest)
{
    char path[PATH_MAX];
    long long size =
        store_sync_file(file, symcache_key_is_url(key), has_digest);

    if (size == -1) {
        return -1;
    }

    /* It was compressed from the former file, and must never lie beside the
     * new one. */
    store_path(path, root, key, version, SYMCACHE_FILE_GZIP);
    (void)unlink(path);

    store_path(path, root, key, version, SYMCACHE_FILE_PLAIN);
    if (store_rename(file, path) != 0) {
        return -1;
    }
    digest_seal_path(path);

    /* The folders of the name and of the id may be new as well. */
    if (durable_sync_folders(path, 3) != 0) {
        return -1;
    }
    if (!has_digest) {
        file_digest_later(path);
    }
    return size;
}

int store_keep_original(const char *file, const char *place)
{
    int rc, fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd == -1) {
        return -1;
    }
    rc = fchmod(fd, 0644) == 0 && (fdatasync(fd) == 0 || errno == EINVAL)
             ? store_rename(file, place)
             : -1;
    fd_close(fd);
    return rc;
}

/* The mtime is the last use, with a precision of an hour. */
static bool store_touch_due(const struct stat *st)
{
    time_t now = time(NULL);

    return st->st_mtime > now || now - st->st_mtime >= STORE_TOUCH_EVERY;
}

bool store_touch(const char *root, const symcache_key_t *key,
                 const symcache_version_t *version)
{
    char path[PATH_MAX], gzip[PATH_MAX];
    struct timespec times[2];
    struct stat st, st_gzip;
    bool sealed, noted, lacks;

    store_path(path, root, key, version, SYMCACHE_FILE_PLAIN);
    if (stat(path, &st) != 0 || !store_touch_due(&st) ||
        clock_gettime(CLOCK_REALTIME, &times[0]) != 0) {
        return false;
    }
    times[1] = times[0];

    /* First the gzip file, if it is valid, so that it never looks older. */
    store_path(gzip, root, key, version, SYMCACHE_FILE_GZIP);
    if (stat(gzip, &st_gzip) == 0 && st_gzip.st_mtime >= st.st_mtime) {
        (void)utimensat(AT_FDCWD, gzip, times, 0);
    }
    lacks = digest_lacks_path(path);
    sealed = digest_unseal_path(path);
    noted = utimensat(AT_FDCWD, path, times, 0) == 0;
    metrics_add(METRIC_TOUCHED, noted);
    if (sealed) {
        digest_seal_path(path);
    } else if (lacks && file_digest_may_wait()) {
        file_digest_later(path); /* it was lost by a kill, or copied */
    }
    return noted;
}

/* So that the file does not grow for ever. */
#define FORGOTTEN_MAX 65536

int store_tell_forgotten(const char *root)
{
    char path[PATH_MAX];
    struct stat st;
    int fd, rc;

    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_FORGOTTEN_FILE, root);
    fd = open(path,
              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
                  O_CLOEXEC,
              0644);
    if (fd == -1) {
        return errno == ENOENT ? 0 : -1;
    }
    rc = fstat(fd, &st) == 0 && st.st_size >= FORGOTTEN_MAX ? ftruncate(fd, 0)
                                                            : 0;
    if (rc != 0 || write(fd, "\n", 1) != 1) {
        rc = futimens(fd, NULL); /* which a full disk still takes */
    }
    close(fd);

    /* the journal of absent keys knows of it: absences.c */
    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_ABSENT_FILE, root);
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    return rc;
}

/* Must what is to be discarded wait?  What a disk does not give up stays, and
 * an upload that waits for it would never be answered. */
static bool store_is_left(const char *path, int errnum)
{
    if (errnum != 0 && !is_absence(errnum) && !is_scarce(errnum)) {
        log_error(errnum, "\"%s\": what was made of another original cannot be "
                          "removed, and is still served", path);
    }
    return is_scarce(errnum);
}

bool store_discard(const char *root, const symcache_key_t *key)
{
    char path[PATH_MAX], relative[SYMCACHE_PATH_MAX + 1];
    symcache_key_t each = *key;
    symcache_version_t version;
    struct dirent *entry;
    symcache_file_e file;
    int errnum = 0;
    DIR *dir;

    symcache_path_dir(relative, key);
    snprintf(path, sizeof(path), "%.1024s/%s", root, relative);
    dir = opendir(path);
    if (dir == NULL) {
        return !store_is_left(path, errno);
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (symcache_path_entry_parse(entry->d_name, strlen(entry->d_name),
                                      &each, &version, &file) &&
            file != SYMCACHE_FILE_ABSENT &&
            unlinkat(dirfd(dir), entry->d_name, 0) != 0) {
            errnum = errno;
        }
    }
    errnum = errno != 0 ? errno : errnum;
    closedir(dir);
    return !store_is_left(path, errnum);
}

void store_download_root(char buf[PATH_MAX], const char *downloads,
                         const char *store)
{
    snprintf(buf, PATH_MAX, "%.1024s/%.64s", downloads, store);
}

void store_download_path(char buf[PATH_MAX], const char *downloads,
                         const char *store, const symcache_key_t *key)
{
    char relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_original(relative, key);
    snprintf(buf, PATH_MAX, "%.1024s/%.64s/%s", downloads, store, relative);
}

bool store_download_find(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        return false;
    }
    /* of a link, it is the link that is used */
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    return true;
}
