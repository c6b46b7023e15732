/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sentry_download.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/control.h"
#include "base/fd_close.h"
#include "base/percent.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/upload_index/upload_index.h"
#include "pages.h"

#define FILES_MAX 20

/* All files of these types have one name, which is not in the index. */
static const struct {
    const char *name;
    const char *type;
} fixed_names[] = {{"mapping.txt", "proguard"},
                   {"uuidmap", "uuidmap"},
                   {"bcsymbolmap", "bcsymbolmap"},
                   {"il2cpp", "il2cpp"}};

struct sentry_download_list {
    char root[PATH_MAX];
    cJSON *files;
    int errnum; /* why there can be others, or 0 */
};

/* lists -------------------------------------------------------------------- */

/* A file that is not there is not listed; of one that cannot be looked at, it
 * is not known whether it would be. */
static void download_note_error(struct sentry_download_list *download,
                                int errnum)
{
    if (errnum != ENOENT && errnum != ENOTDIR) {
        download->errnum = errnum;
    }
}

/* The type of a file, as the clients' readers call it; NULL: none that they
 * know, or it cannot be read, as the list says then. */
static const char *sentry_type(struct sentry_download_list *download,
                               const char *path, const char *name,
                               const char *id)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *type;
    } types[] = {{"Microsoft C/C++ MSF", 19, "pdb"},
                 {"Microsoft MSFZ Cont", 19, "pdb"},
                 {"BSJB", 4, "portablepdb"},
                 {"MODULE ", 7, "breakpad"},
                 {"SYSB", 4, "sourcebundle"},
                 {"PK\3\4", 4, "sourcebundle"},
                 {"\x7f" "ELF", 4, "elf"},
                 {"MZ", 2, "pe"},
                 {"\0asm", 4, "wasm"}};
    char head[32] = {0};
    size_t i;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;

    if (n < 0) {
        download_note_error(download, errno);
    }
    fd_close(fd);
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (n >= (ssize_t)types[i].size &&
            memcmp(head, types[i].magic, types[i].size) == 0) {
            return types[i].type;
        }
    }
    for (i = 0; n > 0 && i < COUNT(fixed_names); i++) {
        if (strcmp(name, fixed_names[i].name) == 0) {
            return fixed_names[i].type;
        }
    }
    return n > 0 && strncmp(id, "mach-uuid-", 10) == 0 ? "macho" : NULL;
}

static void download_add_file(struct sentry_download_list *download,
                              const char *name, const char *id,
                              const char *file)
{
    char path[PATH_MAX], text[3 * SYMCACHE_NAME_MAX];
    const char *type;
    struct stat st;
    cJSON *item;

    snprintf(path, sizeof(path), "%.2048s/%.255s/%.200s/%.255s",
             download->root, name, id, file);
    if (cJSON_GetArraySize(download->files) >= FILES_MAX) {
        return;
    }
    if (lstat(path, &st) != 0) {
        download_note_error(download, errno);
        return;
    }
    if (!S_ISREG(st.st_mode) ||
        (type = sentry_type(download, path, name, id)) == NULL) {
        return;
    }
    snprintf(text, sizeof(text), "%.255s/%.200s/%.255s", name, id, file);
    cJSON_ArrayForEach(item, download->files)
    {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(item, "id")),
                   text) == 0) {
            return;
        }
    }
    item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "id", text);
    cJSON_AddStringToObject(item, "symbolType", type);
    cJSON_AddStringToObject(item, "objectName", name);
    cJSON_AddNumberToObject(item, "size", (double)st.st_size);
    cJSON_AddItemToArray(download->files, item);
}

/* Adds what stands in the folder of a name and an id. */
static void download_add_files(struct sentry_download_list *download,
                               const char *name, const char *id)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%.2048s/%.255s/%.200s", download->root, name,
             id);
    dir = opendir(path);
    if (dir == NULL) {
        download_note_error(download, errno);
        return;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            download_add_file(download, name, id, entry->d_name);
        }
    }
    if (errno != 0) {
        download_note_error(download, errno);
    }
    closedir(dir);
}

/* Adds what a build id has without a name: debug files. */
static void download_add_debug_files(struct sentry_download_list *download,
                                     const char *folder)
{
    static const char *const kinds[][3] = {
        {"elf-buildid-", "elf-buildid-sym-", "_.debug"},
        {"mach-uuid-", "mach-uuid-sym-", "_.dwarf"}};
    char id[SYMSTORE_ID_SIZE + 8];
    size_t i, n;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        n = strlen(kinds[i][0]);
        if (strncmp(folder, kinds[i][0], n) == 0) {
            snprintf(id, sizeof(id), "%s%s", kinds[i][1], folder + n);
            download_add_files(download, kinds[i][2], id);
        }
    }
}

/* Adds the files of an id. */
static void download_find_listed(struct sentry_download_list *download,
                                 const symcache_key_t *key)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE];
    struct upload_index_names *names = calloc(1, sizeof(*names));
    size_t n = upload_index_folders(folders, key), i, k;
    int rc;

    if (names == NULL) {
        download->errnum = ENOMEM;
        return;
    }
    for (i = 0; i < n; i++) {
        rc = upload_index_find(download->root, folders[i], names);
        download->errnum = rc != 0 ? rc : download->errnum;
    }
    for (k = 0; k < names->n; k++) {
        for (i = 0; i < n && !names->list[k].is_asked; i++) {
            download_add_files(download, names->list[k].text, folders[i]);
        }
    }
    for (i = 0; i < n; i++) {
        download_add_debug_files(download, folders[i]);
        for (k = 0; k < COUNT(fixed_names); k++) {
            download_add_files(download, fixed_names[k].name, folders[i]);
        }
    }
    if (names->has_build_id && key->id_type == SYMCACHE_ID_DEBUG) {
        download_find_listed(download, &names->build_id);
    }
    free(names);
}

static bool download_read_debug_id(const char *text, symcache_key_t *key)
{
    memset(key, 0, sizeof(*key));
    key->id_type = SYMCACHE_ID_DEBUG;
    return symcache_debug_id_read(text, strlen(text), key->guid, &key->age);
}

/* Time stamp and size of an image, or a build id. */
static bool download_read_code_id(const char *text, symcache_key_t *key)
{
    memset(key, 0, sizeof(*key));
    return symcache_code_id_parse(text, strlen(text), key) == SYMCACHE_OK;
}

static void download_answer_list(const struct config *config, bool only_try,
                                 struct evkeyvalq *pairs,
                                 struct evhttp_request *req)
{
    const char *debug_id = evhttp_find_header(pairs, "debug_id");
    const char *code_id = evhttp_find_header(pairs, "code_id");
    struct sentry_download_list download = {.files = cJSON_CreateArray()};
    symcache_key_t key;

    snprintf(download.root, sizeof(download.root), "%.2000s%s",
             config->uploads.root, only_try ? "/" UPLOADS_TRY : "");
    if (debug_id != NULL && download_read_debug_id(debug_id, &key)) {
        download_find_listed(&download, &key);
    }
    if (code_id != NULL && download_read_code_id(code_id, &key)) {
        download_find_listed(&download, &key);
    }
    if (download.errnum != 0) {
        cJSON_Delete(download.files);
        sentry_reply_error(req, 503, strerror(download.errnum));
        return;
    }
    reply_object(req, 200, download.files);
}

/* one file ----------------------------------------------------------------- */

/* "name/id/file", of which none begins with a dot. */
static bool download_is_path(const char *path)
{
    const char *p = path;
    unsigned slashes = 0;

    for (; *p != '\0'; p++) {
        slashes += *p == '/';
        if (*p == '\\' || control_is(*p) ||
            (*p == '.' && (p == path || p[-1] == '/')) ||
            (*p == '/' && (p == path || p[-1] == '/' || p[1] == '\0'))) {
            return false;
        }
    }
    return slashes == 2 && (size_t)(p - path) <= 3 * SYMCACHE_NAME_MAX;
}

static void download_answer_file(const struct config *config, bool only_try,
                                 const char *id, struct evhttp_request *req)
{
    char below[PATH_MAX], path[PATH_MAX];
    char location[sizeof(SENTRY_FILES_LOCATION) + 3 * sizeof(below)];
    struct stat st;

    snprintf(below, sizeof(below), "%s%.*s", only_try ? UPLOADS_TRY "/" : "",
             3 * SYMCACHE_NAME_MAX, id);
    snprintf(path, sizeof(path), "%.2000s/%.2000s", config->uploads.root,
             below);
    errno = 0;
    if (!download_is_path(id) || lstat(path, &st) != 0 ||
        !S_ISREG(st.st_mode)) {
        if (errno == 0 || errno == ENOENT || errno == ENOTDIR) {
            sentry_reply_error(req, 404,
                               "The requested resource does not exist");
        } else {
            sentry_reply_error(req, 503, strerror(errno));
        }
        return;
    }
    percent_encode_path(stpcpy(location, SENTRY_FILES_LOCATION), below);
    reply_header(req, "X-Accel-Redirect", location);
    reply_header(req, "Content-Type", "application/octet-stream");
    reply_empty(req, 200);
}

void sentry_files(const struct config *config, bool only_try,
                  const char *query, struct evhttp_request *req)
{
    struct evkeyvalq pairs;
    const char *id;

    if (evhttp_parse_query_str(query != NULL ? query : "", &pairs) != 0) {
        sentry_reply_error(req, 400, "the query cannot be read");
        return;
    }
    id = evhttp_find_header(&pairs, "id");
    if (id != NULL) {
        download_answer_file(config, only_try, id, req);
    } else {
        download_answer_list(config, only_try, &pairs, req);
    }
    evhttp_clear_headers(&pairs);
}

/* artifacts --------------------------------------------------------------- */

static void download_add_bundles(cJSON *list, const char *url, const char *how,
                                 const struct artifacts_found *found)
{
    char text[PATH_MAX];
    cJSON *item;
    size_t i;

    for (i = 0; i < found->n; i++) {
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "type", "bundle");
        cJSON_AddStringToObject(item, "id", found->sums[i]);
        snprintf(text, sizeof(text), "%.2000s?download=%s", url,
                 found->sums[i]);
        cJSON_AddStringToObject(item, "url", text);
        cJSON_AddStringToObject(item, "resolved_with", how);
        cJSON_AddItemToArray(list, item);
    }
}

void sentry_artifacts(const struct config *config, bool only_try,
                      const char *url, const char *query,
                      struct evhttp_request *req)
{
    struct artifacts_found found = {.n = 0};
    const char *debug_id, *release, *sum;
    char root[PATH_MAX], path[128];
    struct evkeyvalq pairs;
    cJSON *list;
    int rc = 0;

    if (evhttp_parse_query_str(query != NULL ? query : "", &pairs) != 0) {
        sentry_reply_error(req, 400, "the query cannot be read");
        return;
    }
    sum = evhttp_find_header(&pairs, "download");
    if (sum != NULL) {
        snprintf(path, sizeof(path), SYMCACHE_NAME_NONE "/hash-%.40s/%s", sum,
                 ARTIFACTS_FILE);
        download_answer_file(config, only_try, path, req);
        evhttp_clear_headers(&pairs);
        return;
    }
    snprintf(root, sizeof(root), "%.2000s%s", config->uploads.root,
             only_try ? "/" UPLOADS_TRY : "");
    list = cJSON_CreateArray();
    debug_id = evhttp_find_header(&pairs, "debug_id");
    release = evhttp_find_header(&pairs, "release");
    if (debug_id != NULL) {
        rc = artifacts_by_debug_id(root, debug_id, &found);
        download_add_bundles(list, url, "debug-id", &found);
    }
    if (release != NULL && found.n == 0 && rc == 0) {
        rc = artifacts_by_release(root, release,
                                  evhttp_find_header(&pairs, "dist"), &found);
        download_add_bundles(list, url, "release", &found);
    }
    evhttp_clear_headers(&pairs);
    if (rc != 0) {
        cJSON_Delete(list);
        sentry_reply_error(req, 503, strerror(rc));
        return;
    }
    reply_object(req, 200, list);
}
