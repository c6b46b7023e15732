/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which Breakpad's symupload uploads with -p sym-upload-v2, below
 * /v1/symupload, for which nginx has /v1 of its server:
 *
 *   GET  symbols/<file>/<id>:checkStatus?key=TOKEN    is it there?
 *   POST uploads:create?key=TOKEN                     where to send one
 *   PUT  uploads/<upload key>:send                    the file
 *   POST uploads/<upload key>:complete?key=TOKEN      what became of it
 *
 * The client looks for members of the answers by patterns: exactly one blank
 * stands behind a colon.  Its token is in the query, there is no header.
 */
#include "pages.h"

#include <dirent.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/upload/upload.h"
#include "open_uploads.h"
#include "upload_labels.h"
#include "upload_page.h"
#include "url_path.h"

/* Uploads that one user has begun. */
#define ENTRIES_MAX 100

/* The name of what comes: which module it is of, the text says. */
#define FILE_NAME "upload.sym"

enum entry_state { ENTRY_BEGUN, ENTRY_RUNS, ENTRY_STORED, ENTRY_SAME };

struct symupload_entry {
    struct open_upload open;
    enum entry_state state;
    bool only_try;
};

struct symuploads {
    struct uploads *uploads;
    struct open_uploads open;
};

/* answers ------------------------------------------------------------------ */

static void symupload_answer_json(struct evhttp_request *req,
                                  const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void symupload_answer_json(struct evhttp_request *req,
                                  const char *format, ...)
{
    struct evbuffer *body = evbuffer_new();
    va_list args;

    if (body == NULL) {
        reply_empty(req, 503);
        return;
    }
    va_start(args, format);
    evbuffer_add_vprintf(body, format, args);
    va_end(args);
    reply_send(req, 200, "application/json", body);
    evbuffer_free(body);
}

static void symupload_answer_error(struct evhttp_request *req, int status,
                                   const char *text)
{
    upload_add_retry(req, status);
    reply_error(req, status, "upload-failed", text);
}

/* permissions
 * ---------------------------------------------------------------------- */

/* Returns 0, or the status of a refusal with *wrong. */
static int symupload_check_token(const struct config *config,
                                 struct evhttp_request *req, const char *query,
                                 char user[UPLOAD_USER_SIZE], bool *only_try,
                                 const char **wrong)
{
    struct evkeyvalq pairs;
    bool has_query =
        query != NULL && evhttp_parse_query_str(query, &pairs) == 0;
    bool is_known = upload_token_check(
        config, req, has_query ? evhttp_find_header(&pairs, "key") : NULL,
        user, only_try);

    if (has_query) {
        evhttp_clear_headers(&pairs);
    }
    *wrong = "the key is unknown";
    return is_known ? 0 : 403;
}

/* uploads that are begun --------------------------------------------------- */

static void create_symupload(struct symuploads *symuploads, const char *user,
                             bool only_try, struct evhttp_request *req)
{
    const char *url = request_header(req, UPLOAD_HEADER_URL);
    struct symupload_entry *entry;

    open_uploads_expire(&symuploads->open);
    if (url == NULL || strpbrk(url, "\"\\") != NULL) {
        symupload_answer_error(
            req, 500,
            "nginx does not say where the server is, by " UPLOAD_HEADER_URL);
        return;
    }
    entry = open_uploads_add(&symuploads->open, user, sizeof(*entry));
    if (entry == NULL) {
        symupload_answer_error(req, 503, "too many uploads are begun");
        return;
    }
    entry->only_try = only_try;
    symupload_answer_json(
        req,
        "{ \"uploadUrl\": \"%s/symupload/v1/uploads/%s:send\", "
        "\"uploadKey\": \"%s\" }\n",
        url, entry->open.key, entry->open.key);
}

static void symupload_on_done(void *arg, const struct upload_result *result)
{
    struct symupload_entry *entry = arg;
    struct evhttp_request *req = entry->open.req;

    entry->open.req = NULL;
    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d %s", entry->open.user,
                 result->status, result->text);
        entry->state = ENTRY_BEGUN; /* it may be sent again */
        symupload_answer_error(req, result->status, result->text);
        return;
    }
    entry->state = result->nfiles > 0 && result->files[0].fate == UPLOAD_SAME
                       ? ENTRY_SAME
                       : ENTRY_STORED;
    reply_empty(req, 200);
}

static void take_symupload(struct symuploads *symuploads,
                           const struct config *config,
                           struct symupload_entry *entry,
                           struct evhttp_request *req)
{
    struct upload_request request = {
        .name = FILE_NAME,
        .id = "",
        .file = "",
        .is_object = true,
        .only_try = entry->only_try,
        .replace = config->uploads.replace,
        .user = entry->open.user,
        .body = request_header(req, UPLOAD_HEADER_BODY)};
    const char *wrong = upload_labels_read(req, &request.labels);

    if (wrong != NULL) {
        symupload_answer_error(req, 400, wrong);
    } else if (request.body == NULL) {
        symupload_answer_error(req, 400, "the request has no body");
    } else if (!upload_user_check(config, entry->open.user, entry->only_try)) {
        symupload_answer_error(req, 403, "the key is not valid any more");
    } else if (entry->state == ENTRY_RUNS) {
        symupload_answer_error(req, 409, "it is being sent already");
    } else {
        entry->state = ENTRY_RUNS;
        entry->open.req = req;
        uploads_take(symuploads->uploads, &request, symupload_on_done, entry);
    }
}

/* Only who has begun an upload completes it. */
static void complete_symupload(struct symupload_entry *entry, const char *user,
                               struct evhttp_request *req)
{
    if (strcmp(entry->open.user, user) != 0) {
        symupload_answer_error(req, 404, "no such page");
        return;
    }
    if (entry->state != ENTRY_STORED && entry->state != ENTRY_SAME) {
        symupload_answer_error(req, 409, "the file has not come");
        return;
    }
    symupload_answer_json(req, "{ \"result\": \"%s\" }\n",
                          entry->state == ENTRY_SAME ? "DUPLICATE_DATA"
                                                     : "OK");
    open_upload_forget(&entry->open);
}

/* -------------------------------------------------------------------------- */

/* Is an entry of a folder a text, which would stay no longer if it was sent
 * once more? */
static bool symupload_is_kept_text(const char *folder, const char *name,
                                   const struct build_labels *labels)
{
    size_t len = strlen(name);
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.3000s/%.255s", folder, name);
    return len > 4 && strcmp(name + len - 4, ".sym") == 0 &&
           upload_is_kept(path, labels);
}

/* Is a text of this module there? */
static void symupload_check_status(const struct config *config, bool only_try,
                                   const char *name, const char *id,
                                   struct evhttp_request *req)
{
    char path[PATH_MAX], text[SYMCACHE_ID_TEXT_MAX + 1];
    struct build_labels labels = {.build = ""};
    const char *wrong = upload_labels_read(req, &labels);
    const struct dirent *entry;
    symcache_key_t key = {.name_len = 0};
    bool is_there = false;
    DIR *dir;

    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK ||
        symcache_debug_id_parse(id, strlen(id), &key) != SYMCACHE_OK) {
        wrong = "the path is .../symbols/<file>/<id>";
    }
    if (wrong != NULL) {
        symupload_answer_error(req, 400, wrong);
        return;
    }
    symcache_id_print(text, &key);
    snprintf(path, sizeof(path), "%.2000s%s/%.255s/%s", config->uploads.root,
             only_try ? "/" UPLOADS_TRY : "", key.name, text);
    dir = opendir(path);
    while (dir != NULL && !is_there && (entry = readdir(dir)) != NULL) {
        is_there = symupload_is_kept_text(path, entry->d_name, &labels);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    symupload_answer_json(req, "{ \"status\": \"%s\" }\n",
                          is_there ? "FOUND" : "MISSING");
}

/* Cuts off a verb after a colon.  Returns it, or "". */
static char *symupload_cut_verb(char *segment)
{
    char *colon = strrchr(segment, ':');

    if (colon == NULL) {
        return segment + strlen(segment);
    }
    *colon = '\0';
    return colon + 1;
}

void symupload_page(struct symuploads *symuploads, const struct config *config,
                    const struct url_path *path, const char *query,
                    struct evhttp_request *req)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(req);
    const char *wrong = "no such page", *verb;
    struct symupload_entry *entry = NULL;
    char user[UPLOAD_USER_SIZE];
    bool only_try, is_check, is_create, is_uploads;
    int status = 404;

    reply_header(req, "Connection", "close");
    verb = path->n > 2 ? symupload_cut_verb(path->segments[path->n - 1]) : "";
    is_uploads = path->n > 2 && strcmp(path->segments[2], "uploads") == 0;
    is_check = path->n == 5 && method == EVHTTP_REQ_GET &&
               strcmp(path->segments[2], "symbols") == 0 &&
               strcmp(verb, "checkStatus") == 0;
    is_create = path->n == 3 && method == EVHTTP_REQ_POST && is_uploads &&
                strcmp(verb, "create") == 0;
    if (path->n == 4 && is_uploads) {
        entry = open_uploads_find(&symuploads->open, path->segments[3]);
    }
    if (config->uploads.root != NULL &&
        (is_check || is_create ||
         (entry != NULL && method == EVHTTP_REQ_POST &&
          strcmp(verb, "complete") == 0))) {
        status =
            symupload_check_token(config, req, query, user, &only_try, &wrong);
        if (status == 0 && (is_check || is_create)) {
            wrong = uploads_are_unknown(symuploads->uploads, config);
            status = wrong != NULL ? 503 : 0;
        }
    } else if (entry != NULL && method == EVHTTP_REQ_PUT &&
               strcmp(verb, "send") == 0) {
        take_symupload(symuploads, config, entry, req);
        return;
    }
    if (status != 0) {
        symupload_answer_error(req, status, wrong);
    } else if (is_check) {
        symupload_check_status(config, only_try, path->segments[3],
                               path->segments[4], req);
    } else if (is_create) {
        create_symupload(symuploads, user, only_try, req);
    } else {
        complete_symupload(entry, user, req);
    }
}

struct symuploads *symuploads_new(struct uploads *uploads)
{
    struct symuploads *symuploads = calloc(1, sizeof(*symuploads));

    if (symuploads != NULL) {
        symuploads->uploads = uploads;
        TAILQ_INIT(&symuploads->open.all);
        symuploads->open.most = ENTRIES_MAX;
    }
    return symuploads;
}

void symuploads_free(struct symuploads *symuploads)
{
    if (symuploads != NULL) {
        open_uploads_forget_all(&symuploads->open);
        free(symuploads);
    }
}
