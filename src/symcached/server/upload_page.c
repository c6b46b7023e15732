/*
 * Copyright (C) the ngx_symcache authors
 */

#include "upload_page.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include "base/control.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/log_pause.h"
#include "config/config.h"
#include "debuginfo/identity/identity.h"
#include "http/http.h"
#include "proto/digest.h"
#include "proto/hints.h"
#include "proto/upload.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/upload/upload.h"
#include "upload_labels.h"
#include "pages.h"
#include "url_path.h"

#define HEADER_NUGET "X-NuGet-ApiKey"

/* A request that is worked on. */
struct upload_page {
    struct evhttp_request *req;
    bool is_form; /* Tecken's dialect */
    bool is_package; /* a form as NuGet's client sends it */
    char user[UPLOAD_USER_SIZE];
    char file[3 * SYMCACHE_NAME_MAX + 8]; /* "file=... " for the log, or "" */
    struct timespec begun;
};

/* answers ---------------------------------------------------------------- */

void upload_add_retry(struct evhttp_request *req, int status)
{
    if (status == 503 || status == 507) {
        reply_header(req, "Retry-After", UPLOAD_RETRY_SECONDS);
    }
}

static void upload_print_time(char text[40], const struct timespec *at)
{
    struct tm tm;

    gmtime_r(&at->tv_sec, &tm);
    strftime(text, 40, "%Y-%m-%dT%H:%M:%S+00:00", &tm);
}

static void upload_answer_error(const struct upload_page *page, int status,
                                const char *text)
{
    static const struct {
        int status;
        const char *word;
    } words[] = {{400, "bad-upload"}, {403, "forbidden"},  {409, "conflict"},
                 {413, "too-large"},  {503, "busy"},       {507, "no-room"},
                 {0, "upload-failed"}};
    size_t i = 0;

    while (words[i].status != 0 && words[i].status != status) {
        i++;
    }
    if (page->is_form) {
        tecken_reply_error(page->req, status, text);
        return;
    }
    upload_add_retry(page->req, status);
    reply_error(page->req, status, words[i].word, text);
}

/* The machines of a fleet that do not know of it yet. */
static void add_untold(cJSON *object, const char *untold)
{
    if (untold[0] != '\0') {
        cJSON_AddStringToObject(object, "untold", untold);
    }
}

/* The object that Tecken answers with; its fields about a bucket describe our
 * store. */
static void upload_answer_form(const struct upload_page *page,
                               const struct upload_result *result)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *upload = cJSON_AddObjectToObject(object, "upload"), *skipped;
    const char *archive = result->archive != NULL ? result->archive : "";
    char began[40], now_text[40], number[40];
    struct timespec now;
    size_t i;

    clock_gettime(CLOCK_REALTIME, &now);
    upload_print_time(began, &page->begun);
    upload_print_time(now_text, &now);
    /* cJSON would write one with a 0 at its end as 1.79595221134999e+15,
     * which many clients do not read as an integer */
    snprintf(number, sizeof(number), "%lld%06ld",
             (long long)page->begun.tv_sec, page->begun.tv_nsec / 1000);
    cJSON_AddRawToObject(upload, "id", number);
    cJSON_AddNumberToObject(upload, "size", (double)result->archive_size);
    cJSON_AddStringToObject(upload, "filename", archive);
    cJSON_AddStringToObject(upload, "bucket",
                            result->is_try ? UPLOADS_SOURCE_TRY
                                           : UPLOADS_SOURCE);
    cJSON_AddNullToObject(upload, "download_url");
    cJSON_AddBoolToObject(upload, "try_symbols", result->is_try);
    cJSON_AddArrayToObject(upload, "redirect_urls");
    cJSON_AddStringToObject(upload, "completed_at", now_text);
    cJSON_AddStringToObject(upload, "created_at", began);
    cJSON_AddStringToObject(upload, "user", page->user);
    skipped = cJSON_AddArrayToObject(upload, "skipped_keys");
    for (i = 0; i < result->nfiles; i++) {
        if (result->files[i].fate == UPLOAD_SAME) {
            /* clients look for the paths that they have sent */
            cJSON_AddItemToArray(skipped,
                                 cJSON_CreateString(result->files[i].member));
        }
    }
    add_untold(upload, result->untold);
    /* symupload calls every other status than 200 a failure */
    reply_object(page->req,
                 strcmp(archive, SYMCACHE_UPLOAD_SYMBOL_FIELD) == 0 ? 200
                                                                    : 201,
                 object);
}

static void upload_answer_file(const struct upload_page *page,
                               const struct upload_result *result)
{
    const struct upload_file *file = &result->files[0];
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "name", file->place.name);
    cJSON_AddStringToObject(object, "id", file->place.id);
    cJSON_AddStringToObject(object, "file", file->place.file);
    cJSON_AddNumberToObject(object, "size", (double)file->size);
    cJSON_AddStringToObject(object, "result",
                            file->fate == UPLOAD_SAME       ? "same"
                            : file->fate == UPLOAD_REPLACED ? "replaced"
                                                            : "stored");
    add_untold(object, result->untold);
    reply_object(page->req, result->status, object);
}

static void upload_page_on_done(void *arg, const struct upload_result *result)
{
    struct upload_page *page = arg;

    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d %s%s", page->user,
                 result->status, page->file, result->text);
        upload_answer_error(page, result->status, result->text);
    } else if (page->is_form) {
        upload_answer_form(page, result);
    } else {
        upload_answer_file(page, result);
    }
    free(page);
}

/* permissions -------------------------------------------------------------- */

/* Returns why a client may not upload, or NULL. */
static const char *upload_check_token(const struct config *config,
                                      struct upload_page *page,
                                      struct upload_request *request)
{
    const char *header = page->is_package ? HEADER_NUGET : UPLOAD_HEADER_TOKEN;
    const char *value = request_header(page->req, header);

    if (config->uploads.needs_token) {
        reply_header(page->req, "Vary", header);
    }
    return upload_token_check(config, page->req, value, page->user,
                              &request->only_try)
               ? NULL
           : value == NULL
               ? "This requires an Auth-Token to authenticate the request"
               : "API Token not matched";
}

/* what ------------------------------------------------------------------- */

static const char *upload_read_pair(const struct evkeyval *pair, bool is_form,
                                    struct upload_request *request)
{
    const char *wrong;
    uint64_t seconds;

    if (build_labels_set(&request->labels, pair->key, pair->value, &wrong)) {
        return wrong;
    }
    if (strcmp(pair->key, "force") == 0 && strcmp(pair->value, "1") == 0 &&
        !is_form) {
        request->replace = true;
    } else if (strcmp(pair->key, "try") == 0 &&
               strcmp(pair->value, "1") == 0) {
        request->only_try = true;
    } else if (strcmp(pair->key, "warm") == 0 &&
               strcmp(pair->value, "1") == 0) {
        request->warm = true;
    } else if (strcmp(pair->key, "expires") == 0 &&
               duration_parse(pair->value, &seconds) && seconds > 0 &&
               seconds <= SYMCACHE_UPLOAD_EXPIRES_MAX) {
        request->expires = (unsigned)seconds;
    } else if (strcmp(pair->key, "expires") == 0) {
        return "\"expires\" must be a duration above 0 such as 30d";
    } else if ((strcmp(pair->key, "force") == 0 && !is_form) ||
               strcmp(pair->key, "try") == 0 ||
               strcmp(pair->key, "warm") == 0) {
        return "\"force\", \"try\" and \"warm\" must be 1";
    } else {
        return is_form ? "a key of the query is unknown: it has try=1, "
                         "warm=1, expires=DURATION or labels"
                       : "a key of the query is unknown: it has force=1, "
                         "try=1, warm=1, expires=DURATION or labels";
    }
    return NULL;
}

static const char *upload_read_query(const char *query, bool is_form,
                                     struct upload_request *request)
{
    const char *wrong = NULL;
    const struct evkeyval *pair;
    struct evkeyvalq pairs;

    if (query == NULL || query[0] == '\0') {
        return NULL;
    }
    if (evhttp_parse_query_str(query, &pairs) != 0) {
        return "the query of the upload cannot be read";
    }
    TAILQ_FOREACH(pair, &pairs, next)
    {
        wrong =
            wrong != NULL ? wrong : upload_read_pair(pair, is_form, request);
    }
    evhttp_clear_headers(&pairs);
    return wrong;
}

bool upload_boundary_read(struct evhttp_request *req,
                          char boundary[UPLOAD_BOUNDARY_SIZE])
{
    static const char type[] = "multipart/form-data", name[] = "boundary=";
    const char *p = request_header(req, "Content-Type");
    size_t n;

    if (p == NULL || strncasecmp(p, type, sizeof(type) - 1) != 0 ||
        (p = strcasestr(p, name)) == NULL) {
        return false;
    }
    p += sizeof(name) - 1;
    n = *p == '"' ? strcspn(++p, "\"") : strcspn(p, "; \t");
    if (n == 0 || n >= UPLOAD_BOUNDARY_SIZE - 1) {
        return false;
    }
    memcpy(boundary, p, n);
    boundary[n] = '\0';
    return true;
}

/* Returns why the path is not that of a file, or NULL.  The third part is
 * compared with what the file is, later. */
static const char *upload_read_path(const struct url_path *path,
                                    struct upload_request *request)
{
    unsigned i;

    if (path->n != 5) {
        return "the path is /<name>/<id>/<name>";
    }
    for (i = 2; i < 5; i++) {
        if (path->lengths[i] == 0 || path->lengths[i] > SYMCACHE_NAME_MAX ||
            strlen(path->segments[i]) != path->lengths[i] ||
            strpbrk(path->segments[i], "/\\") != NULL ||
            control_in(path->segments[i]) || path->segments[i][0] == '.') {
            return "the path has a part that is not allowed";
        }
    }
    request->name = path->segments[2];
    request->id = path->segments[3];
    request->file = path->segments[4];
    return NULL;
}

/* Returns the status and *wrong if the request is not to be taken, or 0. */
static int upload_read_request(const struct config *config,
                               struct upload_page *page,
                               const struct url_path *path, const char *query,
                               char boundary[UPLOAD_BOUNDARY_SIZE],
                               struct upload_request *request,
                               const char **wrong)
{
    struct evhttp_request *req = page->req;

    *wrong = config->uploads.root == NULL
                 ? "the configuration has no \"uploads\""
                 : "no such page";
    if (config->uploads.root == NULL || (page->is_form && path->n != 2)) {
        return 404;
    }
    *wrong = upload_check_token(config, page, request);
    if (*wrong != NULL) {
        return 403;
    }
    request->replace = page->is_form && config->uploads.replace;
    *wrong = upload_read_query(query, page->is_form, request);
    if (*wrong == NULL) {
        *wrong = upload_labels_read(req, &request->labels);
    }
    if (*wrong == NULL && !page->is_form) {
        *wrong = upload_read_path(path, request);
    }
    request->body = request_header(req, UPLOAD_HEADER_BODY);
    request->boundary = boundary;
    request->is_package = page->is_package;
    if (*wrong == NULL && evhttp_request_get_command(req) != EVHTTP_REQ_HEAD &&
        (request->body == NULL ||
         (page->is_form && !upload_boundary_read(req, boundary)))) {
        *wrong = page->is_form ? "Must be multipart form data with at least "
                                 "one file"
                               : "the request has no body";
    }
    return *wrong == NULL ? 0 : 400;
}

/* A client that wants the file for longer has to say so (RFC 8594). */
static void add_sunset(const struct upload_page *page, const char *path)
{
    time_t expires = upload_expires(path);
    char text[40];
    struct tm tm;

    if (expires != 0 && gmtime_r(&expires, &tm) != NULL) {
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        reply_header(page->req, SYMCACHE_HEADER_SUNSET, text);
    }
}

static void upload_reply_head(const struct upload_page *page, uint64_t size)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, size);
    reply_header(page->req, "Content-Length", text);
    reply_empty(page->req, 200);
}

/* What cannot be looked at can be there. */
static void upload_answer_absent(const struct upload_page *page, int errnum)
{
    upload_answer_error(
        page, errnum == ENOENT || errnum == ENOTDIR ? 404 : 503,
        strerror(errnum));
}

static void upload_on_looked(void *arg, const char *digest, uint64_t size,
                             int errnum)
{
    const struct upload_page *page = arg;

    if (digest == NULL) {
        upload_answer_absent(page, errnum);
    } else {
        reply_header(page->req, SYMCACHE_HEADER_DIGEST, digest);
        upload_reply_head(page, size);
    }
}

/* Copies a part of a path in lower case.  Returns false if it is not allowed or
 * too long. */
static bool upload_lower_text(char *to, size_t size, const char *part)
{
    symcache_key_t key;

    if (symcache_name_parse(part, strlen(part), &key) != SYMCACHE_OK ||
        key.name_len >= size) {
        return false;
    }
    memcpy(to, key.name, (size_t)key.name_len + 1);
    return true;
}

bool upload_place_spell(struct symstore_path *place,
                        const char *const parts[3])
{
    symcache_key_t key;

    if (!upload_lower_text(place->name, sizeof(place->name), parts[0]) ||
        !upload_lower_text(place->file, sizeof(place->file), parts[2])) {
        return false;
    }
    if (symcache_id_parse(parts[1], strlen(parts[1]), &key) == SYMCACHE_OK) {
        symcache_id_print(place->id, &key);
        return true;
    }
    /* "elf-buildid-<id>" and its like */
    return upload_lower_text(place->id, sizeof(place->id), parts[1]);
}

/*
 * Tells whether a file is there that a client is about to send, with its digest
 * if that is asked for.  Returns whether the page is still needed.
 */
static bool upload_answer_head(struct upload_page *page,
                               const struct config *config,
                               const struct upload_request *request)
{
    const char *want = request_header(page->req, SYMCACHE_HEADER_WANT_DIGEST);
    const char *const parts[3] = {request->name, request->id, request->file};
    struct symstore_path place;
    char path[PATH_MAX];
    struct stat st;
    int rc = ENOENT;

    if (upload_place_spell(&place, parts)) {
        snprintf(path, sizeof(path), "%s/%s%s/%s/%s", config->uploads.root,
                 request->only_try ? UPLOADS_TRY "/" : "", place.name,
                 place.id, place.file);
        rc = lstat(path, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : ENOENT;
    }
    if (rc != 0) {
        upload_answer_absent(page, rc);
        return false;
    }
    add_sunset(page, path);
    if (want == NULL || !symcache_digest_wanted(want, strlen(want)) ||
        upload_is_of_builds(path, &request->labels)) {
        upload_reply_head(page, (uint64_t)st.st_size);
        return false;
    }
    rc = stored_digest_start(
        evhttp_connection_get_base(evhttp_request_get_connection(page->req)),
        path, upload_on_looked, page);
    if (rc != 0) {
        upload_answer_error(page, 503, strerror(rc));
    }
    return rc == 0;
}

/* nginx closes the connection when its client has gone, and removes the body:
 * that it cannot be opened then is no fault of anything. */
static bool has_gone(struct evhttp_request *req)
{
    struct pollfd socket = {
        .fd = bufferevent_getfd(evhttp_connection_get_bufferevent(
            evhttp_request_get_connection(req)))};

    return poll(&socket, 1, 0) == 1 &&
           (socket.revents & (POLLHUP | POLLERR)) != 0;
}

void upload_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *target, const char *query,
                 struct evhttp_request *req)
{
    struct upload_page *page = calloc(1, sizeof(*page));
    struct upload_request request = {0};
    char boundary[UPLOAD_BOUNDARY_SIZE] = "";
    const char *wrong;
    int status;

    /* If nginx sends the body nevertheless, it must not be read as another
     * request. */
    reply_header(req, "Connection", "close");
    if (page == NULL) {
        reply_error(req, 503, "out-of-memory", "out of memory");
        return;
    }
    page->req = req;
    page->is_package = evhttp_request_get_command(req) == EVHTTP_REQ_PUT &&
                       target->n == 2;
    page->is_form = page->is_package || evhttp_request_get_command(req) ==
                                            EVHTTP_REQ_POST;
    clock_gettime(CLOCK_REALTIME, &page->begun);
    status = upload_read_request(config, page, target, query, boundary,
                                 &request, &wrong);
    if (status == 400) {
        refusal_count(status);
        upload_page_on_done(page, &(struct upload_result){.status = status,
                                                          .text = wrong,
                                                          .untold = ""});
        return;
    }
    if (status != 0) {
        upload_answer_error(page, status, wrong);
        free(page);
        return;
    }
    if (!page->is_form) {
        snprintf(page->file, sizeof(page->file), "file=%s/%s/%s ",
                 request.name, request.id, request.file);
    }
    if (evhttp_request_get_command(req) == EVHTTP_REQ_HEAD) {
        wrong = uploads_are_unknown(uploads, config);
        if (wrong != NULL) {
            upload_answer_error(page, 503, wrong);
        }
        if (wrong != NULL || !upload_answer_head(page, config, &request)) {
            free(page);
        }
        return;
    }
    if (has_gone(req)) {
        upload_page_on_done(
            page, &(struct upload_result){.status = 503,
                                          .text = "the client has gone",
                                          .untold = ""});
        return;
    }
    request.user = page->user;
    uploads_take(uploads, &request, upload_page_on_done, page);
}

static void upload_on_removed(void *arg, int status, const char *text)
{
    struct evhttp_request *req = arg;
    cJSON *object;

    if (status != 200) {
        reply_error(req, status, "not-removed", text);
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "removed", 1);
    add_untold(object, text);
    reply_json(req, object);
}

void unread_page(struct evhttp_request *req)
{
    static struct log_pause pause;
    unsigned n;

    if (request_header(req, UPLOAD_HEADER_BODY) == NULL) {
        /* error_page is for all that fails in nginx */
        reply_error(req, 500, "error", "nginx failed; its error log has the "
                                       "reason");
        return;
    }
    n = log_pause_end(&pause);
    if (n > 0) {
        log_error(0, "upload: nginx could not write the body of one to "
                     "\"uploads.spool\"; its error log has the reason (%u "
                     "such uploads since this was last said)", n);
    }
    refusal_count(500);
    reply_error(req, 500, "upload-failed",
                "the web server cannot take the file: its error log says why");
}

static bool upload_read_discard(const char *query,
                                struct removal_request *removal)
{
    const struct evkeyval *pair;
    struct evkeyvalq pairs;
    bool is_good = true;

    if (query == NULL || query[0] == '\0') {
        return true;
    }
    if (evhttp_parse_query_str(query, &pairs) != 0) {
        return false;
    }
    TAILQ_FOREACH(pair, &pairs, next)
    {
        if (strcmp(pair->value, "1") == 0 && strcmp(pair->key, "try") == 0) {
            removal->is_try = true;
        } else if (strcmp(pair->value, "1") == 0 &&
                   strcmp(pair->key, "own") == 0) {
            removal->is_own = true;
        } else {
            is_good = false;
        }
    }
    evhttp_clear_headers(&pairs);
    return is_good;
}

void discard_page(struct uploads *uploads, const struct config *config,
                  const struct url_path *target, const char *query,
                  struct evhttp_request *req)
{
    struct removal_request removal = {0};
    struct upload_request request = {0};
    const char *wrong = upload_read_path(target, &request);
    char path[PATH_MAX];

    if (wrong == NULL && !upload_read_discard(query, &removal)) {
        wrong = "only try=1 and own=1";
    }
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    if (config->uploads.root == NULL) {
        upload_on_removed(req, 404, strerror(ENOENT));
        return;
    }
    removal.name = request.name;
    removal.id = request.id;
    removal.file = request.file;
    snprintf(path, sizeof(path), "%s/%s/%s", removal.name, removal.id,
             removal.file);
    if (uploads_store(uploads, path, removal.is_try)) {
        upload_on_removed(req, 503,
                          "a file of this name is just being stored");
        return;
    }
    removals_start(uploads_removals(uploads), &removal, upload_on_removed,
                   req);
}

static bool upload_add_id(struct removal_request *removal, const char *text)
{
    symcache_key_t key;

    if (removal->nids == SYMSTORE_PATH_IDS ||
        symcache_id_parse(text, strlen(text), &key) != SYMCACHE_OK) {
        return false;
    }
    symcache_id_print(removal->ids[removal->nids++], &key);
    return true;
}

/* Returns what is wrong, or NULL. */
static const char *upload_read_change(const char *query,
                                      struct removal_request *removal,
                                      bool *is_self)
{
    const struct evkeyval *pair;
    const char *wrong = NULL;
    struct evkeyvalq pairs;

    if (query == NULL || evhttp_parse_query_str(query, &pairs) != 0) {
        return "the query has from=ID";
    }
    TAILQ_FOREACH(pair, &pairs, next)
    {
        if (strcmp(pair->key, "from") == 0) {
            *is_self = peers_is_self(pair->value);
            snprintf(removal->from, sizeof(removal->from), "%s", pair->value);
        } else if (strcmp(pair->key, "try") == 0) {
            removal->is_try = strcmp(pair->value, "1") == 0;
        } else if (strcmp(pair->key, "same") == 0) {
            removal->is_same = strcmp(pair->value, "1") == 0;
        } else if (strcmp(pair->key, "late") == 0) {
            removal->is_late = strcmp(pair->value, "1") == 0;
        } else if (strcmp(pair->key, "keep") == 0) {
            removal->keeps = strcmp(pair->value, "1") == 0;
        } else if (strcmp(pair->key, "made") == 0) {
            removal->is_made_of = strcmp(pair->value, "1") == 0;
        } else if (strcmp(pair->key, "id") != 0 ||
                   !upload_add_id(removal, pair->value)) {
            wrong = "the query has from=ID, id=ID, try=1, same=1, late=1, "
                    "keep=1 or made=1";
        }
    }
    evhttp_clear_headers(&pairs);
    return wrong;
}

static void upload_on_list_changed(void *arg, const char *failure)
{
    upload_on_removed(arg, failure != NULL ? 503 : 200,
                      failure != NULL ? failure : "");
}

/* Of a bundle of scripts: /v1/changed/.artifacts/<list>/<its entry>. */
static bool is_list(const struct url_path *target)
{
    symcache_hint_e hint = SYMCACHE_HINT_ARTIFACTS;
    char hints[SYMCACHE_HINTS_MAX + 1];

    hints[0] = '\0';
    return target->n == 5 &&
           strcmp(target->segments[2], ARTIFACTS_FOLDER) == 0 &&
           symcache_hint_add(hints, hint, target->segments[3],
                             target->lengths[3]);
}

void changed_page(struct uploads *uploads, const struct config *config,
                  const struct url_path *target, const char *query,
                  struct evhttp_request *req)
{
    struct removal_request removal = {.is_told = true};
    struct upload_request request = {0};
    char path[PATH_MAX];
    bool is_of_list = is_list(target), is_self = false;
    const char *wrong = is_of_list ? NULL : upload_read_path(target, &request);

    if (wrong == NULL) {
        wrong = upload_read_change(query, &removal, &is_self);
    }
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    if (is_self || config->uploads.root == NULL) {
        upload_on_removed(req, 200, "");
        return;
    }
    if (is_of_list) {
        uploads_list_changed(uploads, target->segments[3], removal.is_try,
                             upload_on_list_changed, req);
        return;
    }
    removal.name = request.name;
    removal.id = request.id;
    removal.file = request.file;
    snprintf(path, sizeof(path), "%s/%s/%s", removal.name, removal.id,
             removal.file);
    if (!removal.is_made_of) {
        uploads_overtake(uploads, path, removal.is_try);
    }
    removals_start(uploads_removals(uploads), &removal, upload_on_removed,
                   req);
}
