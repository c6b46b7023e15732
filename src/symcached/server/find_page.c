/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /v1/find?q=TEXT: is a symbol there?  TEXT is the name of a module or an
 * id of one, as a debugger, a crash report or a build prints it.  The answer
 * lists the files that this machine has, among uploads, downloads and in
 * stores, and for each store the sources that a lookup would ask.
 */
#include "pages.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "base/task.h"
#include "config/config.h"
#include "http/http.h"
#include "proto/key.h"
#include "url_path.h"

#define SECONDS 60

/* Folders of ids in an answer, and files of one of them. */
#define FOLDERS_MAX 200
#define FILES_MAX 20

/* Searches that run at a time: each reads many folders. */
#define SEARCHES_MAX 2

#define IDS_MAX 8
#define ID_SIZE 192

#define GUID_DIGITS 32

/* Of build ids and UUIDs in folders. */
static const char *const prefixes[] = {"buildid-", "elf-buildid-",
                                       "elf-buildid-sym-", "mach-uuid-",
                                       "mach-uuid-sym-"};

struct find {
    struct evhttp_request *req;
    struct config *config; /* reference */
    char name[SYMCACHE_NAME_MAX + 1]; /* in lower case; "": by id */
    char ids[IDS_MAX][ID_SIZE]; /* how folders spell the id */
    size_t nids;
    char guid[GUID_DIGITS + 1]; /* of any age, or "" */
    /* A debug id can be that of a UUID, or of a build id with these first
     * bytes; or "". */
    char uuid[GUID_DIGITS + 1], build[GUID_DIGITS + 1];
    cJSON *answer;
    cJSON *found; /* in it */
    size_t n;
    bool is_full;
    bool is_unread; /* a folder could not be read to its end */
};

static unsigned running; /* in the loop's thread */

/* the text ---------------------------------------------------------------- */

static void add_id(struct find *find, const char *prefix, const char *text)
{
    if (find->nids < IDS_MAX) {
        snprintf(find->ids[find->nids++], ID_SIZE, "%s%s", prefix, text);
    }
}

/* Of a build id a debug id has 16 bytes; the numbers of a GUID in front are
 * little-endian, unless the file is not. */
static void set_build(struct find *find, const char *hex)
{
    static const uint8_t order[] = {6,  7,  4, 5, 2,  3,  0,  1,
                                    10, 11, 8, 9, 14, 15, 12, 13};
    size_t i;

    for (i = 0; i < GUID_DIGITS; i++) {
        find->uuid[i] = hex[i];
        find->build[i] = hex[i < sizeof(order) ? order[i] : i];
    }
}

/* The spellings of an id in the folders of stores, downloads and uploads: that
 * of a key, and of a build id or UUID in hex digits those of uploads.  Debug
 * ids are also known with hyphens, as crash reports have them, and GUIDs
 * without an age. */
static void read_ids(struct find *find, const char *text)
{
    char hex[ID_SIZE], id[SYMCACHE_ID_TEXT_MAX + 1];
    size_t len = strlen(text), n = 0, i;
    symcache_key_t key;

    if (len >= ID_SIZE / 2) {
        return;
    }
    if (symcache_id_parse(text, len, &key) == SYMCACHE_OK) {
        symcache_id_print(id, &key);
        add_id(find, "", id);
    }
    for (i = 0; i < len; i++) {
        if (isxdigit((unsigned char)text[i])) {
            hex[n++] = (char)tolower((unsigned char)text[i]);
        } else if (strchr("-{}", text[i]) == NULL) {
            return;
        }
    }
    hex[n] = '\0';
    if (find->nids == 0 &&
        symcache_debug_id_parse(hex, n, &key) == SYMCACHE_OK) {
        symcache_id_print(id, &key);
        add_id(find, "", id);
    } else if (n == GUID_DIGITS) {
        memcpy(find->guid, hex, n + 1);
    }
    if (n == GUID_DIGITS ||
        (n == GUID_DIGITS + 1 && hex[GUID_DIGITS] == '0')) {
        set_build(find, hex);
    }
    for (i = 0; n >= 4 && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        add_id(find, prefixes[i], hex);
    }
}

/* Returns what is wrong, or NULL. */
static const char *read_query(const char *query, struct find *find)
{
    struct evkeyvalq pairs;
    symcache_key_t key = {.name_len = 0};
    const char *text, *wrong = NULL;

    if (query == NULL || evhttp_parse_query_str(query, &pairs) != 0) {
        return "q= is missing";
    }
    text = evhttp_find_header(&pairs, "q");
    if (text == NULL || text[0] == '\0') {
        wrong = "q= is missing";
    } else {
        read_ids(find, text);
        if (find->nids == 0 && text[0] != '.' &&
            symcache_name_parse(text, strlen(text), &key) == SYMCACHE_OK) {
            memcpy(find->name, key.name, (size_t)key.name_len + 1);
        } else if (find->nids == 0) {
            wrong = "q= is neither the name nor the id of a file";
        }
    }
    evhttp_clear_headers(&pairs);
    return wrong;
}

/* the disk, in a thread --------------------------------------------------- */

static DIR *find_open_folder(struct find *find, const char *path)
{
    DIR *dir = opendir(path);

    find->is_unread |= dir == NULL && errno != ENOENT && errno != ENOTDIR;
    return dir;
}

static const struct dirent *read_folder(struct find *find, DIR *dir)
{
    const struct dirent *entry;

    errno = 0;
    entry = readdir(dir);
    find->is_unread |= entry == NULL && errno != 0;
    return entry;
}

/* Adds the files of <root>/<name>/<id>, if there are some. */
static void look_at(struct find *find, const char *root, const char *where,
                    const char *store, const char *name, const char *id)
{
    cJSON *item = NULL, *files = NULL, *file;
    char path[PATH_MAX], full[PATH_MAX];
    const struct dirent *entry;
    size_t n = 0;
    struct stat st;
    DIR *dir;

    snprintf(path, sizeof(path), "%.1500s/%.300s/%.300s", root, name, id);
    dir = find_open_folder(find, path);
    while (dir != NULL && n < FILES_MAX &&
           (entry = read_folder(find, dir)) != NULL) {
        snprintf(full, sizeof(full), "%.3000s/%.300s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(full, &st) != 0 ||
            !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))) {
            continue;
        }
        if (n++ == 0) {
            item = cJSON_CreateObject();
            cJSON_AddStringToObject(item, "where", where);
            cJSON_AddStringToObject(item, "store", store);
            cJSON_AddStringToObject(item, "name", name);
            cJSON_AddStringToObject(item, "id", id);
            files = cJSON_AddArrayToObject(item, "files");
        }
        file = cJSON_CreateObject();
        cJSON_AddStringToObject(file, "file", entry->d_name);
        cJSON_AddNumberToObject(file, "size", (double)st.st_size);
        cJSON_AddNumberToObject(file, "time", (double)st.st_mtime);
        cJSON_AddItemToArray(files, file);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (item != NULL) {
        cJSON_AddItemToArray(find->found, item);
        find->is_full = ++find->n == FOLDERS_MAX;
    }
}

static bool has_id(const struct find *find, const char *folder)
{
    size_t i;

    for (i = 0; i < find->nids; i++) {
        if (strcmp(folder, find->ids[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the folder that of a build id or UUID with this debug id? */
static bool has_debug_id(const struct find *find, const char *folder)
{
    size_t i, len, n;
    char hex[GUID_DIGITS + 1];

    for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        len = strlen(prefixes[i]);
        if (strncmp(folder, prefixes[i], len) == 0) {
            n = strnlen(folder + len, GUID_DIGITS);
            memset(hex, '0', GUID_DIGITS);
            memcpy(hex, folder + len, n);
            hex[GUID_DIGITS] = '\0';
            if (strcmp(hex, find->uuid) == 0 ||
                strcmp(hex, find->build) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Calls look_at() for all ages of the GUID, and what has it as debug id. */
static void look_at_guid(struct find *find, const char *root,
                         const char *where, const char *store,
                         const char *name)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    DIR *dir;

    snprintf(path, sizeof(path), "%.1500s/%.300s", root, name);
    dir = find_open_folder(find, path);
    while (dir != NULL && !find->is_full &&
           (entry = read_folder(find, dir)) != NULL) {
        if (!has_id(find, entry->d_name) &&
            ((find->guid[0] != '\0' &&
              strncasecmp(entry->d_name, find->guid, GUID_DIGITS) == 0) ||
             has_debug_id(find, entry->d_name))) {
            look_at(find, root, where, store, name, entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* Calls look_at() for the ids of a name, or for the names of an id. */
static void search_root(struct find *find, const char *root, const char *where,
                        const char *store)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    DIR *dir;
    size_t i;

    snprintf(path, sizeof(path), "%.1500s/%.300s", root, find->name);
    dir = find_open_folder(find, path);
    while (dir != NULL && !find->is_full &&
           (entry = read_folder(find, dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (find->name[0] != '\0') {
            look_at(find, root, where, store, find->name, entry->d_name);
        }
        for (i = 0; find->name[0] == '\0' && i < find->nids; i++) {
            look_at(find, root, where, store, entry->d_name, find->ids[i]);
        }
        if (find->uuid[0] != '\0') {
            look_at_guid(find, root, where, store, entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void run_find(void *arg)
{
    struct find *find = arg;
    const struct config *config = find->config;
    char path[PATH_MAX];
    size_t i;

    if (config->uploads.root != NULL) {
        search_root(find, config->uploads.root, UPLOADS_SOURCE, "");
        snprintf(path, sizeof(path), "%.1500s/" UPLOADS_TRY,
                 config->uploads.root);
        search_root(find, path, UPLOADS_SOURCE_TRY, "");
    }
    for (i = 0; i < config->nstores; i++) {
        search_root(find, config->stores[i].root, "store",
                    config->stores[i].name);
        snprintf(path, sizeof(path), "%.1500s/%.300s", config->downloads,
                 config->stores[i].name);
        search_root(find, path, "downloads", config->stores[i].name);
    }
}

/* the answer -------------------------------------------------------------- */

static void find_on_done(void *arg, bool late)
{
    struct find *find = arg;

    running--;
    if (late) {
        reply_error(find->req, 503, "busy", "the disk does not answer");
        return;
    }
    cJSON_AddBoolToObject(find->answer, "complete",
                          !find->is_full && !find->is_unread);
    reply_json(find->req, find->answer);
    find->answer = NULL;
}

static void drop_find(void *arg)
{
    struct find *find = arg;

    config_unref(find->config);
    cJSON_Delete(find->answer);
    free(find);
}

static void add_stores(const struct config *config, cJSON *answer)
{
    cJSON *array = cJSON_AddArrayToObject(answer, "stores"), *item, *sources;
    const char *name;
    size_t i, j;

    for (i = 0; i < config->nstores; i++) {
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "store", config->stores[i].name);
        sources = cJSON_AddArrayToObject(item, "sources");
        for (j = 0; j < config->stores[i].nsource_names; j++) {
            name = config->stores[i].source_names[j];
            /* see config_uploads_first() */
            cJSON_InsertItemInArray(
                sources, strcmp(name, UPLOADS_SOURCE) == 0 ? 0 : (int)j,
                cJSON_CreateString(name));
        }
        cJSON_AddItemToArray(array, item);
    }
}

void find_page(const struct config *config, const char *query,
               struct evhttp_request *req)
{
    static const struct task_calls calls = {run_find, find_on_done, drop_find};
    struct find *find = calloc(1, sizeof(*find));
    const char *wrong;

    if (find == NULL || running == SEARCHES_MAX) {
        free(find);
        reply_number(req, "Retry-After", 1);
        reply_error(req, 503, "busy", "two searches run already");
        return;
    }
    wrong = read_query(query, find);
    if (wrong != NULL) {
        free(find);
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    find->req = req;
    find->config = config_ref((struct config *)config);
    find->answer = cJSON_CreateObject();
    find->found = cJSON_AddArrayToObject(find->answer, "found");
    add_stores(config, find->answer);
    running++;
    if (task_start(evhttp_connection_get_base(
                       evhttp_request_get_connection(req)),
                   SECONDS, &calls, find) == NULL) {
        running--;
        reply_error(req, 503, "no-thread", "no thread to search with");
    }
}
