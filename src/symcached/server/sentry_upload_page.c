/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pages.h"

#include <cjson/cJSON.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/upload/upload.h"
#include "sentry_assembly_page.h"
#include "sentry_download.h"
#include "sentry_releases.h"
#include "upload_labels.h"
#include "upload_page.h"
#include "url_path.h"

#define CHUNK_SIZE (8u << 20)
#define CHUNKS_PER_REQUEST 16 /* at most 32, see docs/uploads.md */

#define BODY_MAX (8u << 20)
#define FILES_MAX 10000 /* of one request */

/* Chunks that are taken. */
struct chunk_page {
    struct evhttp_request *req;
    char user[UPLOAD_USER_SIZE];
    bool is_mappings;
};

/* answers ---------------------------------------------------------------- */

void sentry_reply_error(struct evhttp_request *req, int status,
                        const char *detail)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "detail", detail);
    upload_add_retry(req, status);
    reply_object(req, status, object);
}

static cJSON *sentry_page_user_object(const char *user)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "id", user);
    cJSON_AddStringToObject(object, "email", user);
    return object;
}

/* Whether a token is valid, and whose it is, for "info" of sentry-cli.  The
 * scope is that of tokens which Sentry makes for builds. */
static void sentry_page_token(const char *user, struct evhttp_request *req)
{
    static const char *const scopes[] = {"org:ci"};
    cJSON *object = cJSON_CreateObject();
    cJSON *auth = cJSON_AddObjectToObject(object, "auth");

    cJSON_AddStringToObject(object, "version", "0");
    cJSON_AddItemToObject(auth, "scopes", cJSON_CreateStringArray(scopes, 1));
    cJSON_AddItemToObject(object, "user", sentry_page_user_object(user));
    reply_object(req, 200, object);
}

/* The same for "info" and "auth whoami" of the client in TypeScript. */
static void sentry_page_user(const char *user, struct evhttp_request *req)
{
    reply_object(req, 200, sentry_page_user_object(user));
}

/* bodies ----------------------------------------------------------------- */

cJSON *sentry_read_body(const struct config *config,
                        struct evhttp_request *req, size_t *size)
{
    const char *path = request_header(req, UPLOAD_HEADER_BODY);
    char error[200] = "the request has no body", *text;
    cJSON *json = NULL;
    ssize_t n = -1;
    int status = 400;
    int fd = path != NULL ? nginx_body_file_open(config->uploads.spool, path,
                                                 &status, error, sizeof(error))
                          : -1;

    if (fd < 0) {
        sentry_reply_error(req, status, error);
        return NULL;
    }
    text = malloc(BODY_MAX + 1);
    n = text != NULL ? pread(fd, text, BODY_MAX + 1, 0) : -1;
    close(fd);
    if (n > (ssize_t)BODY_MAX) {
        sentry_reply_error(req, 413, "the request is too large");
    } else if (n < 0) {
        sentry_reply_error(req, 503, "the request cannot be read");
    } else {
        *size = (size_t)n;
        json = cJSON_ParseWithLength(text, *size);
        if (!cJSON_IsObject(json) || cJSON_GetArraySize(json) > FILES_MAX) {
            sentry_reply_error(req, 400,
                         "the request is not a JSON object of at most 10000 "
                               "files");
            cJSON_Delete(json);
            json = NULL;
        }
    }
    free(text);
    return json;
}

/* permissions ------------------------------------------------------------- */

/* Returns 0, or the status of a refusal with *wrong. */
static int sentry_page_check_token(const struct config *config,
                                   struct evhttp_request *req,
                                   char user[UPLOAD_USER_SIZE], bool *only_try,
                                   const char **wrong)
{
    const char *value = request_credentials(req, "Bearer");

    *wrong = value == NULL ? "Authentication credentials were not provided."
                           : "Invalid token";
    return upload_token_check(config, req, value, user, only_try) ? 0 : 401;
}

/* how to send ----------------------------------------------------------- */

/* Can it send to an address below its own?  As Sentry does, this is asked of
 * its version: the client that is written in TypeScript began anew at 0. */
static bool sentry_page_knows_relative(struct evhttp_request *req)
{
    static const char name[] = "sentry-cli/";
    const char *agent = request_header(req, "User-Agent");

    return agent != NULL && strncmp(agent, name, strlen(name)) == 0 &&
           agent[strlen(name)] != '0';
}

static void sentry_page_options(const struct config *config, const char *org,
                                struct evhttp_request *req)
{
    static const char *const accept[] = {
        "debug_files",
        "pdbs",
        "portablepdbs",
        "sources",
        "proguard",
        "artifact_bundles",
        "artifact_bundles_v2",
        "bcsymbolmaps",
        "il2cpp",
        "release_files"}; /* or version 1 sends no bundles */
    static const char *const compression[] = {"gzip"};
    const char *base = request_header(req, UPLOAD_HEADER_URL);
    cJSON *object = cJSON_CreateObject();
    char url[1024];
    bool is_relative = base == NULL || sentry_page_knows_relative(req);

    snprintf(url, sizeof(url), "%.500s%sorganizations/%.200s/chunk-upload/",
             is_relative ? "" : base, is_relative ? "" : "/api/0/", org);
    cJSON_AddStringToObject(object, "url", url);
    cJSON_AddNumberToObject(object, "chunkSize", CHUNK_SIZE);
    cJSON_AddNumberToObject(object, "chunksPerRequest", CHUNKS_PER_REQUEST);
    cJSON_AddNumberToObject(object, "maxFileSize",
                            (double)config->uploads.max_size);
    cJSON_AddNumberToObject(object, "maxRequestSize",
                            (double)CHUNK_SIZE * CHUNKS_PER_REQUEST);
    cJSON_AddNumberToObject(object, "concurrency", 2);
    cJSON_AddStringToObject(object, "hashAlgorithm", "sha1");
    cJSON_AddItemToObject(
        object, "compression",
        cJSON_CreateStringArray(compression,
                                sizeof(compression) / sizeof(compression[0])));
    cJSON_AddItemToObject(
        object, "accept",
        cJSON_CreateStringArray(accept, sizeof(accept) / sizeof(accept[0])));
    reply_object(req, 200, object);
}

/* chunks, and archives of mappings, as sentry-cli 2 sends them ----------- */

static void sentry_page_mappings(struct evhttp_request *req,
                                 const struct upload_result *result)
{
    cJSON *list = cJSON_CreateArray();
    const struct symstore_path *place;
    cJSON *file;
    size_t i;

    for (i = 0; i < result->nfiles; i++) {
        place = &result->files[i].place;
        file = sentry_file(place->file, NULL, place);
        /* required by the client, which makes no use of it here */
        cJSON_AddStringToObject(file, "sha1", "");
        cJSON_AddItemToArray(list, file);
    }
    reply_object(req, 200, list);
}

static void sentry_page_on_chunks(void *arg,
                                  const struct upload_result *result)
{
    struct chunk_page *page = arg;

    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d %s: %s", page->user,
                 result->status, page->is_mappings ? "mappings" : "chunks",
                 result->text);
        sentry_reply_error(page->req, result->status, result->text);
    } else if (page->is_mappings) {
        sentry_page_mappings(page->req, result);
    } else {
        reply_empty(page->req, 200);
    }
    free(page);
}

static void sentry_page_take_form(struct uploads *uploads,
                                  const struct config *config,
                                  const char *user, bool only_try,
                                  bool is_mappings, struct evhttp_request *req)
{
    char boundary[UPLOAD_BOUNDARY_SIZE];
    struct upload_request request = {
        .is_chunks = !is_mappings,
        .is_mappings = is_mappings,
        .replace = is_mappings && config->uploads.replace,
        .boundary = boundary,
        .body = request_header(req, UPLOAD_HEADER_BODY),
        .user = user,
        .only_try = only_try,
        .expires = is_mappings ? 0 : (unsigned)config->uploads.parts_kept};
    const char *wrong =
        is_mappings ? upload_labels_read(req, &request.labels) : NULL;
    struct chunk_page *page;

    if (wrong == NULL &&
        (request.body == NULL || !upload_boundary_read(req, boundary))) {
        wrong = "files come as multipart/form-data";
    }
    if (wrong != NULL) {
        sentry_reply_error(req, 400, wrong);
        return;
    }
    page = calloc(1, sizeof(*page));
    if (page == NULL) {
        sentry_reply_error(req, 503, "out of memory");
        return;
    }
    page->req = req;
    page->is_mappings = is_mappings;
    snprintf(page->user, sizeof(page->user), "%s", user);
    uploads_take(uploads, &request, sentry_page_on_chunks, page);
}

/* pages ------------------------------------------------------------------- */

enum sentry_page {
    PAGE_NONE,
    PAGE_TOKEN,
    PAGE_USER,
    PAGE_OPTIONS,
    PAGE_CHUNKS,
    PAGE_ASSEMBLE,
    PAGE_BUNDLE,
    PAGE_FILES,
    PAGE_MAPPINGS,
    PAGE_RELEASE,
    PAGE_RELEASE_CHANGE,
    PAGE_RELEASE_DEPLOY,
    PAGE_RELEASE_BEFORE,
    PAGE_RELEASE_FILES,
    PAGE_RELEASE_MAPPING,
    PAGE_REPOSITORIES,
    PAGE_ARTIFACTS
};

static enum sentry_page sentry_page_of(const struct url_path *path,
                                       enum evhttp_cmd_type method)
{
    enum {
        GET = EVHTTP_REQ_GET | EVHTTP_REQ_HEAD,
        POST = EVHTTP_REQ_POST,
        PUT = EVHTTP_REQ_PUT
    };
    static const char org[] = "organizations", project[] = "projects";
    static const struct {
        unsigned methods;
        enum sentry_page page;
        const char *first;   /* org or project, which have 4 or 5 segments,
                              * or NULL */
        const char *last[3]; /* "": anything */
    } pages[] = {
        {GET, PAGE_TOKEN, NULL, {NULL}},
        {GET, PAGE_USER, NULL, {"auth"}},
        {GET, PAGE_OPTIONS, org, {"chunk-upload"}},
        {POST, PAGE_CHUNKS, org, {"chunk-upload"}},
        {POST, PAGE_BUNDLE, org, {"artifactbundle", "assemble"}},
        {POST, PAGE_ASSEMBLE, project, {"files", "difs", "assemble"}},
        {GET, PAGE_FILES, project, {"files", "dsyms"}},
        {POST, PAGE_MAPPINGS, project, {"files", "dsyms"}},
        {POST,
         PAGE_RELEASE_MAPPING,
         project,
         {"files", "proguard-artifact-releases"}},
        {GET, PAGE_ARTIFACTS, project, {"artifact-lookup"}},
        {POST, PAGE_RELEASE, project, {"releases"}},
        {POST, PAGE_RELEASE, org, {"releases"}},
        {PUT, PAGE_RELEASE_CHANGE, project, {"releases", ""}},
        {PUT, PAGE_RELEASE_CHANGE, org, {"releases", ""}},
        {POST, PAGE_RELEASE_DEPLOY, org, {"releases", "", "deploys"}},
        {GET,
         PAGE_RELEASE_BEFORE,
         org,
         {"releases", "", "previous-with-commits"}},
        {GET, PAGE_RELEASE_FILES, project, {"releases", "", "files"}},
        {GET, PAGE_REPOSITORIES, org, {"repos"}},
    };
    size_t i, k, at;
    bool is_it;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        at = pages[i].first == NULL      ? 2
             : pages[i].first == project ? 5
                                         : 4;
        is_it = (pages[i].methods & method) != 0 && path->n >= at &&
                (pages[i].first == NULL ||
                 strcmp(path->segments[2], pages[i].first) == 0);
        for (k = 0; k < 3 && is_it && pages[i].last[k] != NULL; k++, at++) {
            is_it = at < path->n &&
                    (pages[i].last[k][0] == '\0' ||
                     strcmp(path->segments[at], pages[i].last[k]) == 0);
        }
        if (is_it && at == path->n) {
            return pages[i].page;
        }
    }
    return PAGE_NONE;
}

/* The address of this page as the client has it. */
static void sentry_page_print_url(char *text, size_t size,
                                  const struct url_path *path,
                                  struct evhttp_request *req)
{
    const char *base = request_header(req, UPLOAD_HEADER_URL);

    snprintf(text, size,
             "%.500s/api/0/projects/%.200s/%.200s/artifact-lookup/",
             base != NULL ? base : "", path->segments[3], path->segments[4]);
}

static void sentry_page_release(const struct config *config,
                                enum sentry_page page,
                                const struct url_path *path,
                                struct evhttp_request *req)
{
    size_t size;
    cJSON *asked = sentry_read_body(config, req, &size);

    if (asked != NULL && page == PAGE_RELEASE_DEPLOY) {
        sentry_releases_deploy(asked, req);
    } else if (asked != NULL) {
        sentry_releases_change(
            asked,
            page == PAGE_RELEASE_CHANGE ? path->segments[path->n - 1] : NULL,
            req);
    }
    cJSON_Delete(asked);
}

/* Returns 0, or the status of a refusal with *wrong. */
static int sentry_page_check(const struct config *config,
                             enum sentry_page page,
                             struct evhttp_request *req,
                             char user[UPLOAD_USER_SIZE], bool *only_try,
                             const char **wrong)
{
    int status = sentry_page_check_token(config, req, user, only_try, wrong);
    int errnum = 0;

    if (status == 0 && (page == PAGE_FILES || page == PAGE_ARTIFACTS ||
                        page == PAGE_ASSEMBLE || page == PAGE_BUNDLE)) {
        errnum = uploads_disk_check(config);
    }
    if (errnum != 0) { /* a list would say that there are no files */
        *wrong = strerror(errnum);
        status = 503;
    }
    return status;
}

void sentry_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *path, const char *query,
                 struct evhttp_request *req)
{
    enum sentry_page page =
        sentry_page_of(path, evhttp_request_get_command(req));
    const char *wrong = "The requested resource does not exist";
    char user[UPLOAD_USER_SIZE], url[1024];
    bool only_try;
    int status = 404;

    /* If nginx sends the body nevertheless, it must not be read as another
     * request. */
    reply_header(req, "Connection", "close");
    if (config->uploads.root != NULL && page != PAGE_NONE) {
        status = sentry_page_check(config, page, req, user, &only_try, &wrong);
    }
    if (status != 0) {
        sentry_reply_error(req, status, wrong);
        return;
    }
    switch (page) {
    case PAGE_TOKEN:
        sentry_page_token(user, req);
        break;
    case PAGE_USER:
        sentry_page_user(user, req);
        break;
    case PAGE_OPTIONS:
        sentry_page_options(config, path->segments[3], req);
        break;
    case PAGE_CHUNKS:
    case PAGE_MAPPINGS:
        sentry_page_take_form(uploads, config, user, only_try,
                              page == PAGE_MAPPINGS, req);
        break;
    case PAGE_ASSEMBLE:
    case PAGE_BUNDLE:
        sentry_assembly(uploads, config, user, only_try, page == PAGE_BUNDLE,
                        req);
        break;
    case PAGE_FILES:
        sentry_files(config, only_try, query, req);
        break;
    case PAGE_RELEASE:
    case PAGE_RELEASE_CHANGE:
    case PAGE_RELEASE_DEPLOY:
        sentry_page_release(config, page, path, req);
        break;
    case PAGE_RELEASE_BEFORE:
        reply_object(req, 200, cJSON_CreateObject());
        break;
    case PAGE_RELEASE_FILES:
    case PAGE_REPOSITORIES:
        reply_object(req, 200, cJSON_CreateArray());
        break;
    case PAGE_RELEASE_MAPPING: /* a mapping is found by its UUID alone */
        reply_object(req, 201, cJSON_CreateObject());
        break;
    default:
        sentry_page_print_url(url, sizeof(url), path, req);
        sentry_artifacts(config, only_try, url, query, req);
        break;
    }
}
