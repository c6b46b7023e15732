/*
 * Copyright (C) the ngx_symcache authors
 *
 * Version 2 of the uploads of Mozilla's symbol server, Tecken, as its client
 * upload-symbols sends them, below /v1/uploads/:
 *
 *   POST auth_info      who has a token, and what it may do
 *   POST v2             {"files": [{key, size, md5_hash}]}; the answer says for
 *                       each where it is to be sent, or that it is there
 *   PUT  v2/<session>   a file, in pieces as in a resumable upload of Google's
 *                       storage: 308 and "Range" for all but the last one
 *
 * Sessions are in memory, and what has come of them in files without names: a
 * client begins anew after a restart.
 */
#include "pages.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/build_list.h"
#include "base/clock.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "upload_labels.h"
#include "symcached/space/space.h"
#include "symcached/upload/upload.h"
#include "tecken_files.h"
#include "tecken_session.h"
#include "upload_page.h"
#include "url_path.h"

#define RETRY_SECONDS "15"

#define PIECE_SECONDS 600

/* A token does not expire: the year 2100. */
#define TOKEN_EXPIRES 4102444800

/* answers ------------------------------------------------------------------ */

static void answer_error(struct evhttp_request *req, int status,
                         const char *text)
{
    cJSON *object = cJSON_CreateObject();

    if (status == 503 || status == 507) {
        reply_header(req, "Retry-After", RETRY_SECONDS);
    }
    cJSON_AddStringToObject(object, "error", text);
    reply_object(req, status, object);
}

/* Returns 0, or the status of a refusal with *wrong. */
static int check_token(const struct config *config, struct evhttp_request *req,
                       char user[128], bool *only_try, const char **wrong)
{
    const char *value = evhttp_find_header(
        evhttp_request_get_input_headers(req), UPLOAD_HEADER_TOKEN);
    const struct upload_token *token;

    snprintf(user, 128, "-");
    *only_try = false;
    if (!config->uploads.needs_token) {
        return 0; /* nginx has asked already */
    }
    token = value != NULL ? upload_token_find(config, value) : NULL;
    *wrong = value == NULL
                 ? "This requires an Auth-Token to authenticate the request"
                 : "API Token not matched";
    if (token == NULL) {
        return 403;
    }
    snprintf(user, 128, "%s", token->user);
    *only_try = token->only_try;
    return 0;
}

static void answer_token(const char *user, bool only_try,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "email", user);
    cJSON_AddNumberToObject(object, "user_id", 0);
    cJSON_AddBoolToObject(object, "try_symbols", only_try);
    cJSON_AddNumberToObject(object, "token_expires_at", TOKEN_EXPIRES);
    cJSON_AddNumberToObject(object, "upload_api_version", 2);
    reply_object(req, 200, object);
}

/* what a client wants to send ---------------------------------------------- */

struct tecken_upload {
    struct tecken *tecken;
    struct evhttp_request *req;
    struct tecken_files *files;
    struct build_labels labels;
    char user[128];
    char url[1024]; /* of the server */
    bool only_try;
};

static void free_upload(void *arg)
{
    struct tecken_upload *upload = arg;

    tecken_files_free(upload->files);
    free(upload);
}

static void compare_tecken_files(void *arg)
{
    tecken_files_compare(((struct tecken_upload *)arg)->files);
}

static cJSON *new_tecken_action(const char *type)
{
    cJSON *action = cJSON_CreateObject();

    cJSON_AddStringToObject(action, "type", type);
    return action;
}

/* Texts are sent packed. */
static bool is_text(const char *path)
{
    size_t len = strlen(path);

    return len > 4 && strcmp(path + len - 4, ".sym") == 0;
}

static cJSON *make_tecken_action(const struct tecken_upload *upload,
                                 const struct tecken_file *file)
{
    char url[sizeof(upload->url) + TECKEN_KEY_SIZE + 32];
    struct tecken_session *session;
    cJSON *action;

    if (file->wrong != NULL) {
        action = new_tecken_action("error");
        cJSON_AddStringToObject(action, "msg", file->wrong);
        return action;
    }
    /* the build gets a file only by sending it */
    if (file->is_there && upload->labels.build[0] == '\0') {
        return new_tecken_action("skip");
    }
    session = tecken_session_begin(upload->tecken, upload->user, file->path);
    if (session == NULL) {
        action = new_tecken_action("error");
        cJSON_AddStringToObject(action, "msg", "too many uploads are begun");
        return action;
    }
    session->only_try = upload->only_try;
    session->labels = upload->labels;
    action = new_tecken_action("upload");
    snprintf(url, sizeof(url), "%s/upload/v2/%s", upload->url, session->key);
    cJSON_AddStringToObject(action, "url", url);
    if (is_text(file->path)) {
        cJSON_AddStringToObject(action, "content_encoding", "gzip");
    } else {
        cJSON_AddNullToObject(action, "content_encoding");
    }
    return action;
}

static void on_looked(void *arg, bool late)
{
    const struct tecken_upload *upload = arg;
    cJSON *object, *files, *item;
    size_t i;

    if (late) {
        answer_error(upload->req, 503, "the disk does not answer");
        return;
    }
    tecken_sessions_expire(upload->tecken);
    object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "id", (double)time(NULL));
    cJSON_AddNumberToObject(object, "created_at", (double)time(NULL));
    cJSON_AddStringToObject(object, "user", upload->user);
    cJSON_AddBoolToObject(object, "try_symbols", upload->only_try);
    cJSON_AddStringToObject(object, "upload_protocol", "gcs-resumable");
    files = cJSON_AddArrayToObject(object, "files");
    for (i = 0; i < upload->files->n; i++) {
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "key", upload->files->list[i].path);
        cJSON_AddItemToObject(
            item, "action",
            make_tecken_action(upload, &upload->files->list[i]));
        cJSON_AddItemToArray(files, item);
    }
    reply_object(upload->req, 201, object);
}

static void begin_upload(struct tecken *tecken, const struct config *config,
                         const char *user, bool only_try,
                         struct evhttp_request *req)
{
    static const struct task_calls calls = {compare_tecken_files, on_looked,
                                            free_upload};
    const char *url = evhttp_find_header(evhttp_request_get_input_headers(req),
                                         UPLOAD_HEADER_URL);
    struct tecken_upload *upload = calloc(1, sizeof(*upload));
    const char *wrong;
    int status = 503;

    if (upload == NULL) {
        answer_error(req, 503, "out of memory");
        return;
    }
    upload->tecken = tecken;
    upload->req = req;
    upload->only_try = only_try;
    snprintf(upload->user, sizeof(upload->user), "%s", user);
    snprintf(upload->url, sizeof(upload->url), "%s", url != NULL ? url : "");
    wrong = upload_labels_read(req, &upload->labels);
    if (wrong != NULL) {
        status = 400;
    } else {
        upload->files = tecken_files_read(
            config, only_try,
            evhttp_find_header(evhttp_request_get_input_headers(req),
                               UPLOAD_HEADER_BODY),
            &status, &wrong);
    }
    if (wrong == NULL && task_start(evhttp_connection_get_base(
                                        evhttp_request_get_connection(req)),
                                    PIECE_SECONDS, &calls, upload) == NULL) {
        answer_error(req, 503, "no thread to look at files");
        return; /* the upload has been freed */
    }
    if (wrong != NULL) {
        answer_error(req, status, wrong);
        free_upload(upload);
    }
}

/* a piece of a file -------------------------------------------------------- */

struct tecken_piece {
    struct tecken_session *session;
    int in;
    int out;
    uint64_t at;
    uint64_t size;
    int errnum;
    struct config *config; /* reference */
};

static void copy_piece(void *arg)
{
    struct tecken_piece *piece = arg;

    piece->errnum = tecken_copy(
        piece->in, piece->out, piece->at, piece->size,
        disk_space_kept(piece->out, &piece->config->cache));
}

static void drop_piece(void *arg)
{
    struct tecken_piece *piece = arg;

    close(piece->in);
    close(piece->out);
    config_unref(piece->config);
    free(piece);
}

/* The client can send the piece again; or all of them, as a thread that is late
 * may still write to the file. */
static void refuse_piece(const struct tecken_piece *piece, bool late,
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
              session->user, session->path, piece->at,
              piece->at + piece->size - 1, text);
    if (late) {
        tecken_session_drop_file(session);
    }
    answer_error(req, is_full ? 507 : 503, text);
}

static void on_copied(void *arg, bool late)
{
    const struct tecken_piece *piece = arg;
    struct tecken_session *session = piece->session;
    struct evhttp_request *req = session->req;
    char range[48];

    session->task = NULL;
    session->req = NULL;
    if (late || piece->errnum != 0) {
        refuse_piece(piece, late, req);
        return;
    }
    session->got = piece->at + piece->size;
    snprintf(range, sizeof(range), "bytes=0-%" PRIu64, session->got - 1);
    reply_header(req, "Range", range);
    reply_empty(req, 308);
}

static void on_done(void *arg, const struct upload_result *result)
{
    struct tecken_session *session = arg;
    struct evhttp_request *req = session->req;
    cJSON *object;
    char size[24];

    session->req = NULL;
    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d file=%s %s", session->user,
                 result->status, session->path, result->text);
        answer_error(req, result->status, result->text);
        return; /* it may be sent again */
    }
    snprintf(size, sizeof(size), "%" PRIu64, result->files[0].size);
    object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", session->path);
    cJSON_AddStringToObject(object, "size", size);
    cJSON_AddStringToObject(object, "md5Hash", "");
    reply_object(req, 200, object);
    tecken_session_forget(session);
}

/* All of the file is in the body, or in the session's file. */
static void take_file(struct tecken_session *session,
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
        .labels = session->labels};

    session->req = req;
    uploads_take(session->tecken->uploads, &request, on_done, session);
}

/* The last piece has been copied, like the others. */
static void on_last(void *arg, bool late)
{
    const struct tecken_piece *piece = arg;
    struct tecken_session *session = piece->session;
    struct evhttp_request *req = session->req;

    session->task = NULL;
    if (late || piece->errnum != 0) {
        on_copied(arg, late);
        return;
    }
    session->got = piece->at + piece->size;
    take_file(session, piece->config, NULL, req);
}

static void take_piece(struct tecken_session *session,
                       const struct config *config,
                       const struct tecken_range *range, const char *body,
                       struct evhttp_request *req)
{
    static const struct task_calls calls[2] = {
        {copy_piece, on_copied, drop_piece}, {copy_piece, on_last, drop_piece}};
    struct tecken_piece *piece;
    char error[256];
    int status, in, rc;

    in = tecken_open_body(config, body, range, &status, error, sizeof(error));
    if (in < 0) {
        answer_error(req, status, error);
        return;
    }
    rc = tecken_session_open_file(session, config);
    piece = rc == 0 ? calloc(1, sizeof(*piece)) : NULL;
    if (piece == NULL || (piece->out = dup(session->fd)) < 0) {
        free(piece);
        close(in);
        answer_error(req, 503, rc == EBUSY ? "too many uploads at a time"
                                           : strerror(rc != 0 ? rc : ENOMEM));
        return;
    }
    piece->session = session;
    piece->config = config_ref((struct config *)config);
    piece->in = in;
    piece->at = range->first;
    piece->size = range->size;
    session->req = req;
    session->task = task_start(
        evhttp_connection_get_base(evhttp_request_get_connection(req)),
        PIECE_SECONDS, &calls[range->first + range->size == range->total],
        piece);
    if (session->task == NULL) {
        session->req = NULL;
        answer_error(req, 503, "no thread to store the piece");
    }
}

static void take_upload(struct tecken_session *session,
                        const struct config *config,
                        struct evhttp_request *req)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(req);
    const char *body = evhttp_find_header(headers, UPLOAD_HEADER_BODY);
    struct tecken_range range;
    const char *wrong = tecken_range_read(
        evhttp_find_header(headers, "Content-Range"), &range);
    char text[48];

    session->used = clock_ms();
    if (session->req != NULL) {
        answer_error(req, 409, "it is being sent already");
    } else if (wrong != NULL) {
        answer_error(req, 400, wrong);
    } else if (range.total > config->uploads.max_size) {
        answer_error(req, 413, "the file is larger than \"uploads.max_size\"");
    } else if (range.size == 0 || range.first != session->got) {
        /* where it goes on, also if it asks for that */
        if (session->got > 0) {
            snprintf(text, sizeof(text), "bytes=0-%" PRIu64, session->got - 1);
            reply_header(req, "Range", text);
        }
        reply_empty(req, 308);
    } else if (body == NULL) {
        answer_error(req, 400, "the request has no body");
    } else if (range.size == range.total) {
        take_file(session, config, body, req);
    } else {
        take_piece(session, config, &range, body, req);
    }
}

/* -------------------------------------------------------------------------- */

bool tecken_has(const struct url_path *path, struct evhttp_request *req)
{
    bool is_post = evhttp_request_get_command(req) == EVHTTP_REQ_POST;

    return is_post ? path->n == 3
                   : path->n == 4 && strcmp(path->segments[2], "v2") == 0;
}

void tecken_page(struct tecken *tecken, const struct config *config,
                 const struct url_path *path, struct evhttp_request *req)
{
    const char *wrong = "no such page";
    struct tecken_session *session;
    int status = 404;
    bool only_try;
    char user[128];

    reply_header(req, "Connection", "close");
    if (path->n == 4) {
        session = config->uploads.root != NULL
                      ? tecken_session_find(tecken, path->segments[3])
                      : NULL;
        if (session == NULL ||
            evhttp_request_get_command(req) != EVHTTP_REQ_PUT) {
            answer_error(req, 404, "no such upload is begun");
        } else {
            take_upload(session, config, req);
        }
        return;
    }
    if (config->uploads.root != NULL &&
        (strcmp(path->segments[2], "v2") == 0 ||
         strcmp(path->segments[2], "auth_info") == 0)) {
        status = check_token(config, req, user, &only_try, &wrong);
    }
    if (status != 0) {
        answer_error(req, status, wrong);
    } else if (strcmp(path->segments[2], "v2") == 0) {
        begin_upload(tecken, config, user, only_try, req);
    } else {
        answer_token(user, only_try, req);
    }
}
