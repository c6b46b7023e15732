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
#include "base/control.h"
#include "base/hex.h"
#include "base/log.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/upload/upload.h"
#include "sentry_download.h"
#include "sentry_releases.h"
#include "sentry_token.h"
#include "upload_labels.h"
#include "upload_page.h"
#include "url_path.h"

#define CHUNK_SIZE (8u << 20)
#define CHUNKS_PER_REQUEST 16 /* at most 32, see docs/uploads.md */

#define BODY_MAX (8u << 20)
#define FILES_MAX 10000  /* of one request */
#define CHUNKS_MAX 20000 /* of all its files, each of which is looked for */

#define DEBUG_ID_SIZE (SYMCACHE_DEBUG_TEXT_MAX + 1)

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

/* permissions ------------------------------------------------------------- */

/* Returns 0, or the status of a refusal with *wrong. */
static int check_token(const struct config *config, struct evhttp_request *req,
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
static bool is_relative_known(struct evhttp_request *req)
{
    static const char name[] = "sentry-cli/";
    const char *agent = request_header(req, "User-Agent");

    return agent != NULL && strncmp(agent, name, strlen(name)) == 0 &&
           agent[strlen(name)] != '0';
}

static void answer_options(const struct config *config, const char *org,
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
    bool is_relative = base == NULL || is_relative_known(req);

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

/* files ------------------------------------------------------------------ */

/* Reads 40 hex digits. */
static bool read_sum(const char *text, struct upload_sum *sum)
{
    return text != NULL && hex_bytes(text, sum->bytes, sizeof(sum->bytes));
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(object, name));
}

/* The last part of a path of either kind, if a file can be called so. */
static const char *base_name(const char *path)
{
    const char *p, *name = path;

    for (p = path; path != NULL && *p != '\0'; p++) {
        if (*p == '/' || *p == '\\') {
            name = p + 1;
        }
    }
    return name != NULL && name[0] != '\0' && name[0] != '.' &&
                   !control_in(name) && strlen(name) <= SYMCACHE_NAME_MAX
               ? name
               : NULL;
}

/* As clients print a debug id: a UUID, and an age that is not 0. */
static void print_debug_id(char text[DEBUG_ID_SIZE],
                           const struct symstore_path *place)
{
    const symcache_key_t *key = place->ids;
    static const uint8_t none[16];

    while (key < place->ids + place->nids &&
           key->id_type != SYMCACHE_ID_DEBUG) {
        key++;
    }
    if (key == place->ids + place->nids) {
        symcache_debug_id_write(text, none, 0);
    } else {
        symcache_debug_id_write(text, key->guid, key->age);
    }
}

static void add_features(cJSON *object, unsigned features)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{SYMCACHE_HAS_DEBUG, "debug"},
                 {SYMCACHE_HAS_SYMBOLS, "symtab"},
                 {SYMCACHE_HAS_UNWIND, "unwind"},
                 {SYMCACHE_HAS_SOURCES, "sources"}};
    cJSON *list = cJSON_AddArrayToObject(object, "features");
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((features & names[i].bit) != 0) {
            cJSON_AddItemToArray(list, cJSON_CreateString(names[i].name));
        }
    }
}

/* The client's view of a stored file. */
static cJSON *file_object(const char *name, const char *asked,
                          const struct symstore_path *place)
{
    cJSON *file = cJSON_CreateObject(), *data;
    char id[3 * SYMCACHE_NAME_MAX], debug_id[DEBUG_ID_SIZE], uuid[37];

    print_debug_id(debug_id, place);
    if (asked != NULL && strlen(asked) >= 36 &&
        strlen(asked) < sizeof(debug_id)) {
        snprintf(debug_id, sizeof(debug_id), "%s", asked);
    }
    snprintf(id, sizeof(id), "%s/%s/%s", place->name, place->id, place->file);
    snprintf(uuid, sizeof(uuid), "%.36s", debug_id);
    cJSON_AddStringToObject(file, "id", id);
    cJSON_AddStringToObject(file, "uuid", uuid);
    cJSON_AddStringToObject(file, "debugId", debug_id);
    cJSON_AddStringToObject(file, "objectName", name);
    cJSON_AddStringToObject(file, "symbolType",
                            config_format_name(place->format));
    cJSON_AddStringToObject(file, "cpuName", "any");
    data = cJSON_AddObjectToObject(file, "data");
    cJSON_AddStringToObject(data, "type", "dbg");
    add_features(data, place->features);
    return file;
}

static void add_state(cJSON *answer, const char *state, const char *detail)
{
    cJSON_AddStringToObject(answer, "state", state);
    if (detail != NULL) {
        cJSON_AddStringToObject(answer, "detail", detail);
    }
}

/* Reads the sums of a list, at most left.  Returns false if one is none. */
static bool read_chunks(const cJSON *list, struct upload_sum *sums,
                        size_t left, size_t *n)
{
    const cJSON *item;

    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (*n == left || !read_sum(cJSON_GetStringValue(item), &sums[*n])) {
            return false;
        }
        ++*n;
    }
    return true;
}

static void add_missing(cJSON *list, const cJSON *chunks, const bool *missing)
{
    const cJSON *chunk;
    size_t i = 0;

    cJSON_ArrayForEach(chunk, chunks)
    {
        if (missing[i++]) {
            cJSON_AddItemToArray(
                list, cJSON_CreateString(cJSON_GetStringValue(chunk)));
        }
    }
}

/* Tells the state of a file, and which of the chunks that were asked are
 * missing.  Returns where it is stored, or NULL. */
static const struct symstore_path *
answer_state(struct assemblies *assemblies, cJSON *answer, const cJSON *asked,
             const struct assembly_request *request)
{
    /* not "created": clients take that for sent, and wait for no refusal */
    static const char *const states[] = {[ASSEMBLY_MISSING] = "not_found",
                                         [ASSEMBLY_WAITS] = "assembling",
                                         [ASSEMBLY_RUNS] = "assembling",
                                         [ASSEMBLY_DONE] = "ok",
                                         [ASSEMBLY_FAILED] = "error"};
    cJSON *missing = cJSON_AddArrayToObject(answer, "missingChunks");
    struct assembly_answer state;

    if (assemblies_ask(assemblies, request, &state) != 0) {
        add_state(answer, "error", "too many files at a time: try again");
        return NULL;
    }
    add_state(answer, states[state.state], state.text);
    if (state.missing != NULL) {
        add_missing(missing, cJSON_GetObjectItem(asked, "chunks"),
                    state.missing);
        free(state.missing);
    }
    return state.place;
}

/* Answers for one file of a request. */
static void answer_file(struct assemblies *assemblies, cJSON *answer,
                        const cJSON *asked, struct assembly_request *request)
{
    const struct symstore_path *place;
    cJSON *file;

    request->name = base_name(text_of(asked, "name"));
    if (!read_sum(asked->string, &request->sum) || request->name == NULL) {
        cJSON_AddArrayToObject(answer, "missingChunks");
        add_state(answer, "error",
                  "the file has no SHA-1, or no name that a "
                  "file can have");
        return;
    }
    if (request->nchunks == 0) {
        cJSON_AddArrayToObject(answer, "missingChunks");
        add_state(answer, "not_found", NULL);
        return;
    }
    place = answer_state(assemblies, answer, asked, request);
    if (place != NULL) {
        file = file_object(request->name, text_of(asked, "debug_id"), place);
        cJSON_AddStringToObject(file, "sha1", asked->string);
        cJSON_AddItemToObject(answer, "dif", file);
    }
}

/* Reads the body, which nginx has put into a file.  NULL: has answered. */
static cJSON *read_body(const struct config *config,
                        struct evhttp_request *req)
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
        json = cJSON_ParseWithLength(text, (size_t)n);
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

/* Returns false when the request has been answered. */
static bool read_labels(struct evhttp_request *req,
                        struct assembly_request *request)
{
    const char *wrong = upload_labels_read(req, &request->labels);

    if (wrong != NULL) {
        sentry_reply_error(req, 400, wrong);
    }
    return wrong == NULL;
}

static void answer_files(struct uploads *uploads, const struct config *config,
                         const char *user, bool only_try,
                         struct evhttp_request *req)
{
    struct upload_sum *sums = malloc(CHUNKS_MAX * sizeof(*sums));
    cJSON *asked = read_body(config, req), *answer, *file, *item;
    struct assembly_request request = {
        .user = user, .only_try = only_try, .files = asked};
    size_t used = 0, n;

    if (asked == NULL || !read_labels(req, &request)) {
        cJSON_Delete(asked);
        free(sums);
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_ArrayForEach(item, asked)
    {
        file = cJSON_AddObjectToObject(answer, item->string);
        if (sums == NULL || !read_chunks(cJSON_GetObjectItem(item, "chunks"),
                                         sums + used, CHUNKS_MAX - used, &n)) {
            cJSON_AddArrayToObject(file, "missingChunks");
            add_state(file, "error",
                      "the chunks are not a list of SHA-1, or too many");
            continue;
        }
        request.chunks = sums + used;
        request.nchunks = n;
        used += n;
        answer_file(uploads_assemblies(uploads), file, item, &request);
    }
    cJSON_Delete(asked);
    free(sums);
    reply_object(req, 200, answer);
}

static void refuse_bundle(cJSON *answer, const char *detail)
{
    cJSON_AddArrayToObject(answer, "missingChunks");
    add_state(answer, "error", detail);
}

/* A bundle of scripts: {"checksum", "chunks", "version", "dist"}. */
static void answer_bundle(struct uploads *uploads, const struct config *config,
                          const char *user, bool only_try,
                          struct evhttp_request *req)
{
    struct upload_sum *sums = malloc(CHUNKS_MAX * sizeof(*sums));
    cJSON *asked = read_body(config, req), *answer;
    struct assembly_request request = {
        .user = user, .only_try = only_try, .is_artifacts = true};
    char name[2 * SENTRY_RELEASE_MAX + 2];

    if (asked == NULL || !read_labels(req, &request)) {
        cJSON_Delete(asked);
        free(sums);
        return;
    }
    answer = cJSON_CreateObject();
    request.release = text_of(asked, "version");
    request.dist = text_of(asked, "dist");
    request.name = name;
    request.chunks = sums;
    if (!sentry_is_release(request.release) ||
        !sentry_is_release(request.dist)) {
        refuse_bundle(answer, "the release or its dist is too long, or has a "
                              "control character");
    } else if (sums == NULL ||
               !read_sum(text_of(asked, "checksum"), &request.sum) ||
               !read_chunks(cJSON_GetObjectItem(asked, "chunks"), sums,
                            CHUNKS_MAX, &request.nchunks) ||
               request.nchunks == 0) {
        refuse_bundle(answer, "no SHA-1, or no list of chunks");
    } else {
        /* the same bundle of another release is one more */
        snprintf(name, sizeof(name), "%s\n%s",
                 request.release != NULL ? request.release : "",
                 request.dist != NULL ? request.dist : "");
        answer_state(uploads_assemblies(uploads), answer, asked, &request);
    }
    cJSON_Delete(asked);
    free(sums);
    reply_object(req, 200, answer);
}

/* chunks, and archives of mappings, as sentry-cli 2 sends them ----------- */

static void answer_mappings(struct evhttp_request *req,
                            const struct upload_result *result)
{
    cJSON *list = cJSON_CreateArray();
    const struct symstore_path *place;
    cJSON *file;
    size_t i;

    for (i = 0; i < result->nfiles; i++) {
        place = &result->files[i].place;
        file = file_object(place->file, NULL, place);
        /* required by the client, which makes no use of it here */
        cJSON_AddStringToObject(file, "sha1", "");
        cJSON_AddItemToArray(list, file);
    }
    reply_object(req, 200, list);
}

static void on_chunks(void *arg, const struct upload_result *result)
{
    struct chunk_page *page = arg;

    if (result->status >= 300) {
        log_info(0, "upload user=%s status=%d %s: %s", page->user,
                 result->status, page->is_mappings ? "mappings" : "chunks",
                 result->text);
        sentry_reply_error(page->req, result->status, result->text);
    } else if (page->is_mappings) {
        answer_mappings(page->req, result);
    } else {
        reply_empty(page->req, 200);
    }
    free(page);
}

static void take_form(struct uploads *uploads, const struct config *config,
                      const char *user, bool only_try, bool is_mappings,
                      struct evhttp_request *req)
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
    uploads_take(uploads, &request, on_chunks, page);
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

static enum sentry_page page_of(const struct url_path *path,
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
static void print_url(char *text, size_t size, const struct url_path *path,
                      struct evhttp_request *req)
{
    const char *base = request_header(req, UPLOAD_HEADER_URL);

    snprintf(text, size,
             "%.500s/api/0/projects/%.200s/%.200s/artifact-lookup/",
             base != NULL ? base : "", path->segments[3], path->segments[4]);
}

static void answer_release(const struct config *config, enum sentry_page page,
                           const struct url_path *path,
                           struct evhttp_request *req)
{
    cJSON *asked = read_body(config, req);

    if (asked != NULL && page == PAGE_RELEASE_DEPLOY) {
        sentry_deploy(asked, req);
    } else if (asked != NULL) {
        sentry_release(asked,
                       page == PAGE_RELEASE_CHANGE
                           ? path->segments[path->n - 1]
                           : NULL,
                       req);
    }
    cJSON_Delete(asked);
}

void sentry_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *path, const char *query,
                 struct evhttp_request *req)
{
    enum sentry_page page =
        page_of(path, evhttp_request_get_command(req));
    const char *wrong = "The requested resource does not exist";
    char user[UPLOAD_USER_SIZE], url[1024];
    bool only_try;
    int status = 404;

    /* If nginx sends the body nevertheless, it must not be read as another
     * request. */
    reply_header(req, "Connection", "close");
    if (config->uploads.root != NULL && page != PAGE_NONE) {
        status = check_token(config, req, user, &only_try, &wrong);
    }
    if (status != 0) {
        sentry_reply_error(req, status, wrong);
        return;
    }
    switch (page) {
    case PAGE_TOKEN:
        sentry_token(user, req);
        break;
    case PAGE_USER:
        sentry_user(user, req);
        break;
    case PAGE_OPTIONS:
        answer_options(config, path->segments[3], req);
        break;
    case PAGE_CHUNKS:
    case PAGE_MAPPINGS:
        take_form(uploads, config, user, only_try, page == PAGE_MAPPINGS, req);
        break;
    case PAGE_ASSEMBLE:
        answer_files(uploads, config, user, only_try, req);
        break;
    case PAGE_BUNDLE:
        answer_bundle(uploads, config, user, only_try, req);
        break;
    case PAGE_FILES:
        sentry_files(config, only_try, query, req);
        break;
    case PAGE_RELEASE:
    case PAGE_RELEASE_CHANGE:
    case PAGE_RELEASE_DEPLOY:
        answer_release(config, page, path, req);
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
        print_url(url, sizeof(url), path, req);
        sentry_artifacts(config, only_try, url, query, req);
        break;
    }
}
