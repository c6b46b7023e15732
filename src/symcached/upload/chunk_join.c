/*
 * Copyright (C) the ngx_symcache authors
 */
#include "chunk_join.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "symcached/space/space.h"
#include "upload_state.h"

#define SECONDS 600
#define BUFFER 65536

struct chunk_join {
    char *root;
    char *output;
    struct upload_sum *chunks;
    size_t nchunks;
    struct upload_sum sum;
    uint64_t max;
    uint64_t keep;
    int errnum;
    bool is_other;    /* it has another SHA-1 */
    unsigned damaged; /* chunks that have it, too, and were removed */
    struct upload *upload;
};

struct upload_sum *chunk_sums_copy(const struct upload_sum *sums, size_t n)
{
    struct upload_sum *copy = malloc(n * sizeof(*copy));

    if (copy != NULL) {
        memcpy(copy, sums, n * sizeof(*copy));
    }
    return copy;
}

void chunk_print_sum(char text[ARTIFACTS_SUM + 1],
                     const struct upload_sum *sum)
{
    hex_print(text, sum->bytes, sizeof(sum->bytes), HEX_LOWER);
}

void chunk_print_path(char path[PATH_MAX], const char *root,
                      const struct upload_sum *sum)
{
    char text[ARTIFACTS_SUM + 1];

    chunk_print_sum(text, sum);
    snprintf(path, PATH_MAX, "%.2048s/" SYMCACHE_NAME_NONE "/hash-%s/%s", root,
             text, UPLOAD_CHUNK);
}

/* out may be NULL.  Returns 0, or an errno. */
static int chunk_join_append(const struct chunk_join *join,
                             const struct upload_sum *chunk,
                             struct limited_writer *out, EVP_MD_CTX *sha1,
                             char *buffer)
{
    char path[PATH_MAX];
    ssize_t n;
    int fd, rc = 0;

    chunk_print_path(path, join->root, chunk);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    do {
        n = read(fd, buffer, BUFFER);
        if (n < 0 && errno != EINTR) {
            rc = errno;
        } else if (n > 0 && EVP_DigestUpdate(sha1, buffer, (size_t)n) != 1) {
            rc = ENOMEM;
        } else if (n > 0 && out != NULL &&
                   limited_writer_write(out, buffer, (size_t)n) != 0) {
            rc = out->error;
        }
    } while (n != 0 && rc == 0);
    close(fd);
    return rc;
}

/* Returns 0, or an errno. */
static int chunk_join_all(struct chunk_join *join, int fd, EVP_MD_CTX *sha1,
                          char *buffer)
{
    struct limited_writer out = {
        .fd = fd, .max = join->max, .keep = join->keep};
    struct upload_sum sum;
    size_t i;
    int rc = 0;

    if (fd < 0) {
        return errno;
    }
    if (buffer == NULL || sha1 == NULL ||
        EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) != 1) {
        return ENOMEM;
    }
    for (i = 0; i < join->nchunks && rc == 0; i++) {
        rc = chunk_join_append(join, &join->chunks[i], &out, sha1, buffer);
    }
    if (rc == 0 && EVP_DigestFinal_ex(sha1, sum.bytes, NULL) != 1) {
        rc = ENOMEM;
    }
    join->is_other = rc == 0 && memcmp(&sum, &join->sum, sizeof(sum)) != 0;
    return rc;
}

/* Removes the chunks that a disk has changed: clients send what is missing. */
static void chunk_join_drop_damaged(struct chunk_join *join, EVP_MD_CTX *sha1,
                                    char *buffer)
{
    struct upload_sum sum;
    char path[PATH_MAX];
    size_t i;

    for (i = 0; i < join->nchunks; i++) {
        if (EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) != 1 ||
            chunk_join_append(join, &join->chunks[i], NULL, sha1, buffer) !=
                0 ||
            EVP_DigestFinal_ex(sha1, sum.bytes, NULL) != 1 ||
            memcmp(&sum, &join->chunks[i], sizeof(sum)) == 0) {
            continue;
        }
        chunk_print_path(path, join->root, &join->chunks[i]);
        join->damaged += unlink(path) == 0;
    }
}

static void chunk_join_run(void *arg)
{
    struct chunk_join *join = arg;
    int fd = open(join->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EVP_MD_CTX *sha1 = EVP_MD_CTX_new();
    char *buffer = malloc(BUFFER);

    join->errnum = chunk_join_all(join, fd, sha1, buffer);
    if (join->is_other) {
        chunk_join_drop_damaged(join, sha1, buffer);
    }
    fd_close(fd);
    EVP_MD_CTX_free(sha1);
    free(buffer);
}

static void chunk_join_done(void *arg, bool late)
{
    struct chunk_join *join = arg;
    struct upload *upload = join->upload;

    upload->join = NULL;
    if (late) {
        upload_refuse(upload, 503, "the disk does not answer");
    } else if (join->errnum == ENOENT) {
        upload_refuse(upload, 503, "a chunk has expired: send it again");
    } else if (join->errnum == EFBIG) {
        upload_refuse_size(upload, "the chunks together");
    } else if (join->errnum != 0) {
        upload_refuse_errno(upload, join->errnum,
                            "the chunks cannot be joined");
    } else if (join->damaged > 0) {
        log_error(0,
                  "upload: %u chunks are not what they were: they are "
                  "removed, and to be sent again",
                  join->damaged);
        upload_refuse(upload, 503, "a chunk was damaged here: send it again");
    } else if (join->is_other) {
        upload_refuse(upload, 400, "the chunks make a file of another SHA-1");
    } else if ((upload->in = open(join->output, O_RDONLY | O_CLOEXEC)) < 0) {
        upload_refuse_errno(upload, errno, "the joined chunks cannot be read");
    } else {
        unpacking_start(upload);
    }
}

static void chunk_join_drop(void *arg)
{
    struct chunk_join *join = arg;

    free(join->root);
    free(join->output);
    free(join->chunks);
    free(join);
}

void chunk_join_start(struct upload *upload)
{
    static const struct task_calls calls = {chunk_join_run, chunk_join_done,
                                            chunk_join_drop};
    const char *root = upload->config->uploads.root;
    struct chunk_join *join = calloc(1, sizeof(*join));
    int work = open(upload->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (join != NULL &&
        asprintf(&join->root, "%s%s", root,
                 upload->request.only_try ? "/" UPLOADS_TRY : "") < 0) {
        join->root = NULL;
    }
    if (join != NULL &&
        asprintf(&join->output, "%s/joined", upload->work) < 0) {
        join->output = NULL;
    }
    if (join != NULL) {
        join->chunks =
            chunk_sums_copy(upload->request.chunks, upload->request.nchunks);
    }
    if (join == NULL || join->root == NULL || join->output == NULL ||
        join->chunks == NULL) {
        if (join != NULL) {
            chunk_join_drop(join);
        }
        upload_refuse_errno(upload, ENOMEM, "the chunks cannot be joined");
    } else {
        join->nchunks = upload->request.nchunks;
        join->sum = upload->request.sum;
        join->max = upload->config->uploads.max_size;
        join->keep = disk_space_kept(work, &upload->config->cache);
        join->upload = upload;
        upload->join =
            task_start(upload->uploads->base, SECONDS, &calls, join);
        if (upload->join == NULL) {
            upload_refuse_errno(upload, errno, "no thread to join chunks");
        }
    }
    fd_close(work);
}
