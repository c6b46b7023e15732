/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploads as clients of Pyroscope send them (Alloy, profilecli), to its
 * DebuginfoService in version v1alpha1, below /v1/pyroscope/:
 *
 *   POST ShouldInitiateUpload   is the file with a build id wanted?
 *   POST Upload/<build id>      the ELF file
 *   POST UploadFinished         has it become an upload?
 *
 * The calls are those of the Connect protocol (connectrpc.com/docs/protocol),
 * in protobuf or JSON; gRPC needs another transport.
 */
#include "pages.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "http/http.h"
#include "open_uploads.h"
#include "upload_labels.h"
#include "pyroscope_message.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/upload/upload.h"
#include "upload_page.h"
#include "url_path.h"

#define BODY_MAX 65536

/* Uploads that one user has begun. */
#define ENTRIES_MAX 1000

enum entry_state { ENTRY_BEGUN, ENTRY_RUNS, ENTRY_STORED };

struct pyroscope_entry {
    struct open_upload open;
    enum entry_state state;
    struct pyroscope_file file;
};

struct pyroscope {
    struct uploads *uploads;
    struct open_uploads open;
};

/* A call, and who makes it. */
struct pyroscope_call {
    struct evhttp_request *req;
    bool is_json;
    bool only_try;
    char user[UPLOAD_USER_SIZE];
};

/* answers ----------------------------------------------------------------- */

/* An error of the Connect protocol: its code, and the HTTP status for that. */
static void pyroscope_answer_error(struct evhttp_request *req, int status,
                                   const char *code, const char *text)
{
    cJSON *object = cJSON_CreateObject();

    if (status == 503) {
        reply_header(req, "Retry-After", UPLOAD_RETRY_SECONDS);
    }
    cJSON_AddStringToObject(object, "code", code);
    cJSON_AddStringToObject(object, "message", text);
    reply_object(req, status, object);
}

/* The core's status in Connect's words. */
static void pyroscope_answer_refusal(struct evhttp_request *req, int status,
                                     const char *text)
{
    const char *code = status == 400                    ? "invalid_argument"
                       : status == 403                  ? "permission_denied"
                       : status == 404                  ? "not_found"
                       : status == 409                  ? "already_exists"
                       : status == 503                  ? "unavailable"
                       : status == 413 || status == 507 ? "resource_exhausted"
                                                        : "internal";

    pyroscope_answer_error(req, status, code, text);
}

/* ShouldInitiateUploadResponse: 1 = the boolean, 2 = the reason. */
static void pyroscope_answer_wanted(const struct pyroscope_call *call,
                                    bool is_wanted, const char *reason)
{
    struct evbuffer *body;
    cJSON *object;

    if (call->is_json) {
        object = cJSON_CreateObject();
        cJSON_AddBoolToObject(object, "shouldInitiateUpload", is_wanted);
        cJSON_AddStringToObject(object, "reason", reason);
        reply_object(call->req, 200, object);
        return;
    }
    body = evbuffer_new();
    if (body == NULL) {
        pyroscope_answer_error(call->req, 503, "unavailable", "out of memory");
        return;
    }
    if (is_wanted) {
        evbuffer_add(body, "\x08\x01", 2);
    }
    /* a reason has less than 128 bytes, so its size is one */
    evbuffer_add_printf(body, "\x12%c%s", (int)strlen(reason), reason);
    reply_send(call->req, 200, "application/proto", body);
    evbuffer_free(body);
}

/* A message without fields. */
static void pyroscope_answer_empty(const struct pyroscope_call *call)
{
    if (call->is_json) {
        reply_object(call->req, 200, cJSON_CreateObject());
        return;
    }
    reply_send(call->req, 200, "application/proto", NULL);
}

/* permissions ------------------------------------------------------------- */

/* The token is that of "Bearer TOKEN", or the password of "Basic". */
static bool pyroscope_check_token(const struct config *config,
                                  struct pyroscope_call *call)
{
    char pair[REQUEST_PAIR_MAX];
    const char *secret = request_pair(call->req, "Basic", pair);

    return upload_token_check(
        config, call->req,
        secret != NULL ? secret : request_credentials(call->req, "Bearer"),
        call->user, &call->only_try);
}

/* uploads that are begun -------------------------------------------------- */

static struct pyroscope_entry *
pyroscope_find_upload(struct pyroscope *pyroscope,
                      const struct pyroscope_call *call, const char *build_id)
{
    struct open_upload *open;
    struct pyroscope_entry *entry;

    open_uploads_expire(&pyroscope->open);
    TAILQ_FOREACH(open, &pyroscope->open.all, next)
    {
        entry = (struct pyroscope_entry *)open;
        if (strcmp(open->user, call->user) == 0 &&
            strcmp(entry->file.build_id, build_id) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Returns NULL if the user is sending as many as may be. */
static struct pyroscope_entry *
pyroscope_begin_file(struct pyroscope *pyroscope,
                     const struct pyroscope_call *call,
                     const struct pyroscope_file *file)
{
    struct pyroscope_entry *entry =
        pyroscope_find_upload(pyroscope, call, file->build_id);

    if (entry == NULL) {
        entry = open_uploads_add(&pyroscope->open, call->user, sizeof(*entry));
        if (entry == NULL) {
            return NULL;
        }
    }
    entry->open.used = clock_ms();
    entry->state = ENTRY_BEGUN;
    entry->file = *file;
    return entry;
}

/* calls ------------------------------------------------------------------- */

/* Is a program or debug file with this build id among the uploads, and would
 * stay no longer if it was sent once more?  A file of another name is one more:
 * it may have what the first one has not. */
static bool pyroscope_is_there(const struct config *config, bool only_try,
                               const struct pyroscope_file *file,
                               const struct build_labels *labels)
{
    char root[2048], folder[SYMSTORE_ID_SIZE], path[4096];
    struct upload_index_names *names = calloc(1, sizeof(*names));
    bool found = false;
    size_t i;

    if (names == NULL) {
        return false;
    }
    snprintf(root, sizeof(root), "%.2000s%s", config->uploads.root,
             only_try ? "/" UPLOADS_TRY : "");
    snprintf(folder, sizeof(folder), "elf-buildid-%.*s",
             PYROSCOPE_BUILD_ID_MAX, file->build_id);
    (void)uploads_disk_find(root, folder, names);
    for (i = 0; i < names->n && !found; i++) {
        found = !names->list[i].is_asked && !names->list[i].is_text &&
                strcmp(names->list[i].text, file->name) == 0;
    }
    free(names);
    snprintf(path, sizeof(path), "%s/%s/%s/%s", root, file->name, folder,
             file->name);
    return found && upload_is_kept(path, labels);
}

static void pyroscope_should_initiate(struct pyroscope *pyroscope,
                                      const struct config *config,
                                      const struct pyroscope_call *call,
                                      const struct pyroscope_file *file)
{
    const struct pyroscope_entry *entry =
        pyroscope_find_upload(pyroscope, call, file->build_id);
    struct build_labels labels = {.build = ""};
    const char *wrong = upload_labels_read(call->req, &labels);
    const char *unknown = uploads_are_unknown(pyroscope->uploads, config);

    if (wrong != NULL) {
        pyroscope_answer_refusal(call->req, 400, wrong);
    } else if (unknown != NULL) {
        pyroscope_answer_refusal(call->req, 503, unknown);
    } else if (file->build_id[0] == '\0') {
        pyroscope_answer_wanted(call, false,
                                "a file without a GNU build id is not "
                                "found again");
    } else if (entry != NULL && entry->state == ENTRY_RUNS) {
        pyroscope_answer_wanted(call, false, "it is being uploaded");
    } else if (pyroscope_is_there(config, call->only_try, file, &labels)) {
        pyroscope_answer_wanted(call, false,
                                "a file of this name with this build id "
                                "was uploaded already");
    } else if (pyroscope_begin_file(pyroscope, call, file) == NULL) {
        pyroscope_answer_error(call->req, 503, "unavailable",
                               "too many uploads are begun");
    } else {
        pyroscope_answer_wanted(call, true, "no such file was uploaded yet");
    }
}

static void pyroscope_on_done(void *arg, const struct upload_result *result)
{
    struct pyroscope_entry *entry = arg;
    struct evhttp_request *req = entry->open.req;
    const char *id;

    entry->open.req = NULL;
    entry->state = ENTRY_BEGUN; /* it may be sent again */
    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d file=%s %s", entry->open.user,
                 result->status, entry->file.build_id, result->text);
        pyroscope_answer_refusal(req, result->status, result->text);
        return;
    }
    id = strrchr(result->files[0].place.id, '-');
    if (strncmp(result->files[0].place.id, "elf-", 4) != 0 || id == NULL ||
        strncmp(id + 1, entry->file.build_id,
                strlen(entry->file.build_id)) != 0) {
        /* it is stored as what it is */
        pyroscope_answer_refusal(req, 400, "the file has another build id");
        return;
    }
    entry->state = ENTRY_STORED;
    reply_empty(req, 200);
}

static void pyroscope_take_upload(struct pyroscope *pyroscope,
                                  const struct config *config,
                                  const struct pyroscope_call *call,
                                  const char *text)
{
    char build_id[PYROSCOPE_BUILD_ID_MAX + 1];
    struct pyroscope_entry *entry;
    struct upload_request request = {
        .id = "",
        .file = "",
        .is_object = true,
        .only_try = call->only_try,
        .replace = config->uploads.replace,
        .user = call->user,
        .body = request_header(call->req, UPLOAD_HEADER_BODY)};
    const char *wrong = upload_labels_read(call->req, &request.labels);

    if (!pyroscope_build_id(build_id, text, strlen(text)) ||
        build_id[0] == '\0') {
        wrong = "the GNU build id has 2 to 40 hex digits";
    } else if (request.body == NULL) {
        wrong = "the request has no body";
    }
    entry = wrong == NULL ? pyroscope_find_upload(pyroscope, call, build_id)
                          : NULL;
    if (wrong != NULL) {
        pyroscope_answer_refusal(call->req, 400, wrong);
    } else if (entry == NULL || entry->state != ENTRY_BEGUN) {
        pyroscope_answer_error(call->req, 412, "failed_precondition",
                               "no upload of this build id is begun");
    } else {
        request.name =
            entry->file.name[0] != '\0' ? entry->file.name : build_id;
        entry->state = ENTRY_RUNS;
        entry->open.req = call->req;
        uploads_take(pyroscope->uploads, &request, pyroscope_on_done, entry);
    }
}

static void pyroscope_finish_file(struct pyroscope *pyroscope,
                                  const struct pyroscope_call *call,
                                  const struct pyroscope_file *file)
{
    struct pyroscope_entry *entry =
        pyroscope_find_upload(pyroscope, call, file->build_id);

    if (entry == NULL) {
        pyroscope_answer_error(call->req, 404, "not_found",
                               "no upload of this build id is begun");
    } else if (entry->state != ENTRY_STORED) {
        pyroscope_answer_error(call->req, 400, "failed_precondition",
                               "the file has not come");
    } else {
        open_upload_forget(&entry->open);
        pyroscope_answer_empty(call);
    }
}

/* -------------------------------------------------------------------------- */

/* Reads the message of a call.  Returns false when it has been answered. */
static bool pyroscope_read_message(const struct config *config,
                                   struct pyroscope_call *call, bool is_flat,
                                   struct pyroscope_file *file)
{
    const char *body = request_header(call->req, UPLOAD_HEADER_BODY);
    const char *type = request_header(call->req, "Content-Type");
    const char *encoding = request_header(call->req, "Content-Encoding");
    char text[BODY_MAX + 1], error[256];
    const char *wrong = NULL;
    ssize_t n = 0;
    int fd, status;

    call->is_json =
        type != NULL && strncasecmp(type, "application/json", 16) == 0;
    if (!call->is_json &&
        (type == NULL || strcasecmp(type, "application/proto") != 0)) {
        pyroscope_answer_error(
            call->req, 415, "unknown",
            "only the Connect protocol with application/proto or "
            "application/json is spoken");
        return false;
    }
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        pyroscope_answer_error(call->req, 501, "unimplemented",
                               "messages are not packed");
        return false;
    }
    if (body != NULL && body[0] != '\0') {
        fd = nginx_body_file_open(config->uploads.spool, body, &status, error,
                                  sizeof(error));
        if (fd < 0) {
            pyroscope_answer_refusal(call->req, status, error);
            return false;
        }
        n = pread(fd, text, sizeof(text), 0);
        close(fd);
    }
    if (n < 0 || n > BODY_MAX) {
        wrong = "the message is larger than 64 KB, or cannot be read";
    } else {
        wrong = call->is_json ? pyroscope_read_json(text, (size_t)n, is_flat,
                                                    file)
                              : pyroscope_read_proto(text, (size_t)n, is_flat,
                                                     file);
    }
    if (wrong != NULL) {
        pyroscope_answer_refusal(call->req, 400, wrong);
    }
    return wrong == NULL;
}

void pyroscope_page(struct pyroscope *pyroscope, const struct config *config,
                    const struct url_path *path, struct evhttp_request *req)
{
    const char *name = path->n > 2 ? path->segments[2] : "";
    bool is_upload = path->n == 4 && strcmp(name, "Upload") == 0;
    bool is_begin = strcmp(name, "ShouldInitiateUpload") == 0;
    struct pyroscope_call call = {.req = req};
    struct pyroscope_file file;

    reply_header(req, "Connection", "close");
    if (config->uploads.root == NULL) {
        pyroscope_answer_refusal(req, 404,
                                 "the configuration has no \"uploads\"");
    } else if (!pyroscope_check_token(config, &call)) {
        pyroscope_answer_error(req, 401, "unauthenticated",
                               "the token is unknown");
    } else if (is_upload) {
        pyroscope_take_upload(pyroscope, config, &call, path->segments[3]);
    } else if (path->n == 3 && strcmp(name, "DeleteDebuginfo") == 0) {
        pyroscope_answer_refusal(req, 403,
                                 "uploads are removed by an operator: "
                                 "symcachectl uploads rm");
    } else if (path->n == 3 &&
               (is_begin || strcmp(name, "UploadFinished") == 0)) {
        if (!pyroscope_read_message(config, &call, !is_begin, &file)) {
            return;
        }
        if (is_begin) {
            pyroscope_should_initiate(pyroscope, config, &call, &file);
        } else {
            pyroscope_finish_file(pyroscope, &call, &file);
        }
    } else {
        pyroscope_answer_error(req, path->n == 3 ? 501 : 404, "unimplemented",
                               "symcachectl uploads ls lists uploads");
    }
}

struct pyroscope *pyroscope_new(struct uploads *uploads)
{
    struct pyroscope *pyroscope = calloc(1, sizeof(*pyroscope));

    if (pyroscope != NULL) {
        pyroscope->uploads = uploads;
        TAILQ_INIT(&pyroscope->open.all);
        pyroscope->open.most = ENTRIES_MAX;
    }
    return pyroscope;
}

void pyroscope_free(struct pyroscope *pyroscope)
{
    if (pyroscope != NULL) {
        open_uploads_forget_all(&pyroscope->open);
        free(pyroscope);
    }
}
