/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_artifacts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/artifact_list.h"
#include "base/percent.h"
#include "js_wants.h"
#include "proto/url.h"
#include "schema.h"
#include "symbolication/js/js.h"

#define LIST_VALUES 65536
#define LISTS_SIZE ((size_t)16 << 20) /* bytes of all lists of a call */
#define BUNDLES_MAX 1024 /* of all lists: each file is looked for in each */
#define URL_ROOM (4 * SYMCACHE_URL_MAX)
#define STEM_MAX 1024 /* bytes that a source is asked for */

/* A file that a list of artifacts has. */
struct js_artifact {
    struct symc_string abs_path, url, uri, reference;
    bool has_headers;
    const char *resolved_with;
};

/* A bundle that a list has. */
struct js_bundle {
    struct js_bundle *next; /* whose URI is smaller */
    struct symc_string uri;
    const char *resolved_with;
    const struct api_module *module;
    const struct sourcecache_reader *reader; /* or NULL */
    bool is_pending;
};

/* How a file may be found; NULL: another word spoils the list. */
static const char *artifact_resolved_with(const struct json *json,
                                          uint32_t value)
{
    static const char *const words[] = {"debug-id", "url",         "index",
                                        "release",  "release-old", "scraping",
                                        "unknown"};
    size_t i;

    if (value == 0 || json->values[value].type == JSON_NULL) {
        return "unknown";
    }
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (json_is(json, value, words[i])) {
            return words[i];
        }
    }
    return NULL;
}

static struct symc_string header_member(const struct json *json,
                                        uint32_t object, const char *name)
{
    uint32_t value = json_member(json, object, name);

    return schema_text(
        json,
        value != 0 && json->values[value].type == JSON_STRING ? value : 0);
}

/* The header that refers to the map, whose name may be in any case; the newer
 * one counts. */
static void artifact_read_headers(const struct json *json, uint32_t headers,
                                  struct js_artifact *artifact)
{
    static const char *const names[] = {"x-sourcemap", "sourcemap"};
    size_t k, size;
    uint32_t i;

    if (headers == 0 || json->values[headers].type != JSON_OBJECT) {
        return;
    }
    for (k = 0; k < 2; k++) {
        for (i = headers + 1; i < json->values[headers].end;
             i = json->values[i + 1].end) {
            artifact->has_headers = true;
            size = json->values[i].size;
            if (size == strlen(names[k]) &&
                strncasecmp(json_text(json, i), names[k], size) == 0 &&
                json->values[i + 1].type == JSON_STRING) {
                artifact->reference = (struct symc_string){
                    json_text(json, i + 1), json->values[i + 1].size};
            }
        }
    }
}

static struct symc_string print_artifact_uri(struct js_files *files,
                                             struct symc_string id)
{
    static const char start[] = "sentry://project_debug_file/";
    char *uri = js_files_take(files, strlen(start) + id.size);

    if (uri == NULL) {
        return (struct symc_string){NULL, 0};
    }
    memcpy(uri, start, strlen(start));
    memcpy(uri + strlen(start), id.data, id.size);
    return (struct symc_string){uri, strlen(start) + id.size};
}

/* The artifact that has a name, or NULL. */
static const struct js_artifact *artifact_of(const struct js_files *files,
                                             struct symc_string name)
{
    uint64_t hash = js_hash(files, name);
    const struct js_artifact *artifact;
    size_t at = 0;

    while ((artifact = (const struct js_artifact *)table_next(
                &files->artifacts, hash, &at)) != NULL &&
           !js_is_equal(artifact->abs_path, name)) {
    }
    return artifact;
}

/* Adds one, unless its name is known. */
static void add_artifact(struct js_files *files,
                         const struct js_artifact *artifact)
{
    struct js_artifact *own = artifact_of(files, artifact->abs_path) == NULL
                                  ? js_files_take(files, sizeof(*own))
                                  : NULL;

    if (own != NULL) {
        *own = *artifact;
        js_table_add(files, &files->artifacts, js_hash(files, own->abs_path),
                     own);
    }
}

/* Where a bundle is put, or the one with the same URI.  Those of a source are
 * asked in descending order of their URIs, our own ones as they are listed,
 * the newest first. */
static struct js_bundle **artifact_place(struct js_files *files,
                                         struct symc_string uri)
{
    struct js_bundle **at = &files->bundles;
    int n;

    while (*at != NULL) {
        n = js_compare((*at)->uri, uri);
        if (n == 0 || (files->has_source && n < 0)) {
            break;
        }
        at = &(*at)->next;
    }
    return at;
}

/* Adds a bundle, unless it is known or there are too many. */
static void add_artifact_bundle(struct js_files *files, struct symc_string uri,
                                struct symc_string url, const char *how)
{
    struct js_bundle **at, *bundle;
    const struct api_module *module;
    struct js_want *want;

    if (files->nbundles == BUNDLES_MAX) {
        files->left_out = "bundles";
        return;
    }
    at = artifact_place(files, uri);
    if ((*at != NULL && js_is_equal((*at)->uri, uri)) ||
        (bundle = js_files_take(files, sizeof(*bundle))) == NULL) {
        return;
    }
    want = files->has_source ? js_want_bundle(files, url)
                             : js_want_upload(files, url);
    module = js_want_module(want);
    *bundle = (struct js_bundle){
        .next = *at,
        .uri = uri,
        .resolved_with = how,
        .module = module,
        .is_pending = js_want_is_pending(want),
    };
    if (module != NULL && module->state == API_MODULE_FOUND) {
        bundle->reader = &module->reader->sourcecache;
    }
    *at = bundle;
    files->nbundles++;
    files->are_bundles_pending =
        files->are_bundles_pending || bundle->is_pending;
}

/* Reads an item of a list.  Returns false if it spoils the list. */
static bool read_artifact_item(struct js_files *files, const struct json *json,
                               uint32_t item, bool is_check)
{
    uint32_t type = json_member(json, item, "type");
    struct symc_string id = header_member(json, item, "id");
    struct js_artifact artifact = {
        .abs_path = header_member(json, item, "abs_path"),
        .url = header_member(json, item, "url"),
        .resolved_with = artifact_resolved_with(
            json, json_member(json, item, "resolved_with")),
    };
    bool is_file = type != 0 && json_is(json, type, "file");

    if (type == 0 || id.data == NULL || artifact.url.data == NULL ||
        artifact.resolved_with == NULL ||
        (is_file ? artifact.abs_path.data == NULL
                 : !json_is(json, type, "bundle"))) {
        return false;
    }
    if (!is_check) {
        artifact.uri = print_artifact_uri(files, id);
        if (is_file) {
            artifact_read_headers(json, json_member(json, item, "headers"),
                                  &artifact);
            add_artifact(files, &artifact);
        } else if (artifact.uri.data != NULL) {
            add_artifact_bundle(files, artifact.uri, artifact.url,
                                artifact.resolved_with);
        }
    }
    return true;
}

/* Adds what a list has.  Its text is copied, as the reader changes it. */
static void add_artifact_list(struct js_files *files, struct symc_string list)
{
    struct json json = {0};
    struct json_error error = {0};
    bool is_good;
    uint32_t i;
    char *text;
    int pass;

    if (list.size > LISTS_SIZE - files->listed) {
        files->left_out = "lists";
        return;
    }
    text = js_files_take(files, list.size + 1);
    if (text == NULL) {
        return;
    }
    files->listed += list.size;
    memcpy(text, list.data, list.size);
    is_good =
        list.size > 0 &&
        json_read(&json, text, list.size, LIST_VALUES, &error) == list.size &&
        json.values[0].type == JSON_ARRAY;
    files->has_failed = files->has_failed || error.out_of_memory;
    for (pass = 0; is_good && pass < 2; pass++) {
        for (i = 1; is_good && i < json.values[0].end;
             i = json.values[i].end) {
            is_good = read_artifact_item(files, &json, i, pass == 0);
        }
    }
    json_free(&json);
}

/* The artifact of a URL by the best of its names. */
static const struct js_artifact *find_artifact(struct js_files *files,
                                               struct symc_string url)
{
    const struct js_artifact *artifact = NULL;
    struct symc_string names[4];
    unsigned i, n;
    char *room;

    if (url.data == NULL || files->artifacts.count == 0) {
        return NULL;
    }
    room = js_files_take(files, 2 * url.size + 2);
    n = room != NULL ? js_candidates(url, room, names) : 0;
    for (i = 0; i < n && artifact == NULL; i++) {
        artifact = artifact_of(files, names[i]);
    }
    return artifact;
}

/* Appends "<name>=<value>" to a URL.  Returns false if it does not fit. */
static bool artifact_add_value(char *url, const char *name,
                               struct symc_string value)
{
    char text[SYMCACHE_URL_MAX + 1], encoded[3 * SYMCACHE_URL_MAX + 1];
    size_t used = strlen(url);

    if (value.size > SYMCACHE_URL_MAX ||
        memchr(value.data, '\0', value.size) != NULL) {
        return false;
    }
    snprintf(text, sizeof(text), "%.*s", (int)value.size, value.data);
    percent_encode(encoded, text);
    return (size_t)snprintf(url + used, URL_ROOM - used, "%c%s=%s",
                            strchr(url, '?') != NULL ? '&' : '?', name,
                            encoded) < URL_ROOM - used;
}

/* The key is copied: lists are printed where they are asked for. */
static void note_list(struct js_files *files, struct js_file *file,
                      struct symc_string key, const struct js_want *want)
{
    char *copy = files->tells_why ? js_files_take(files, key.size + 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, key.data, key.size);
        js_files_note(files, file,
                      &(struct js_asked){
                          .what = "list",
                          .key = {copy, key.size},
                          .answer = want == NULL ? "refused: too long" : NULL,
                          .module = js_want_module(want)});
    }
}

/* our own uploads --------------------------------------------------------- */

static void note_artifact_failure(struct js_file *file,
                                  const struct api_module *module)
{
    file->is_unknown = file->is_unknown ||
                       (module != NULL && module->state == API_MODULE_FAILED);
}

/* Adds the bundles of a list.  Returns false while it is pending. */
static bool artifacts_read(struct js_files *files, const char *name,
                           const char *how, size_t *n, struct js_file *file)
{
    struct js_want *want = js_want_list(files, name);
    struct js_file list = {0};
    struct symc_string sum, uri;
    const char *p, *end, *line;

    js_want_take(&list, want);
    note_list(files, file, (struct symc_string){name, strlen(name)}, want);
    note_artifact_failure(file, js_want_module(want));
    if (list.state != JS_FILE_FOUND) {
        return list.state != JS_FILE_PENDING;
    }
    p = list.text.data;
    end = p + list.text.size;
    for (*n = 0; p < end; p += sum.size + 1, ++*n) {
        sum.data = p;
        line = memchr(p, '\n', (size_t)(end - p));
        sum.size = (size_t)((line != NULL ? line : end) - p);
        uri = print_artifact_uri(files, sum);
        if (uri.data != NULL) {
            add_artifact_bundle(files, uri, sum, how);
        }
    }
    return true;
}

/* Those with the debug id; or if there are none, those of the release. Returns
 * false while a list is pending. */
static bool ask_artifact_uploads(struct js_files *files, const char *debug_id,
                                 struct js_file *file)
{
    const struct js_request *request = files->request;
    char name[ARTIFACT_LIST_SIZE];
    size_t n = 0;

    if (artifact_list_of_id(name, debug_id) &&
        !artifacts_read(files, name, "debug-id", &n, file)) {
        return false;
    }
    if (n > 0 || request->release.data == NULL) {
        return true;
    }
    artifact_list_of_release(name, request->release.data,
                             request->release.size, request->dist.data,
                             request->dist.size);
    return artifacts_read(files, name, "release", &n, file);
}

/* the source -------------------------------------------------------------- */

/* A source looks for a stem anywhere in names, so the end of a long one will
 * do.  It begins with a character, not inside of one. */
static struct symc_string artifact_end_of_stem(const char *stem, size_t n)
{
    size_t i = n > STEM_MAX ? n - STEM_MAX : 0;

    while (i < n && i > 0 && ((uint8_t)stem[i] & 0xc0) == 0x80) {
        i++;
    }
    return (struct symc_string){stem + i, n - i};
}

/* Asks which artifacts it has for a file.  Returns false while that is
 * pending. */
static bool ask_artifact_source(struct js_files *files, struct symc_string url,
                                const char *debug_id, struct js_file *file)
{
    const struct js_request *request = files->request;
    char list[URL_ROOM], stem[SYMCACHE_URL_MAX];
    bool has_release = request->release.data != NULL, is_good;
    struct js_file answer = {0};
    struct js_want *want = NULL;
    uint64_t since;
    size_t n;

    if ((debug_id[0] == '\0' && !has_release) ||
        request->source.size > SYMCACHE_URL_MAX) {
        return true;
    }
    snprintf(list, sizeof(list), "%.*s", (int)request->source.size,
             request->source.data);
    is_good =
        !has_release || artifact_add_value(list, "release", request->release);
    if (is_good && has_release && url.data != NULL) {
        n = js_stem(url, stem, sizeof(stem));
        is_good =
            n <= sizeof(stem) &&
            artifact_add_value(list, "url", artifact_end_of_stem(stem, n));
    }
    is_good = is_good && (request->dist.data == NULL ||
                          artifact_add_value(list, "dist", request->dist));
    is_good =
        is_good &&
        (debug_id[0] == '\0' ||
         artifact_add_value(list, "debug_id",
                            (struct symc_string){debug_id, strlen(debug_id)}));
    if (is_good) {
        want = js_want_url(files,
                           (struct symc_string){list, strlen(list)},
                           true, false, &since);
    }
    js_want_take(&answer, want);
    note_list(files, file, (struct symc_string){list, strlen(list)}, want);
    if (answer.state == JS_FILE_FOUND) {
        add_artifact_list(files, answer.text);
    }
    return answer.state != JS_FILE_PENDING;
}

bool js_artifacts_ask(struct js_files *files, struct symc_string url,
                      const char *debug_id, struct js_file *file)
{
    return files->has_source ? ask_artifact_source(files, url, debug_id, file)
                             : ask_artifact_uploads(files, debug_id, file);
}

/* A file of its own.  An empty one counts if it has a header, and one that is
 * not UTF-8 if it is a map, which its conversion finds malformed. */
static void fetch_artifact(struct js_files *files,
                           const struct js_artifact *artifact,
                           enum sourcecache_type type,
                           struct js_file *file)
{
    struct js_want *want;
    uint64_t since;

    file->reference = artifact->reference;
    file->uri = artifact->uri;
    file->resolved_with = artifact->resolved_with;
    want = js_want_url(files, artifact->url, false, false, &since);
    js_want_take(file, want);
    js_files_note(
        files, file,
        &(struct js_asked){.what = "file",
                           .key = artifact->url,
                           .answer = want == NULL ? "refused: its URL" : NULL,
                           .module = js_want_module(want)});
    if (file->state == JS_FILE_FOUND &&
        ((file->text.size == 0 && !artifact->has_headers) ||
         (type != SOURCECACHE_MAP && !js_want_is_utf8(file)))) {
        file->state = JS_FILE_MISSING;
    }
}

/* bundles ----------------------------------------------------------------- */

/* Takes an entry of a bundle. */
static void artifact_take_entry(const struct js_bundle *bundle,
                                const struct sourcecache_entry *entry,
                                const char *resolved_with,
                                struct js_file *file)
{
    file->state = JS_FILE_FOUND;
    file->text = (struct symc_string){
        entry->text.data != NULL ? entry->text.data : "", entry->text.size};
    file->reference = entry->map;
    file->is_bundled = true;
    file->uri = bundle->uri;
    file->resolved_with = resolved_with;
    file->digest = entry->sha256;
    symcache_key_copy(&file->place.key, &bundle->module->key);
    file->place.size = entry->text.size;
    file->place.offset = entry->text.size > 0
                             ? (uint64_t)((const uint8_t *)entry->text.data -
                                          bundle->reader->data)
                             : 0;
}

/* Notes what a bundle says of an entry.  Returns false if there is none with a
 * text. */
static bool artifact_is_there(struct js_files *files, struct js_file *file,
                              const struct js_bundle *bundle,
                              struct symc_string key, bool is_found,
                              const struct sourcecache_entry *entry)
{
    static const char *const words[] = {
        [SOURCECACHE_TEXT] = "found",
        [SOURCECACHE_MISSING] = "named, but not in the archive",
        [SOURCECACHE_DAMAGED] = "damaged",
        [SOURCECACHE_NOT_UTF8] = "not UTF-8",
        [SOURCECACHE_TOO_LARGE] = "too large",
    };

    js_files_note(files, file,
                  &(struct js_asked){.what = "entry",
                                     .key = key,
                                     .bundle = bundle->uri,
                                     .answer = is_found ? words[entry->status]
                                                        : "not found"});
    return is_found && entry->status == SOURCECACHE_TEXT;
}

/* Those that cannot be read are passed over. */
static void note_artifact_bundles(struct js_files *files, struct js_file *file)
{
    const struct js_bundle *bundle;

    for (bundle = files->bundles; bundle != NULL; bundle = bundle->next) {
        if (bundle->reader == NULL) {
            if (!files->has_source) {
                note_artifact_failure(file, bundle->module);
            }
            js_files_note(files, file,
                          &(struct js_asked){.what = "bundle",
                                             .key = bundle->uri,
                                             .answer = bundle->module == NULL
                                                           ? "refused: its URL"
                                                           : NULL,
                                             .module = bundle->module});
        }
    }
}

static bool artifact_by_id(struct js_files *files, enum sourcecache_type type,
                           const char *debug_id, struct js_file *file)
{
    const struct symc_string key = {debug_id, strlen(debug_id)};
    const struct js_bundle *bundle;
    struct sourcecache_entry entry;
    uint8_t guid[16];
    uint32_t age;
    bool is_found;

    if (type == SOURCECACHE_SOURCE ||
        !symcache_debug_id_read(key.data, key.size, guid, &age)) {
        return false;
    }
    for (bundle = files->bundles; bundle != NULL; bundle = bundle->next) {
        if (bundle->reader == NULL) {
            continue;
        }
        is_found =
            sourcecache_find_id(bundle->reader, guid, age, type, &entry);
        if (artifact_is_there(files, file, bundle, key, is_found, &entry)) {
            artifact_take_entry(bundle, &entry, "debug-id", file);
            return true;
        }
    }
    return false;
}

static bool artifact_by_url(struct js_files *files, struct symc_string url,
                            struct js_file *file)
{
    const struct js_bundle *bundle;
    struct sourcecache_entry entry;
    struct symc_string names[4];
    char *room = js_files_take(files, 2 * url.size + 2);
    unsigned i, n = room != NULL ? js_candidates(url, room, names) : 0;
    bool is_found;

    for (i = 0; i < n; i++) {
        for (bundle = files->bundles; bundle != NULL; bundle = bundle->next) {
            if (bundle->reader == NULL) {
                continue;
            }
            is_found = sourcecache_find_url(bundle->reader, names[i].data,
                                            names[i].size, &entry);
            if (artifact_is_there(files, file, bundle, names[i], is_found,
                                  &entry)) {
                artifact_take_entry(bundle, &entry, bundle->resolved_with,
                                    file);
                return true;
            }
        }
    }
    return false;
}

/* A "data:" reference that cannot be read makes the file one that cannot. */
static void check_artifact_reference(struct js_files *files,
                                     struct js_file *file)
{
    if (file->reference.data != NULL && js_is_data_url(file->reference) &&
        !js_want_reads_data(files, file->reference)) {
        file->state = JS_FILE_MISSING;
    }
}

/* all of them ------------------------------------------------------------- */

bool js_artifacts_find(struct js_files *files, enum sourcecache_type type,
                       struct symc_string url, const char *debug_id,
                       struct js_file *file)
{
    const struct js_artifact *artifact;

    if (files->are_bundles_pending) {
        file->state = JS_FILE_PENDING;
        return true;
    }
    note_artifact_bundles(files, file);
    if (files->bundles != NULL &&
        (artifact_by_id(files, type, debug_id, file) ||
         (url.data != NULL && artifact_by_url(files, url, file)))) {
        check_artifact_reference(files, file);
        return true;
    }
    artifact = find_artifact(files, url);
    if (artifact != NULL) {
        fetch_artifact(files, artifact, type, file);
    }
    return artifact != NULL;
}
