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
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "base/build_list.h"
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "upload_labels.h"
#include "symcached/upload/upload.h"
#include "tecken_file_list.h"
#include "tecken_session.h"
#include "upload_page.h"
#include "url_path.h"

#define COMPARE_SECONDS 600

/* Lists whose files are compared with those that are there, each by a thread,
 * and others that wait until one of these has ended. */
#define COMPARES_MAX 4
#define WAITING_MAX 64

/* A token does not expire: the year 2100. */
#define TOKEN_EXPIRES 4102444800

/* answers ------------------------------------------------------------------ */

void tecken_reply_error(struct evhttp_request *req, int status,
                        const char *text)
{
    cJSON *object = cJSON_CreateObject();

    upload_add_retry(req, status);
    cJSON_AddStringToObject(object, "error", text);
    reply_object(req, status, object);
}

/* Returns 0, or the status of a refusal with *wrong. */
static int tecken_check_token(const struct config *config,
                              struct evhttp_request *req,
                              char user[UPLOAD_USER_SIZE], bool *only_try,
                              const char **wrong)
{
    const char *value = request_header(req, UPLOAD_HEADER_TOKEN);

    *wrong = value == NULL
                 ? "This requires an Auth-Token to authenticate the request"
                 : "API Token not matched";
    return upload_token_check(config, req, value, user, only_try) ? 0 : 403;
}

static void tecken_answer_token(const char *user, bool only_try,
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
    STAILQ_ENTRY(tecken_upload) next; /* of those that wait */
    struct tecken *tecken;
    struct evhttp_request *req;
    struct tecken_files *files;
    struct build_labels labels;
    char user[UPLOAD_USER_SIZE];
    char url[1024]; /* of the server */
    bool only_try;
};

static STAILQ_HEAD(, tecken_upload) waiting = STAILQ_HEAD_INITIALIZER(waiting);
static unsigned nwaiting, ncompared;

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
static bool tecken_is_text(const char *path)
{
    size_t len = strlen(path);

    return len > 4 && strcmp(path + len - 4, ".sym") == 0;
}

static cJSON *make_tecken_action(const struct tecken_upload *upload,
                                 const struct tecken_file *file)
{
    char url[sizeof(upload->url) + OPEN_UPLOAD_KEY + 32];
    struct tecken_session *session;
    cJSON *action;

    if (file->wrong != NULL) {
        action = new_tecken_action("error");
        cJSON_AddStringToObject(action, "msg", file->wrong);
        return action;
    }
    if (file->is_there && upload_is_kept(file->there, &upload->labels)) {
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
    snprintf(url, sizeof(url), "%s/upload/v2/%s", upload->url,
             session->open.key);
    cJSON_AddStringToObject(action, "url", url);
    if (tecken_is_text(file->path)) {
        cJSON_AddStringToObject(action, "content_encoding", "gzip");
    } else {
        cJSON_AddNullToObject(action, "content_encoding");
    }
    return action;
}

static void start_uploads(void);

static void tecken_on_looked(void *arg, bool late)
{
    const struct tecken_upload *upload = arg;
    cJSON *object, *files, *item;
    size_t i;

    ncompared--; /* also of a late one, or a dead disk would keep the place */
    start_uploads();
    if (late) {
        tecken_reply_error(upload->req, 503, "the disk does not answer");
        return;
    }
    open_uploads_expire(&upload->tecken->open);
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

static void start_uploads(void)
{
    static const struct task_calls calls = {compare_tecken_files,
                                            tecken_on_looked, free_upload};
    struct tecken_upload *upload;
    struct evhttp_request *req;

    while (ncompared < COMPARES_MAX && !STAILQ_EMPTY(&waiting)) {
        upload = STAILQ_FIRST(&waiting);
        STAILQ_REMOVE_HEAD(&waiting, next);
        nwaiting--;
        req = upload->req;
        if (task_start(
                evhttp_connection_get_base(evhttp_request_get_connection(req)),
                COMPARE_SECONDS, &calls, upload) != NULL) {
            ncompared++;
        } else {
            tecken_reply_error(req, 503, "no thread to look at files");
        }
    }
}

static void tecken_begin_upload(struct tecken *tecken,
                                const struct config *config, const char *user,
                                bool only_try, struct evhttp_request *req)
{
    const char *url = request_header(req, UPLOAD_HEADER_URL);
    struct tecken_upload *upload =
        nwaiting < WAITING_MAX ? calloc(1, sizeof(*upload)) : NULL;
    const char *wrong;
    int status = 503;

    if (upload == NULL) {
        tecken_reply_error(req, 503, "too many uploads at a time");
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
            config, only_try, request_header(req, UPLOAD_HEADER_BODY), &status,
            &wrong);
    }
    if (wrong != NULL) {
        tecken_reply_error(req, status, wrong);
        free_upload(upload);
        return;
    }
    STAILQ_INSERT_TAIL(&waiting, upload, next);
    nwaiting++;
    start_uploads();
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
    char user[UPLOAD_USER_SIZE];

    reply_header(req, "Connection", "close");
    if (path->n == 4) {
        session = config->uploads.root != NULL
                      ? open_uploads_find(&tecken->open, path->segments[3])
                      : NULL;
        if (session == NULL ||
            evhttp_request_get_command(req) != EVHTTP_REQ_PUT) {
            tecken_reply_error(req, 404, "no such upload is begun");
        } else if (!upload_user_check(config, session->open.user,
                                      session->only_try)) {
            tecken_reply_error(req, 403, "the token is not valid any more");
        } else {
            tecken_piece_take(session, config, req);
        }
        return;
    }
    if (config->uploads.root != NULL &&
        (strcmp(path->segments[2], "v2") == 0 ||
         strcmp(path->segments[2], "auth_info") == 0)) {
        status = tecken_check_token(config, req, user, &only_try, &wrong);
    }
    if (status != 0) {
        tecken_reply_error(req, status, wrong);
    } else if (strcmp(path->segments[2], "v2") == 0) {
        tecken_begin_upload(tecken, config, user, only_try, req);
    } else {
        tecken_answer_token(user, only_try, req);
    }
}
