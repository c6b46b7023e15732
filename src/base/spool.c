/*
 * Copyright (C) the ngx_symcache authors
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "clock.h"
#include "fd_close.h"
#include "fd_write.h"
#include "log.h"

/* At most one line of the log in so much time tells that the folder fails. */
#define PAUSE_MS 10000

static atomic_uint_least64_t spool_most = UINT64_MAX, bytes;
static atomic_int spool_directory = -1;

void spool_limit(uint64_t most)
{
    atomic_store(&spool_most, most);
}

uint64_t spool_bytes(void)
{
    return atomic_load(&bytes);
}

/* Makes a file without a name.  Returns -1 with errno. */
static int make_spool_file(int where)
{
    return openat(where, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

/* Opens a file once more, to be read only: who gets a descriptor of it can do
 * no more than that.  Returns -1 with errno. */
static int open_spool_to_read(int fd)
{
    char path[sizeof("/proc/self/fd/") + 11];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int spool_folder(int where)
{
    int fd = where != -1 ? make_spool_file(where) : -1;
    int again = fd != -1 ? open_spool_to_read(fd) : -1;

    fd_close(fd);
    fd_close(again);
    if (where != -1 && again == -1) {
        return -1;
    }
    atomic_store(&spool_directory, where);
    return 0;
}

struct spool *spool_new(void)
{
    struct spool *spool = calloc(1, sizeof(*spool));

    if (spool == NULL) {
        return NULL;
    }
    atomic_init(&spool->refs, 1);
    spool->fd = -1;
    return spool;
}

struct spool *spool_adopt(int fd)
{
    struct spool *spool = calloc(1, sizeof(*spool));
    off_t size = lseek(fd, 0, SEEK_END);

    if (spool == NULL || size == -1) {
        free(spool);
        close(fd);
        return NULL;
    }
    atomic_init(&spool->refs, 1);
    spool->fd = fd;
    spool->size = (uint64_t)size;
    if (spool_count(spool, spool->size) != 0) {
        spool_unref(spool);
        return NULL;
    }
    return spool;
}

int spool_count(struct spool *spool, uint64_t size)
{
    uint64_t others = atomic_fetch_add(&bytes, size);

    atomic_fetch_add(&spool->counted, size);
    return others + size > atomic_load(&spool_most) ? -1 : 0;
}

/* Nothing of a body stays in memory that something else gets. */
static void drop_spool_data(struct spool *spool)
{
    if (spool->data != NULL) {
        explicit_bzero(spool->data, (size_t)spool->size);
    }
    free(spool->data);
    spool->data = NULL;
}

/* Moves a file from memory into a folder.  Returns 0, or -1 with errno. */
static int move_spool_to_file(struct spool *spool, int where)
{
    int fd = make_spool_file(where);
    off_t at = 0;
    ssize_t n = 1;

    while (fd != -1 && n > 0 && (uint64_t)at < spool->size) {
        n = sendfile(fd, spool->fd, &at, (size_t)(spool->size - (uint64_t)at));
    }
    if (fd == -1 || n <= 0) {
        fd_close(fd);
        return -1;
    }
    close(spool->fd);
    spool->fd = fd;
    spool->is_in_folder = true;
    return 0;
}

/* Writes to a file, wherever it is then. */
static int write_spool_file(struct spool *spool, const char *data, size_t size)
{
    static atomic_uint_least64_t said; /* or 0 */
    uint64_t now, before;
    int errnum, where = atomic_load(&spool_directory);

    if ((spool->is_in_folder || where == -1 ||
         spool->size + size <= SPOOL_MEMORY ||
         move_spool_to_file(spool, where) == 0) &&
        fd_write(spool->fd, data, size) == 0) {
        return 0;
    }
    errnum = errno;
    now = clock_ms();
    before = atomic_load(&said);
    if (where != -1 && (before == 0 || now - before >= PAUSE_MS) &&
        atomic_compare_exchange_strong(&said, &before, now)) {
        log_error(errnum, "a request's body cannot be kept in "
                          "\"symbolication.spool\": answered 503");
    }
    errno = errnum;
    return -1;
}

int spool_file(struct spool *spool)
{
    if (spool->fd != -1) {
        return spool->fd;
    }
    spool->fd = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (spool->fd != -1 && spool->data != NULL &&
        fd_write(spool->fd, spool->data, (size_t)spool->size) != 0) {
        close(spool->fd);
        spool->fd = -1;
    }
    if (spool->fd != -1) {
        drop_spool_data(spool);
    }
    return spool->fd;
}

int spool_write(struct spool *spool, const void *data, size_t size)
{
    if (spool->is_sealed || spool_count(spool, size) != 0) {
        return -1;
    }
    if (spool->fd == -1 && size <= SPOOL_SMALL - spool->size) {
        if (spool->data == NULL &&
            (spool->data = malloc(SPOOL_SMALL)) == NULL) {
            return -1;
        }
        memcpy(spool->data + spool->size, data, size);
    } else if (spool_file(spool) == -1 ||
               write_spool_file(spool, data, size) != 0) {
        return -1;
    }
    spool->size += size;
    return 0;
}

int spool_seal(struct spool *spool)
{
    int fd;

    if (spool->is_sealed || spool->fd == -1) {
        return 0;
    }
    spool->is_sealed = true;
    if (!spool->is_in_folder) {
        fcntl(spool->fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
        return 0;
    }
    fd = open_spool_to_read(spool->fd);
    close(spool->fd);
    spool->fd = fd;
    return fd != -1 ? 0 : -1;
}

struct spool *spool_ref(struct spool *spool)
{
    atomic_fetch_add(&spool->refs, 1);
    return spool;
}

void spool_unref(struct spool *spool)
{
    if (spool == NULL || atomic_fetch_sub(&spool->refs, 1) > 1) {
        return;
    }
    atomic_fetch_sub(&bytes, atomic_load(&spool->counted));
    drop_spool_data(spool);
    fd_close(spool->fd);
    free(spool);
}
