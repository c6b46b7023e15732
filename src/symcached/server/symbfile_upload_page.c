/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which nginx passes on what profilers' tools send, as Elastic's
 * symbolizer takes it:
 *
 *   POST /v1/symbols-ranges
 *   POST /v1/symbols-returnpads
 *   GET  /v1/symbols/missing?since=TIME
 *
 * with the headers FileID, FilePart and FileParts, and "Authorization:
 * APIKey". The body is in a file that a header names, as of other uploads.
 */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <event2/http.h>
#include "base/control.h"
#include "base/duration.h"
#include "base/log.h"
#include "config/config.h"
#include "http/http.h"
#include "proto/profiler_id.h"
#include "symcached/job/job.h"
#include "symcached/upload/upload.h"
#include "upload_labels.h"
#include "upload_page.h"
#include "url_path.h"

#define USER_SIZE 160

/* A request that is worked on. */
struct symbfile_upload {
    struct evhttp_request *req;
    char user[USER_SIZE];
    char file[64]; /* of the log: the id, and which part */
};

/* answers ----------------------------------------------------------------- */

/* list: a member of that name, or NULL. */
static void symbfile_answer_done(const struct symbfile_upload *symbfile,
                                 const char *name, cJSON *list)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddBoolToObject(object, "success", true);
    cJSON_AddNumberToObject(object, "status", 200);
    if (list != NULL) {
        cJSON_AddItemToObject(object, name, list);
    }
    reply_object(symbfile->req, 200, object);
}

/* A random one (RFC 9562), by which a line of the log is found. */
static void symbfile_make_uuid(char text[37])
{
    uint8_t b[16] = {0};

    (void)!getrandom(b, sizeof(b), GRND_NONBLOCK);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    (void)symcache_debug_id_write(text, b, 0);
}

static void symbfile_answer_refused(const struct symbfile_upload *symbfile,
                                    int status, const char *text)
{
    cJSON *object = cJSON_CreateObject(), *error;
    char uuid[37], code[16];

    symbfile_make_uuid(uuid);
    snprintf(code, sizeof(code), "%d", status);
    log_info(0, "upload user=%s status=%d uuid=%s %s%s", symbfile->user,
             status, uuid, symbfile->file, text);
    cJSON_AddBoolToObject(object, "success", false);
    cJSON_AddStringToObject(object, "uuid", uuid);
    error = cJSON_AddObjectToObject(object, "error");
    cJSON_AddStringToObject(error, "Code", code);
    cJSON_AddStringToObject(error, "Text", text);
    cJSON_AddNumberToObject(object, "status", status);
    upload_add_retry(symbfile->req, status);
    if (status == 401) {
        reply_header(symbfile->req, "WWW-Authenticate", "APIKey");
    }
    reply_object(symbfile->req, status, object);
}

static void symbfile_on_done(void *arg, const struct upload_result *result)
{
    struct symbfile_upload *symbfile = arg;

    if (result->status < 300) {
        symbfile_answer_done(symbfile, NULL, NULL);
    } else {
        symbfile_answer_refused(symbfile, result->status, result->text);
    }
    free(symbfile);
}

/* permissions
 * --------------------------------------------------------------------- */

/* The name of a key goes into the log. */
static void symbfile_set_user(struct symbfile_upload *symbfile,
                              const char *user, const char *key_name)
{
    char *p;

    snprintf(symbfile->user, sizeof(symbfile->user), "%.100s%s%.40s", user,
             key_name[0] != '\0' ? "/" : "", key_name);
    for (p = symbfile->user; *p != '\0'; p++) {
        *p = control_is(*p) || *p == ' ' ? '_' : *p;
    }
}

/* Returns 0, or the status of a refusal with a sentence. */
static int symbfile_check_key(struct symbfile_upload *symbfile,
                              const struct config *config, bool *only_try,
                              const char **wrong)
{
    const char *token = request_header(symbfile->req, UPLOAD_HEADER_TOKEN);
    char key[REQUEST_PAIR_MAX], user[UPLOAD_USER_SIZE];
    const char *secret = request_pair(symbfile->req, "APIKey", key);

    if (upload_token_check(config, symbfile->req,
                           secret != NULL ? secret : token, user, only_try)) {
        symbfile_set_user(symbfile, user, secret != NULL ? key : "");
        return 0;
    }
    if (request_credentials(symbfile->req, "APIKey") == NULL &&
        token == NULL) {
        *wrong = "this requires \"Authorization: APIKey\" and a key";
        return 401;
    }
    *wrong = secret != NULL || token != NULL
                 ? "the API key is unknown"
                 : "the API key must be \"ID:SECRET\", in base64";
    return 403;
}

/* what -------------------------------------------------------------------- */

/* Reads a header that is a number; without one it is the other value. */
static bool symbfile_read_number(struct evhttp_request *req, const char *name,
                                 unsigned without, unsigned *number)
{
    const char *text = request_header(req, name);
    size_t len = text != NULL ? strlen(text) : 0;

    *number = without;
    if (text == NULL) {
        return true;
    }
    if (len == 0 || len > 9 || strspn(text, "0123456789") != len) {
        return false;
    }
    *number = (unsigned)strtoul(text, NULL, 10);
    return true;
}

/* Returns what is wrong with the headers, or NULL. */
static const char *symbfile_read_headers(struct symbfile_upload *symbfile,
                                         symcache_key_t *key,
                                         struct upload_request *request)
{
    const char *id = request_header(symbfile->req, "FileID");

    if (id == NULL || !symcache_profiler_id_parse(id, strlen(id), key)) {
        return "FileID must have the 22 characters of base64url of a file's "
               "id";
    }
    if (!symbfile_read_number(symbfile->req, "FilePart", 0, &request->part) ||
        !symbfile_read_number(symbfile->req, "FileParts", 1,
                              &request->parts)) {
        return "FilePart and FileParts must be numbers";
    }
    if (request->parts == 0 || request->parts > UPLOAD_PARTS_MAX) {
        return "FileParts must be from 1 to 10000";
    }
    if (request->part >= request->parts) {
        return "FilePart must be below FileParts";
    }
    snprintf(symbfile->file, sizeof(symbfile->file), "file=%.22s/%u-%u ", id,
             request->parts, request->part);
    request->body = request_header(symbfile->req, UPLOAD_HEADER_BODY);
    return request->body == NULL
               ? "the body is empty"
               : upload_labels_read(symbfile->req, &request->labels);
}

void symbfile_upload_page(struct uploads *uploads, const struct config *config,
                          const struct url_path *target,
                          struct evhttp_request *req)
{
    struct upload_request request = {.is_symbfile = true, .replace = true};
    struct symbfile_upload *symbfile = calloc(1, sizeof(*symbfile));
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    const char *wrong = "the configuration has no \"uploads\"";
    symcache_key_t key;
    int status = 404;

    reply_header(req, "Connection", "close");
    if (symbfile == NULL) {
        reply_error(req, 503, "out-of-memory", "out of memory");
        return;
    }
    symbfile->req = req;
    snprintf(symbfile->user, sizeof(symbfile->user), "-");
    if (config->uploads.root != NULL) {
        status =
            symbfile_check_key(symbfile, config, &request.only_try, &wrong);
    }
    if (status == 0) {
        wrong = symbfile_read_headers(symbfile, &key, &request);
        status = wrong != NULL ? 400 : 0;
    }
    if (status != 0) {
        symbfile_answer_refused(symbfile, status, wrong);
        free(symbfile);
        return;
    }
    symcache_id_print(id, &key);
    request.name = SYMCACHE_NAME_NONE;
    request.id = id;
    request.file = strcmp(target->segments[1], "symbols-ranges") == 0
                       ? SYMCACHE_NAME_NONE ".symbfile"
                       : SYMCACHE_NAME_NONE ".returnpads";
    request.user = symbfile->user;
    uploads_take(uploads, &request, symbfile_on_done, symbfile);
}

/* Returns what is wrong with the query, or NULL. */
static const char *symbfile_read_since(const char *query, time_t *since)
{
    static const char name[] = "since=";

    *since = 0;
    if (query == NULL || query[0] == '\0') {
        return NULL;
    }
    return strncmp(query, name, sizeof(name) - 1) == 0 &&
                   duration_parse_since(query + sizeof(name) - 1, since)
               ? NULL
               : "since= must be Unix seconds, or a duration such as 24h";
}

void missing_page(const struct scheduler *scheduler, const char *query,
                  struct evhttp_request *req)
{
    const struct config *config = scheduler_config(scheduler);
    struct symbfile_upload symbfile = {.req = req, .user = "-"};
    const char *wrong;
    bool only_try;
    time_t since;
    int status = symbfile_check_key(&symbfile, config, &only_try, &wrong);

    if (status == 0) {
        wrong = symbfile_read_since(query, &since);
        status = wrong != NULL ? 400 : 0;
    }
    if (status != 0) {
        symbfile_answer_refused(&symbfile, status, wrong);
        return;
    }
    symbfile_answer_done(&symbfile, "missing",
                         scheduler_missing(scheduler, since));
}
