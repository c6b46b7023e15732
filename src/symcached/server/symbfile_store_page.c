/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbfiles that were uploaded, as Elastic's symbol store has them for its
 * clients.  ID is a file id, and A and B are its first two and next two
 * characters:
 *
 *   GET /v1/symbfiles/A/B/ID/metadata.json
 *   GET /v1/symbfiles/A/B/ID/ranges            the symbfile, packed with zstd
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "proto/profiler_id.h"
#include "url_path.h"

#define ZSTD_LEVEL 3

#define PIECE (128u << 10) /* bytes of the file that are read at a time */

/* Packed files are in memory until they are sent. */
#define SIZE_MAX_PACKED (256u << 20)

/* A file that a thread packs. */
struct symbfile_store_file {
    struct pending_reply *pending; /* NULL: the client is gone */
    struct task *task;
    int fd;
    size_t size;
    void *compressed;
    size_t compressed_size; /* 0: it could not be done */
};

/* Reads the file, and packs it.  With a mapping, a disk that fails, or a file
 * that is cut short, would end the process.  Returns 0 if it cannot be done. */
static size_t symbfile_store_compress(const struct symbfile_store_file *stored,
                                      size_t space, ZSTD_CCtx *context,
                                      void *piece)
{
    ZSTD_outBuffer out = {stored->compressed, space, 0};
    size_t at = 0, left = 1;

    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setPledgedSrcSize(context, stored->size);
    while (at < stored->size) {
        ssize_t n = pread(stored->fd, piece, PIECE, (off_t)at);
        ZSTD_inBuffer in = {piece, n > 0 ? (size_t)n : 0, 0};

        if (n <= 0) {
            return 0;
        }
        at += in.size;
        left = ZSTD_compressStream2(context, &out, &in,
                                    at == stored->size ? ZSTD_e_end
                                                       : ZSTD_e_continue);
        if (ZSTD_isError(left) || in.pos != in.size) {
            return 0;
        }
    }
    return left == 0 ? out.pos : 0;
}

static void symbfile_store_pack(void *arg)
{
    struct symbfile_store_file *stored = arg;
    size_t space = ZSTD_compressBound(stored->size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    void *piece = malloc(PIECE);

    stored->compressed = malloc(space);
    if (context != NULL && piece != NULL && stored->compressed != NULL) {
        stored->compressed_size =
            symbfile_store_compress(stored, space, context, piece);
    }
    free(piece);
    ZSTD_freeCCtx(context);
}

static void symbfile_store_drop(void *arg)
{
    struct symbfile_store_file *stored = arg;

    close(stored->fd);
    free(stored->compressed);
    free(stored);
}

static void symbfile_store_on_packed(void *arg, bool late)
{
    struct symbfile_store_file *stored = arg;
    struct evhttp_request *req = evhttp_request_new(NULL, NULL);
    struct evbuffer *body = evbuffer_new();

    if (req == NULL || body == NULL) {
        pending_reply_free(stored->pending);
    } else {
        if (stored->compressed_size == 0) {
            reply_error(req, 503, "unreadable",
                        "the symbfile cannot be read, or packed");
        } else {
            evbuffer_add(body, stored->compressed, stored->compressed_size);
            reply_header(req, "Cache-Control", "no-store");
            reply_send(req, 200, "application/octet-stream", body);
        }
        pending_reply_answer(stored->pending,
                             evhttp_request_get_output_buffer(req));
    }
    if (req != NULL) {
        evhttp_request_free(req);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
}

static void symbfile_store_on_gone(void *arg)
{
    struct symbfile_store_file *stored = arg;
    struct task *task = stored->task;

    pending_reply_free(stored->pending);
    stored->pending = NULL;
    task_cancel(task);
}

static void symbfile_store_send(struct event_base *base, int fd, size_t size,
                                struct evhttp_request *req)
{
    static const struct task_calls calls = {
        symbfile_store_pack, symbfile_store_on_packed, symbfile_store_drop};
    struct symbfile_store_file *stored = calloc(1, sizeof(*stored));
    struct pending_reply *pending = NULL;
    struct task *task;

    if (stored != NULL) {
        pending = pending_reply_new(base, req, symbfile_store_on_gone, stored);
    }
    if (pending == NULL) {
        close(fd);
        free(stored);
        reply_error(req, 503, "out-of-memory", "out of memory");
        return;
    }
    stored->pending = pending;
    stored->fd = fd;
    stored->size = size;
    task = task_start(base, 0, &calls, stored);
    if (task == NULL) {
        pending_reply_free(pending); /* all else was dropped */
    } else {
        stored->task = task;
    }
}

static void symbfile_store_metadata(const char *id, struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject(), *references;

    cJSON_AddNumberToObject(object, "version", 1);
    references = cJSON_AddObjectToObject(object, "symbolFileReferences");
    cJSON_AddStringToObject(references, "dwarfFileID", id);
    reply_json(req, object);
}

/* Reads the id of a path, whose folders are parts of it. */
static bool symbfile_store_read_id(const struct url_path *path,
                                   symcache_key_t *key)
{
    const char *id = path->n == 6 ? path->segments[4] : NULL;

    return id != NULL && path->lengths[4] == SYMCACHE_PROFILER_ID_TEXT &&
           path->lengths[2] == 2 && path->lengths[3] == 2 &&
           memcmp(path->segments[2], id, 2) == 0 &&
           memcmp(path->segments[3], id + 2, 2) == 0 &&
           symcache_profiler_id_parse(id, path->lengths[4], key);
}

/* Opens the symbfile of a key.  Returns -1 with errno. */
static int symbfile_store_open(const char *root, const symcache_key_t *key,
                               size_t *size)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1], path[4096];
    struct stat st;
    int fd;

    symcache_id_print(id, key);
    if (snprintf(path, sizeof(path),
                 "%s/" SYMCACHE_NAME_NONE "/%s/" SYMCACHE_NAME_NONE
                 ".symbfile",
                 root, id) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd == -1) {
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    *size = (size_t)st.st_size;
    return fd;
}

void symbfile_store_page(struct event_base *base, const struct config *config,
                         const struct url_path *path,
                         struct evhttp_request *req)
{
    const char *root = config->uploads.root;
    symcache_key_t key;
    size_t size = 0;
    int fd = -1;

    errno = ENOENT;
    if (root != NULL && symbfile_store_read_id(path, &key)) {
        fd = symbfile_store_open(root, &key, &size);
    }
    if (fd == -1) {
        reply_error(req, errno == ENOENT || errno == ENOTDIR ? 404 : 503,
                    "not-found", "no symbols of this file were uploaded");
    } else if (strcmp(path->segments[5], "metadata.json") == 0) {
        close(fd);
        symbfile_store_metadata(path->segments[4], req);
    } else if (strcmp(path->segments[5], "ranges") != 0) {
        close(fd);
        reply_error(req, 404, "not-found", "no such page");
    } else if (size > SIZE_MAX_PACKED) {
        close(fd);
        reply_error(req, 413, "too-large", "the symbfile has over 256 MiB");
    } else {
        symbfile_store_send(base, fd, size, req);
    }
}
