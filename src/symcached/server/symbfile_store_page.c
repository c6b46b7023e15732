/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbfiles that were uploaded, as Elastic's symbol store has them for its
 * clients.  What this machine does not have may be in the tier of uploads,
 * where a lookup finds it.  ID is a file id, and A and B are its first two and
 * next two characters:
 *
 *   GET /v1/symbfiles/A/B/ID/metadata.json
 *   GET /v1/symbfiles/A/B/ID/ranges            the symbfile, packed with zstd
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/fd_close.h"
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "proto/path.h"
#include "proto/profiler_id.h"
#include "symcached/job/job.h"
#include "symcached/store/store.h"
#include "symcached/upload_index/upload_index.h"
#include "url_path.h"

#define ZSTD_LEVEL 3

#define PIECE (128u << 10) /* bytes of the file that are read at a time */

/* Packed files are in memory until they are sent. */
#define SIZE_MAX_PACKED (256u << 20)

/* Seconds that a client waits for a file of another machine. */
#define WAIT 30

/* A request for a file: one that a thread packs, or that is looked for. */
struct symbfile_store_file {
    struct event_base *base;
    struct pending_reply *pending;
    struct scheduler *scheduler;
    struct waiter *waiter; /* NULL while scheduler_ask() runs */
    struct task *task;
    char store[SYMCACHE_STORE_MAX + 1];
    symcache_key_t key;
    char id[SYMCACHE_PROFILER_ID_TEXT + 1];
    bool is_ranges; /* or metadata.json */
    int fd;         /* -1: there is none, or it is not known yet */
    int errnum;     /* then */
    size_t size;
    void *compressed;
    size_t compressed_size; /* 0: it could not be done */
    void (*ended)(void *arg);
    void *arg;
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

    fd_close(stored->fd);
    free(stored->compressed);
    free(stored);
}

/* the answer -------------------------------------------------------------- */

static void symbfile_store_metadata(const char *id, struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject(), *references;

    cJSON_AddNumberToObject(object, "version", 1);
    references = cJSON_AddObjectToObject(object, "symbolFileReferences");
    cJSON_AddStringToObject(references, "dwarfFileID", id);
    reply_json(req, object);
}

static void symbfile_store_ranges(const struct symbfile_store_file *stored,
                                  struct evhttp_request *req)
{
    struct evbuffer *body = evbuffer_new();

    if (stored->compressed_size == 0 || body == NULL) {
        reply_error(req, 503, "unreadable",
                    "the symbfile cannot be read, or packed");
    } else {
        evbuffer_add(body, stored->compressed, stored->compressed_size);
        reply_header(req, "Cache-Control", "no-store");
        reply_send(req, 200, "application/octet-stream", body);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
}

static void symbfile_store_reply(const struct symbfile_store_file *stored,
                                 struct evhttp_request *req)
{
    if (stored->fd == -1 && stored->errnum == ENOENT) {
        reply_error(req, 404, "not-found",
                    "no symbols of this file were uploaded");
    } else if (stored->fd == -1) {
        reply_number(req, "Retry-After", 1);
        reply_error(req, 503, "unknown", strerror(stored->errnum));
    } else if (!stored->is_ranges) {
        symbfile_store_metadata(stored->id, req);
    } else if (stored->size > SIZE_MAX_PACKED) {
        reply_error(req, 413, "too-large", "the symbfile has over 256 MiB");
    } else {
        symbfile_store_ranges(stored, req);
    }
}

static void symbfile_store_end(const struct symbfile_store_file *stored)
{
    struct evhttp_request *req = evhttp_request_new(NULL, NULL);

    if (req == NULL) {
        pending_reply_free(stored->pending);
    } else {
        symbfile_store_reply(stored, req);
        pending_reply_answer(stored->pending,
                             evhttp_request_get_output_buffer(req));
        evhttp_request_free(req);
    }
    stored->ended(stored->arg);
}

static void symbfile_store_on_packed(void *arg, bool late)
{
    symbfile_store_end(arg);
}

static void symbfile_store_on_gone(void *arg)
{
    struct symbfile_store_file *stored = arg;

    pending_reply_free(stored->pending);
    stored->ended(stored->arg);
    if (stored->waiter != NULL) {
        scheduler_leave(stored->waiter);
        symbfile_store_drop(stored);
    } else {
        task_cancel(stored->task);
    }
}

/* The file is there, or not: packs it if that was asked for, and answers. */
static void symbfile_store_send(struct symbfile_store_file *stored)
{
    static const struct task_calls calls = {
        symbfile_store_pack, symbfile_store_on_packed, symbfile_store_drop};
    struct pending_reply *pending = stored->pending;
    void (*ended)(void *arg);
    struct task *task;
    void *arg;

    if (stored->fd == -1 || !stored->is_ranges ||
        stored->size > SIZE_MAX_PACKED) {
        symbfile_store_end(stored);
        symbfile_store_drop(stored);
        return;
    }
    ended = stored->ended;
    arg = stored->arg;
    task = task_start(stored->base, 0, &calls, stored);
    if (task != NULL) {
        stored->task = task;
    } else {
        pending_reply_free(pending); /* all else was dropped */
        ended(arg);
    }
}

/* the file ---------------------------------------------------------------- */

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

/* Opens the symbfile below a folder. */
static void symbfile_store_open(struct symbfile_store_file *stored,
                                const char *root)
{
    char relative[SYMCACHE_PATH_MAX + 1], path[PATH_MAX];
    struct stat st;

    symcache_path_original(relative, &stored->key);
    snprintf(path, sizeof(path), "%.1500s/%s", root, relative);
    stored->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (stored->fd == -1) {
        stored->errnum = errno == ENOTDIR ? ENOENT : errno;
    } else if (fstat(stored->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
               st.st_size == 0) {
        close(stored->fd);
        stored->fd = -1;
        stored->errnum = ENOENT;
    } else {
        stored->size = (size_t)st.st_size;
    }
}

/* Is called from inside scheduler_ask(), or later. */
static void symbfile_store_on_answer(void *arg,
                                     const struct scheduler_answer *answer)
{
    struct symbfile_store_file *stored = arg;
    char root[PATH_MAX];

    stored->waiter = NULL;
    if (answer->kind == SCHEDULER_HIT) {
        store_download_root(root,
                            scheduler_config(stored->scheduler)->downloads,
                            stored->store);
        symbfile_store_open(stored, root);
    } else if (answer->kind != SCHEDULER_ABSENT) {
        stored->errnum = EAGAIN;
    }
    symbfile_store_send(stored);
}

/* The store whose lookups find what other machines took, or NULL. */
static const struct store_config *
symbfile_store_find(const struct config *config)
{
    size_t i;

    for (i = 0; config->uploads.tier != NULL && i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i], false)) {
            return &config->stores[i];
        }
    }
    return NULL;
}

static void symbfile_store_begin(struct symbfile_store_file *stored)
{
    static const symcache_ask_t any = {.version = {1, 0, 0},
                                       .min = {1, 0, 0},
                                       .reads_file = 1};
    const struct config *config = scheduler_config(stored->scheduler);
    const struct store_config *store = symbfile_store_find(config);
    struct waiter *waiter;

    stored->errnum = uploads_disk_check(config);
    if (stored->errnum != 0) { /* it may have the file */
        stored->fd = -1;
        stored->errnum = EAGAIN;
        symbfile_store_send(stored);
        return;
    }
    symbfile_store_open(stored, config->uploads.root);
    if (stored->fd != -1 || stored->errnum != ENOENT || store == NULL) {
        symbfile_store_send(stored);
        return;
    }
    snprintf(stored->store, sizeof(stored->store), "%s", store->name);
    waiter = scheduler_ask(stored->scheduler,
                           &(struct scheduler_lookup){
                               store, &stored->key, SYMCACHE_NAME_NONE, &any,
                               "", "", WAIT},
                           symbfile_store_on_answer, stored);
    if (waiter != NULL) {
        stored->waiter = waiter;
    }
}

void symbfile_store_page(struct event_base *base, struct scheduler *scheduler,
                         const struct url_path *path,
                         struct evhttp_request *req,
                         void (*ended)(void *arg), void *arg)
{
    struct symbfile_store_file *stored;
    symcache_key_t key;
    bool is_ranges;

    if (scheduler_config(scheduler)->uploads.root == NULL ||
        !symbfile_store_read_id(path, &key)) {
        reply_error(req, 404, "not-found",
                    "no symbols of this file were uploaded");
        return;
    }
    is_ranges = strcmp(path->segments[5], "ranges") == 0;
    if (!is_ranges && strcmp(path->segments[5], "metadata.json") != 0) {
        reply_error(req, 404, "not-found", "no such page");
        return;
    }
    stored = calloc(1, sizeof(*stored));
    if (stored != NULL) {
        stored->pending =
            pending_reply_new(base, req, symbfile_store_on_gone, stored);
    }
    if (stored == NULL || stored->pending == NULL) {
        free(stored);
        reply_error(req, 503, "out-of-memory", "out of memory");
        return;
    }
    stored->base = base;
    stored->scheduler = scheduler;
    stored->key = key;
    stored->key.kind = SYMCACHE_KIND_SYMBFILE;
    snprintf(stored->id, sizeof(stored->id), "%s", path->segments[4]);
    stored->is_ranges = is_ranges;
    stored->ended = ended;
    stored->arg = arg;
    symbfile_store_begin(stored);
}
