/*
 * Copyright (C) the ngx_symcache authors
 */

#include <cjson/cJSON.h>
#include <errno.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/space/space.h"
#include "symcached/upload/upload.h"
#include "pages.h"
#include "tecken_session.h"
#include "upload_page.h"

#define BUFFER 65536

#define PIECE_SECONDS 600

/* Of the bytes of a file. */
struct piece_range {
    uint64_t first;
    uint64_t size; /* 0: the client asks how much has come */
    uint64_t total;
};

/* Reads a number and what follows it.  Returns the place behind that, or
 * NULL. */
static const char *piece_read_number(const char *p, uint64_t *number,
                                     char after)
{
    char *end;

    if (*p < '0' || *p > '9') {
        return NULL;
    }
    errno = 0;
    *number = strtoull(p, &end, 10);
    if (errno != 0 || *number > (uint64_t)INT64_MAX || *end != after) {
        return NULL;
    }
    return after != '\0' ? end + 1 : end;
}

/* Reads a Content-Range (RFC 9110, 14.4) whose total is known.  Returns what is
 * wrong, or NULL. */
static const char *read_piece_range(const char *text,
                                    struct piece_range *range)
{
    static const char wrong[] = "Content-Range must be \"bytes "
                                "<first>-<last>/<size>\"";
    static const char unit[] = "bytes ";
    const char *p = text;
    uint64_t last;

    memset(range, 0, sizeof(*range));
    if (text == NULL || strncmp(text, unit, sizeof(unit) - 1) != 0) {
        return wrong;
    }
    p += sizeof(unit) - 1;
    if (strncmp(p, "*/", 2) == 0) {
        return piece_read_number(p + 2, &range->total, '\0') != NULL ? NULL
                                                                     : wrong;
    }
    p = piece_read_number(p, &range->first, '-');
    p = p != NULL ? piece_read_number(p, &last, '/') : NULL;
    p = p != NULL ? piece_read_number(p, &range->total, '\0') : NULL;
    if (p == NULL || last < range->first || last >= range->total) {
        return wrong;
    }
    range->size = last - range->first + 1;
    return NULL;
}

/* Opens the body of a request, which must have as many bytes as the range.
 * Returns its descriptor; or -1 with a status and the reason. */
static int open_piece_body(const struct config *config, const char *path,
                           const struct piece_range *range, int *status,
                           char *error, size_t size)
{
    int fd =
        nginx_body_file_open(config->uploads.spool, path, status, error, size);
    struct stat st;

    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || (uint64_t)st.st_size != range->size)) {
        close(fd);
        *status = 400;
        snprintf(error, size, "the body is not as long as Content-Range says");
        return -1;
    }
    return fd;
}

/*
 * Copies size bytes from the offset of `in` to a place in another file, on
 * whose file system `keep` bytes stay free, and whose offset is its beginning
 * then.  The kernel does it where both are on one file system, without blocks
 * of its own where that can share them.  Returns 0, or an errno.
 */
static int piece_copy_body(int in, int out, uint64_t at, uint64_t size,
                           uint64_t keep)
{
    struct limited_writer writer = {.fd = out, .max = size, .keep = keep};
    char *buffer = malloc(BUFFER);
    ssize_t n;
    size_t copied;

    if (buffer == NULL || lseek(out, (off_t)at, SEEK_SET) < 0) {
        free(buffer);
        return errno;
    }
    do {
        copied = limited_writer_copy(&writer, in, size - writer.written);
    } while (copied > 0 && writer.written < size);
    while (writer.error == 0 && writer.written < size) {
        n = read(in, buffer, BUFFER);
        if (n > 0) {
            (void)limited_writer_write(&writer, buffer, (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            writer.error = n == 0 ? EIO : errno;
        }
    }
    free(buffer);
    if (writer.error == 0 && lseek(out, 0, SEEK_SET) < 0) {
        return errno;
    }
    return writer.error;
}

struct tecken_piece {
    struct tecken_session *session;
    int in;
    int out;
    uint64_t at;
    uint64_t size;
    int errnum;
    struct config *config; /* reference */
};

static void copy_tecken_piece(void *arg)
{
    struct tecken_piece *piece = arg;

    piece->errnum =
        piece_copy_body(piece->in, piece->out, piece->at, piece->size,
                        disk_space_kept(piece->out, &piece->config->cache));
}

static void drop_tecken_piece(void *arg)
{
    struct tecken_piece *piece = arg;

    close(piece->in);
    close(piece->out);
    config_unref(piece->config);
    free(piece);
}

/* The client can send the piece again; or all of them, as a thread that is late
 * may still write to the file. */
static void refuse_tecken_piece(const struct tecken_piece *piece, bool late,
                                struct evhttp_request *req)
{
    struct tecken_session *session = piece->session;
    bool is_full = !late && disk_is_full(piece->errnum);
    char text[256];

    snprintf(text, sizeof(text), "the piece cannot be kept: %s",
             late      ? "the disk does not answer"
             : is_full ? DISK_SPACE_NONE
                       : strerror(piece->errnum));
    log_error(0,
              "upload user=%s file=%s bytes=%" PRIu64 "-%" PRIu64
              ": %s; the client can send it again",
              session->open.user, session->path, piece->at,
              piece->at + piece->size - 1, text);
    if (late) {
        tecken_session_drop_file(session);
    }
    tecken_reply_error(req, is_full ? 507 : 503, text);
}

static void on_piece_copied(void *arg, bool late)
{
    const struct tecken_piece *piece = arg;
    struct tecken_session *session = piece->session;
    struct evhttp_request *req = session->open.req;
    char range[48];

    session->task = NULL;
    session->open.req = NULL;
    if (late || piece->errnum != 0) {
        refuse_tecken_piece(piece, late, req);
        return;
    }
    session->got = piece->at + piece->size;
    snprintf(range, sizeof(range), "bytes=0-%" PRIu64, session->got - 1);
    reply_header(req, "Range", range);
    reply_empty(req, 308);
}

static void on_piece_done(void *arg, const struct upload_result *result)
{
    struct tecken_session *session = arg;
    struct evhttp_request *req = session->open.req;
    cJSON *object;
    char size[24];

    session->open.req = NULL;
    session->is_refused = result->status >= 300;
    if (session->is_refused) {
        log_info(0, "upload user=%s status=%d file=%s %s", session->open.user,
                 result->status, session->path, result->text);
        tecken_reply_error(req, result->status, result->text);
        return; /* it may be sent again */
    }
    snprintf(size, sizeof(size), "%" PRIu64, result->files[0].size);
    object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", session->path);
    cJSON_AddStringToObject(object, "size", size);
    cJSON_AddStringToObject(object, "md5Hash", "");
    reply_object(req, 200, object);
    open_upload_forget(&session->open);
}

/* All of the file is in the body, or in the session's file. */
static void take_piece_file(struct tecken_session *session,
                            const struct config *config, const char *body,
                            struct evhttp_request *req)
{
    const struct upload_request request = {
        .name = session->parts[0],
        .id = session->parts[1],
        .file = session->parts[2],
        .body = body,
        .body_fd = body == NULL ? session->fd : -1,
        .replace = config->uploads.replace,
        .only_try = session->only_try,
        .user = session->open.user,
        .labels = session->labels};

    session->open.req = req;
    uploads_take(session->tecken->uploads, &request, on_piece_done, session);
}

/* The last piece has been copied, like the others. */
static void on_last_piece(void *arg, bool late)
{
    const struct tecken_piece *piece = arg;
    struct tecken_session *session = piece->session;
    struct evhttp_request *req = session->open.req;

    session->task = NULL;
    if (late || piece->errnum != 0) {
        on_piece_copied(arg, late);
        return;
    }
    session->got = piece->at + piece->size;
    take_piece_file(session, piece->config, NULL, req);
}

static void take_piece(struct tecken_session *session,
                       const struct config *config,
                       const struct piece_range *range, const char *body,
                       struct evhttp_request *req)
{
    static const struct task_calls calls[2] = {
        {copy_tecken_piece, on_piece_copied, drop_tecken_piece},
        {copy_tecken_piece, on_last_piece, drop_tecken_piece}};
    struct tecken_piece *piece;
    char error[256];
    int status, in, rc;

    in = open_piece_body(config, body, range, &status, error, sizeof(error));
    if (in < 0) {
        tecken_reply_error(req, status, error);
        return;
    }
    rc = tecken_session_open_file(session, config);
    piece = rc == 0 ? calloc(1, sizeof(*piece)) : NULL;
    if (piece == NULL || (piece->out = dup(session->fd)) < 0) {
        free(piece);
        close(in);
        tecken_reply_error(req, 503, rc == EBUSY ? "too many uploads at a time"
                                           : strerror(rc != 0 ? rc : ENOMEM));
        return;
    }
    piece->session = session;
    piece->config = config_ref((struct config *)config);
    piece->in = in;
    piece->at = range->first;
    piece->size = range->size;
    session->open.req = req;
    session->task = task_start(
        evhttp_connection_get_base(evhttp_request_get_connection(req)),
        PIECE_SECONDS, &calls[range->first + range->size == range->total],
        piece);
    if (session->task == NULL) {
        session->open.req = NULL;
        tecken_reply_error(req, 503, "no thread to store the piece");
    }
}

void tecken_piece_take(struct tecken_session *session,
                       const struct config *config,
                       struct evhttp_request *req)
{
    const char *body = request_header(req, UPLOAD_HEADER_BODY);
    struct piece_range range;
    const char *wrong =
        read_piece_range(request_header(req, "Content-Range"), &range);
    char text[120];

    session->open.used = clock_ms();
    if (session->open.req != NULL) {
        tecken_reply_error(req, 409, "it is being sent already");
    } else if (wrong != NULL) {
        tecken_reply_error(req, 400, wrong);
    } else if (range.total > config->uploads.max_size) {
        refusal_print_size(text, sizeof(text), config, "the file");
        tecken_reply_error(req, 413, text);
    } else if (session->got > 0 && session->got == range.total) {
        take_piece_file(session, config, NULL,
                        req); /* it was not taken before */
    } else if (range.size == 0 || range.first != session->got) {
        /* where it goes on, also if it asks for that */
        if (session->got > 0) {
            snprintf(text, sizeof(text), "bytes=0-%" PRIu64, session->got - 1);
            reply_header(req, "Range", text);
        }
        reply_empty(req, 308);
    } else if (body == NULL) {
        tecken_reply_error(req, 400, "the request has no body");
    } else if (range.size == range.total) {
        take_piece_file(session, config, body, req);
    } else {
        take_piece(session, config, &range, body, req);
    }
}
