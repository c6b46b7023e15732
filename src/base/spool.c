/*
 * Copyright (C) the ngx_symcache authors
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_uint_least64_t limit = UINT64_MAX, bytes;

void spool_limit(uint64_t most)
{
    atomic_store(&limit, most);
}

uint64_t spool_bytes(void)
{
    return atomic_load(&bytes);
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
    return others + size > atomic_load(&limit) ? -1 : 0;
}

/* Nothing of a body stays in memory that something else gets. */
static void drop_data(struct spool *spool)
{
    if (spool->data != NULL) {
        explicit_bzero(spool->data, (size_t)spool->size);
    }
    free(spool->data);
    spool->data = NULL;
}

static int write_all(int fd, const char *data, size_t size)
{
    size_t done;
    ssize_t n;

    for (done = 0; done < size; done += (size_t)n) {
        n = write(fd, data + done, size - done);
        if (n <= 0) {
            return -1;
        }
    }
    return 0;
}

int spool_file(struct spool *spool)
{
    if (spool->fd != -1) {
        return spool->fd;
    }
    spool->fd = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (spool->fd != -1 && spool->data != NULL &&
        write_all(spool->fd, spool->data, (size_t)spool->size) != 0) {
        close(spool->fd);
        spool->fd = -1;
    }
    if (spool->fd != -1) {
        drop_data(spool);
    }
    return spool->fd;
}

int spool_write(struct spool *spool, const void *data, size_t size)
{
    if (spool_count(spool, size) != 0) {
        return -1;
    }
    if (spool->fd == -1 && size <= SPOOL_SMALL - spool->size) {
        if (spool->data == NULL &&
            (spool->data = malloc(SPOOL_SMALL)) == NULL) {
            return -1;
        }
        memcpy(spool->data + spool->size, data, size);
    } else if (spool_file(spool) == -1 ||
               write_all(spool->fd, data, size) != 0) {
        return -1;
    }
    spool->size += size;
    return 0;
}

void spool_seal(struct spool *spool)
{
    if (spool->fd != -1) {
        fcntl(spool->fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    }
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
    drop_data(spool);
    if (spool->fd != -1) {
        close(spool->fd);
    }
    free(spool);
}
