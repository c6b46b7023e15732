/*
 * Copyright (C) the ngx_symcache authors
 */

#include "store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest_attribute.h"
#include "base/durable.h"
#include "base/fd_close.h"
#include "base/fd_write.h"

#define COPY "file" /* name in the work folder */
#define TRIES 10
#define PIECE (256 << 10)

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int give_to_owner(const struct store_writer *writer, int fd)
{
    return writer->has_owner ? fchown(fd, writer->uid, writer->gid) : 0;
}

/* Makes a folder unless it exists.  Returns its descriptor, or -1. */
static int make_folder(const struct store_writer *writer, int at,
                       const char *name)
{
    int fd, is_new;

    is_new = mkdirat(at, name, 0755) == 0;
    if (!is_new && errno != EEXIST) {
        return -1;
    }
    fd = openat(at, name, FOLDER);
    if (fd >= 0 && is_new &&
        (fchmod(fd, 0755) != 0 || give_to_owner(writer, fd) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Makes a work folder as symcached does.  A folder without a lock belongs
 * to a process that has died, and symcached removes it. */
static int make_work(struct store_writer *writer)
{
    struct stat st;
    int i, tmp;

    tmp = make_folder(writer, writer->root, SYMCACHE_TMP_DIR);
    if (tmp < 0) {
        return -1;
    }
    close(tmp);
    for (i = 0; i < TRIES; i++) {
        snprintf(writer->work_name, sizeof(writer->work_name),
                 SYMCACHE_TMP_DIR "/run-import-%d-%d", (int)getpid(), i);
        writer->work = make_folder(writer, writer->root, writer->work_name);
        if (writer->work < 0) {
            return -1;
        }
        if (flock(writer->work, LOCK_EX | LOCK_NB) == 0 &&
            fstatat(writer->root, writer->work_name, &st, 0) == 0) {
            return 0;
        }
        close(writer->work);
    }
    errno = EBUSY;
    return -1;
}

int store_writer_open(struct store_writer *writer, const char *root)
{
    struct stat st;

    memset(writer, 0, sizeof(*writer));
    writer->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (writer->root < 0 || fstat(writer->root, &st) != 0) {
        return -1;
    }
    writer->has_owner = geteuid() == 0;
    writer->uid = st.st_uid;
    writer->gid = st.st_gid;
    return make_work(writer);
}

static int copy_bytes(int from, int to, struct digest *digest)
{
    static char piece[PIECE];
    off_t at = 0;
    ssize_t n;

    for (;;) {
        n = pread(from, piece, sizeof(piece), at);
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        if (n > 0 && fd_write(to, piece, (size_t)n) != 0) {
            return -1;
        }
        if (n > 0) {
            digest_add(digest, piece, (size_t)n);
            at += n;
        }
    }
}

int store_writer_copy(struct store_writer *writer, int from, int *copy)
{
    struct digest *digest;
    int saved;

    unlinkat(writer->work, COPY, 0);
    *copy = openat(writer->work, COPY,
                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (*copy < 0) {
        return -1;
    }
    digest = digest_new();
    if (copy_bytes(from, *copy, digest) == 0 && fchmod(*copy, 0644) == 0 &&
        give_to_owner(writer, *copy) == 0) {
        digest_note(*copy, digest);
        return 0;
    }
    saved = errno;
    digest_free(digest);
    close(*copy);
    errno = saved;
    return -1;
}

static int publish_into(struct store_writer *writer, int folder,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    char name[SYMCACHE_PATH_MAX + 1];

    /* It was compressed from the former file, and must never lie beside the
     * new one. */
    symcache_path_name(name, key, version, SYMCACHE_FILE_GZIP);
    (void)unlinkat(folder, name, 0);
    symcache_path_name(name, key, version, SYMCACHE_FILE_PLAIN);
    if (renameat(writer->work, COPY, folder, name) != 0 ||
        durable_sync(folder) != 0) {
        return -1;
    }
    symcache_path_name(name, key, version, SYMCACHE_FILE_ABSENT);
    (void)unlinkat(folder, name, 0);
    return 0;
}

/* Folders may vanish at any time, because a cleaner removes empty ones. */
static int publish_once(struct store_writer *writer, const symcache_key_t *key,
                        const symcache_version_t *version)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    int pdb, folder, rc, saved;

    symcache_id_print(id, key);
    pdb = make_folder(writer, writer->root, key->name);
    if (pdb < 0) {
        return -1;
    }
    folder = make_folder(writer, pdb, id);
    rc = folder >= 0 ? publish_into(writer, folder, key, version) : -1;
    if (rc == 0) {
        rc =
            durable_sync(pdb) == 0 && durable_sync(writer->root) == 0 ? 0 : -1;
    }
    saved = errno;
    fd_close(folder);
    close(pdb);
    errno = saved;
    return rc;
}

int store_writer_publish(struct store_writer *writer, int copy,
                         const symcache_key_t *key,
                         const symcache_version_t *version)
{
    int i;

    if (durable_sync(copy) != 0) {
        return -1;
    }
    for (i = 0; i < TRIES; i++) {
        if (publish_once(writer, key, version) == 0) {
            digest_seal(copy);
            return 0;
        }
        if (errno != ENOENT) {
            return -1;
        }
    }
    return -1;
}

void store_writer_close(struct store_writer *writer)
{
    if (writer->work > 0) {
        unlinkat(writer->work, COPY, 0);
        unlinkat(writer->root, writer->work_name, AT_REMOVEDIR);
        close(writer->work);
    }
    fd_close(writer->root);
}
