/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/js_id.h"
#include "base/percent.h"
#include "base/url_id.h"
#include "js_origin.h"
#include "proto/hints.h"
#include "proto/properties.h"
#include "proto/url.h"
#include "symbolication/js/js.h"

#define LIST_VALUES 65536
#define LISTS_SIZE ((size_t)16 << 20) /* bytes of all lists of a call */
#define URL_ROOM (4 * SYMCACHE_URL_MAX)
#define HOUR 3600

struct js_want {
    struct js_want *next;
    struct api_module *module; /* NULL: in the next round */
    char *hints; /* until then */
    symcache_key_t key;
};

/* A round, which the call has to its end. */
struct round {
    struct api_round round; /* first */
    struct api_module modules[];
};

/* A file that was looked for in this step. */
struct js_entry {
    struct symc_string url;
    const char *debug_id;
    struct js_file file;
};

/* A file that a list of artifacts has. */
struct js_artifact {
    struct symc_string abs_path, url, uri, reference;
    bool has_headers;
    const char *resolved_with;
};

static void *take(struct js_files *files, size_t size)
{
    void *piece = arena_take(&files->arena, size);

    files->has_failed = files->has_failed || piece == NULL;
    if (piece != NULL) {
        memset(piece, 0, size);
    }
    return piece;
}

static struct symc_string text_of(const char *text)
{
    return (struct symc_string){text, strlen(text)};
}

static bool is_equal(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && (a.data != NULL) == (b.data != NULL) &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Clients choose the texts, so the seed is an address. */
static uint64_t hash_of(const struct js_files *files, struct symc_string text)
{
    return table_hash((uintptr_t)files, text.size > 0 ? text.data : "",
                      text.size);
}

static void add(struct js_files *files, struct table *table, uint64_t hash,
                const void *value)
{
    if (table_add(table, hash, (uintptr_t)value) != 0) {
        files->has_failed = true;
    }
}

void js_files_begin(struct js_files *files)
{
    arena_reset(&files->arena);
    table_free(&files->entries);
    table_free(&files->artifacts);
    files->listed = files->told = 0;
    files->attempts = NULL;
}

/* wants -------------------------------------------------------------------- */

static struct js_want *want(struct js_files *files, const symcache_key_t *key,
                            const char *hints)
{
    uint64_t hash =
        table_hash((uintptr_t)files, key->build, key->build_len);
    struct js_want *want;
    size_t at = 0;

    while ((want = (struct js_want *)table_next(&files->wants_by_key, hash,
                                                &at)) != NULL) {
        if (symcache_key_equal(&want->key, key)) {
            return want;
        }
    }
    want = calloc(1, sizeof(*want));
    if (want == NULL || (want->hints = strdup(hints)) == NULL) {
        free(want);
        files->has_failed = true;
        return NULL;
    }
    symcache_key_copy(&want->key, key);
    want->next = files->wants;
    files->wants = want;
    add(files, &files->wants_by_key, hash, want);
    return want;
}

/* The begin of the hour of a URL, which has an offset of its own. */
static uint64_t hour_of(const struct js_files *files, const char *url)
{
    uint8_t id[URL_ID_SIZE];
    uint64_t offset = 0;
    int i;

    if (url_id(id, url, "", false) == 0) {
        for (i = 7; i >= 0; i--) {
            offset = offset << 8 | id[i];
        }
    }
    offset %= HOUR;
    return (files->now - offset) / HOUR * HOUR + offset;
}

/*
 * Wants the file at a URL: for ever, or of this hour, with the credentials of
 * the source or as a client's.  *since is the hour then.  NULL: it cannot be
 * wanted, or has_failed.
 */
static struct js_want *want_url(struct js_files *files, struct symc_string url,
                                bool is_hourly, bool is_scraped,
                                uint64_t *since)
{
    char plain[SYMCACHE_URL_MAX + 1], hints[SYMCACHE_HINTS_MAX + 1] = "";
    char time[24] = "", name[SYMCACHE_NAME_MAX + 1];
    const char *host;
    symcache_key_t key;

    if (symcache_url_normalise(plain, url.data, url.size) == 0) {
        return NULL;
    }
    host = strstr(plain, "://") + 3;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":/?"), host);
    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK) {
        (void)symcache_name_parse(SYMCACHE_NAME_NONE, 1, &key);
    }
    if (is_hourly) {
        *since = hour_of(files, plain);
        snprintf(time, sizeof(time), "%llu", (unsigned long long)*since);
    }
    key.kind = SYMCACHE_KIND_SOURCE;
    key.id_type = SYMCACHE_ID_HASH;
    key.build_len = URL_ID_SIZE;
    if (url_id(key.build, plain, time, is_scraped) != 0 ||
        !symcache_hint_add(hints, SYMCACHE_HINT_URL, plain, strlen(plain)) ||
        (is_hourly && !symcache_hint_add(hints, SYMCACHE_HINT_SINCE, time,
                                         strlen(time))) ||
        (is_scraped &&
         !symcache_hint_add(hints, SYMCACHE_HINT_SCRAPED, "1", 1))) {
        return NULL;
    }
    return want(files, &key, hints);
}

const struct api_module *js_files_cache(struct js_files *files,
                                        const struct js_file *script,
                                        const struct js_file *map)
{
    static const struct api_module none = {.state = API_MODULE_FAILED};
    char hints[SYMCACHE_HINTS_MAX + 1] = "", value[SYMCACHE_HINT_MAX + 1];
    const uint8_t *digests[2] = {script->module->digest,
                                 map != NULL ? map->module->digest : NULL};
    struct js_want *cache;
    symcache_key_t key;
    char name[3];

    if (digests[0] == NULL || (map != NULL && digests[1] == NULL)) {
        return &none; /* on a file system without extended attributes */
    }
    memset(&key, 0, sizeof(key));
    js_id(key.build, digests[0], digests[1]);
    snprintf(name, sizeof(name), "%02x", key.build[0]);
    memcpy(key.name, name, sizeof(name));
    key.name_len = 2;
    key.kind = SYMCACHE_KIND_JSCACHE;
    key.id_type = SYMCACHE_ID_HASH;
    key.build_len = JS_ID_SIZE;
    symcache_hint_print_file(value, &script->module->key);
    (void)symcache_hint_add(hints, SYMCACHE_HINT_SCRIPT, value, strlen(value));
    if (map != NULL) {
        symcache_hint_print_file(value, &map->module->key);
        (void)symcache_hint_add(hints, SYMCACHE_HINT_MAP, value,
                                strlen(value));
    }
    cache = want(files, &key, hints);
    return cache != NULL ? cache->module : NULL;
}

bool js_files_round(struct js_files *files, struct api_call *call)
{
    struct api_module *module;
    struct round *round;
    struct js_want *each;
    size_t n = 0;

    for (each = files->wants; each != NULL; each = each->next) {
        n += each->module == NULL;
    }
    round = n > 0 ? calloc(1, sizeof(*round) + n * sizeof(*module)) : NULL;
    if (round == NULL) {
        files->has_failed = files->has_failed || n > 0;
        return false;
    }
    round->round.modules = round->modules;
    for (each = files->wants; each != NULL; each = each->next) {
        if (each->module == NULL) {
            module = each->module =
                &round->modules[round->round.nmodules++];
            symcache_key_copy(&module->key, &each->key);
            module->name = module->key.name;
            module->name_size = module->key.name_len;
            module->hints = each->hints;
            each->hints = NULL;
        }
    }
    round->round.before = call->round;
    call->round = &round->round;
    return true;
}

void js_files_free(struct js_files *files)
{
    struct js_want *want;

    while ((want = files->wants) != NULL) {
        files->wants = want->next;
        if (want->module != NULL) {
            free(want->module->hints);
        }
        free(want->hints);
        free(want);
    }
    table_free(&files->wants_by_key);
    table_free(&files->entries);
    table_free(&files->artifacts);
    arena_free(&files->arena);
}

/* files that were fetched -------------------------------------------------- */

static void take_properties(const struct api_module *module,
                            struct js_file *file)
{
    static const char name[] = SYMCACHE_PROPERTY_SOURCEMAP ": ";
    const char *text = module->properties;

    if (text != NULL && file->reference.data == NULL &&
        strncmp(text, name, strlen(name)) == 0) {
        file->reference.data = text + strlen(name);
        file->reference.size = strcspn(file->reference.data, "\n");
    }
}

/* Takes what has become of a want into a file. */
static void take_want(struct js_file *file, const struct js_want *want)
{
    const struct api_module *module = want != NULL ? want->module : NULL;

    if (want != NULL && module == NULL) {
        file->state = JS_FILE_PENDING;
    } else if (module != NULL && module->state == API_MODULE_FOUND) {
        file->state = JS_FILE_FOUND;
        file->module = module;
        file->text = (struct symc_string){
            module->reader->bytes.data != NULL ? module->reader->bytes.data
                                               : "",
            module->reader->bytes.size};
        take_properties(module, file);
    } else {
        file->state = JS_FILE_MISSING;
    }
}

static void add_attempt(struct js_files *files, struct symc_string url,
                        const char *reason, const char *details,
                        bool is_success)
{
    struct js_attempt *attempt =
        js_is_url(url) ? take(files, sizeof(*attempt)) : NULL;

    if (attempt != NULL) {
        *attempt = (struct js_attempt){files->attempts, url, reason, details,
                                       is_success};
        files->attempts = attempt;
    }
}

/* artifacts ---------------------------------------------------------------- */

/* How a file may be found; NULL: another word spoils the list. */
static const char *resolved_with(const struct json *json, uint32_t value)
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

static struct symc_string member(const struct json *json, uint32_t object,
                                 const char *name)
{
    uint32_t value = json_member(json, object, name);

    return value != 0 && json->values[value].type == JSON_STRING
               ? (struct symc_string){json_text(json, value),
                                      json->values[value].size}
               : (struct symc_string){NULL, 0};
}

/* The header that refers to the map, whose name may be in any case; the newer
 * one counts. */
static void read_headers(const struct json *json, uint32_t headers,
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

static struct symc_string print_uri(struct js_files *files,
                                    struct symc_string id)
{
    static const char start[] = "sentry://project_debug_file/";
    char *uri = take(files, strlen(start) + id.size);

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
    uint64_t hash = hash_of(files, name);
    const struct js_artifact *artifact;
    size_t at = 0;

    while ((artifact = (const struct js_artifact *)table_next(
                &files->artifacts, hash, &at)) != NULL &&
           !is_equal(artifact->abs_path, name)) {
    }
    return artifact;
}

/* Adds one, unless its name is known. */
static void add_artifact(struct js_files *files,
                         const struct js_artifact *artifact)
{
    struct js_artifact *own =
        artifact_of(files, artifact->abs_path) == NULL
            ? take(files, sizeof(*own))
            : NULL;

    if (own != NULL) {
        *own = *artifact;
        add(files, &files->artifacts, hash_of(files, own->abs_path), own);
    }
}

/* Reads an item of a list.  Returns false if it spoils the list. */
static bool read_item(struct js_files *files, const struct json *json,
                      uint32_t item, bool is_check)
{
    uint32_t type = json_member(json, item, "type");
    struct symc_string id = member(json, item, "id");
    struct js_artifact artifact = {
        .abs_path = member(json, item, "abs_path"),
        .url = member(json, item, "url"),
        .resolved_with =
            resolved_with(json, json_member(json, item, "resolved_with")),
    };
    bool is_file = type != 0 && json_is(json, type, "file");

    if (type == 0 || id.data == NULL || artifact.url.data == NULL ||
        artifact.resolved_with == NULL ||
        (is_file ? artifact.abs_path.data == NULL
                 : !json_is(json, type, "bundle"))) {
        return false;
    }
    if (is_file && !is_check) {
        artifact.uri = print_uri(files, id);
        read_headers(json, json_member(json, item, "headers"), &artifact);
        add_artifact(files, &artifact);
    }
    return true;
}

/* Adds what a list has.  Its text is copied, as the reader changes it. */
static void add_list(struct js_files *files, struct symc_string list)
{
    struct json json = {0};
    struct json_error error;
    char *text = list.size <= LISTS_SIZE - files->listed
                     ? take(files, list.size + 1)
                     : NULL;
    bool is_good;
    uint32_t i;
    int pass;

    if (text == NULL) {
        return;
    }
    files->listed += list.size;
    memcpy(text, list.data, list.size);
    is_good = list.size > 0 &&
              json_read(&json, text, list.size, LIST_VALUES, &error) ==
                  list.size &&
              json.values[0].type == JSON_ARRAY;
    for (pass = 0; is_good && pass < 2; pass++) {
        for (i = 1; is_good && i < json.values[0].end;
             i = json.values[i].end) {
            is_good = read_item(files, &json, i, pass == 0);
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
    room = take(files, 2 * url.size + 2);
    n = room != NULL ? js_candidates(url, room, names) : 0;
    for (i = 0; i < n && artifact == NULL; i++) {
        artifact = artifact_of(files, names[i]);
    }
    return artifact;
}

/* Appends "<name>=<value>" to a URL.  Returns false if it does not fit. */
static bool add_value(char *url, const char *name, struct symc_string value)
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

/* Asks the source which files it has.  Returns false while it is pending. */
static bool ask_source(struct js_files *files, struct symc_string url,
                       const char *debug_id)
{
    const struct js_request *request = files->request;
    char list[URL_ROOM] = "", stem[SYMCACHE_URL_MAX];
    bool has_release = request->release.data != NULL, is_good;
    struct js_file answer = {0};
    struct js_want *want = NULL;
    uint64_t since;
    size_t n;

    if (!files->has_source || (debug_id[0] == '\0' && !has_release) ||
        request->source.size > SYMCACHE_URL_MAX) {
        return true;
    }
    snprintf(list, sizeof(list), "%.*s", (int)request->source.size,
             request->source.data);
    is_good = !has_release || add_value(list, "release", request->release);
    if (is_good && has_release && url.data != NULL) {
        n = js_stem(url, stem, sizeof(stem));
        is_good = n <= sizeof(stem) &&
                  add_value(list, "url", (struct symc_string){stem, n});
    }
    is_good = is_good && (request->dist.data == NULL ||
                          add_value(list, "dist", request->dist));
    is_good = is_good && (debug_id[0] == '\0' ||
                          add_value(list, "debug_id", text_of(debug_id)));
    if (is_good) {
        want = want_url(files, text_of(list), true, false, &since);
    }
    take_want(&answer, want);
    if (answer.state == JS_FILE_FOUND) {
        add_list(files, answer.text);
    }
    return answer.state != JS_FILE_PENDING;
}

/* A file of its own.  An empty one counts if it has a header. */
static void fetch_artifact(struct js_files *files,
                           const struct js_artifact *artifact,
                           struct js_file *file)
{
    uint64_t since;

    file->reference = artifact->reference;
    file->uri = artifact->uri;
    file->resolved_with = artifact->resolved_with;
    take_want(file, want_url(files, artifact->url, false, false, &since));
    if (file->state == JS_FILE_FOUND && file->text.size == 0 &&
        !artifact->has_headers) {
        file->state = JS_FILE_MISSING;
    }
}

/* the web ------------------------------------------------------------------ */

/* Why a file could not be fetched, by what became of it. */
static const char *reason_of(const struct api_module *module)
{
    return module == NULL                          ? "download_error"
           : module->state == API_MODULE_MISSING   ? "not_found"
           : module->state == API_MODULE_LATE      ? "timeout"
                                                   : "download_error";
}

static void scrape(struct js_files *files, struct symc_string url,
                   struct js_file *file)
{
    struct js_want *want;
    const char *refused;
    const char *fragment = memchr(url.data, '#', url.size);
    size_t size = fragment != NULL ? (size_t)(fragment - url.data) : url.size;
    uint64_t since = 0;
    char *uri;

    file->state = JS_FILE_MISSING;
    if (!js_is_url(url)) {
        return;
    }
    if (!files->has_scraping) {
        file->is_disabled = true;
        add_attempt(files, url, "disabled", NULL, false);
        return;
    }
    refused = js_origin_refuses(files->request, url);
    if (refused != NULL) {
        add_attempt(files, url, "invalid_host",
                    refused[0] != '\0' ? refused : NULL, false);
        return;
    }
    want = want_url(files, url, true, true, &since);
    take_want(file, want);
    if (file->state == JS_FILE_FOUND) {
        uri = take(files, size + 24);
        if (uri != NULL) {
            file->uri.data = uri;
            file->uri.size = (size_t)snprintf(uri, size + 24, "%.*s#%llu",
                                              (int)size, url.data,
                                              (unsigned long long)since);
        }
        file->resolved_with = "scraping";
        add_attempt(files, url, NULL, NULL, true);
    } else if (file->state == JS_FILE_MISSING) {
        add_attempt(files, url, reason_of(want != NULL ? want->module : NULL),
                    NULL, false);
    }
}

/* all of it ---------------------------------------------------------------- */

static void find(struct js_files *files, struct symc_string url,
                 const char *debug_id, struct js_file *file)
{
    const struct js_artifact *artifact = find_artifact(files, url);

    if (artifact == NULL) {
        if (!ask_source(files, url, debug_id)) {
            file->state = JS_FILE_PENDING;
            return;
        }
        artifact = find_artifact(files, url);
    }
    if (artifact != NULL) {
        add_attempt(files, url, NULL, NULL, false);
        fetch_artifact(files, artifact, file);
    } else if (url.data != NULL) {
        scrape(files, url, file);
    } else {
        file->state = JS_FILE_MISSING;
    }
}

const struct js_file *js_files_find(struct js_files *files,
                                    struct symc_string url,
                                    const char *debug_id)
{
    static const struct js_file none = {.state = JS_FILE_MISSING};
    uint64_t hash = hash_of(files, url);
    struct js_entry *entry;
    size_t at = 0;

    while ((entry = (struct js_entry *)table_next(&files->entries, hash,
                                                  &at)) != NULL) {
        if (is_equal(entry->url, url) &&
            strcmp(entry->debug_id, debug_id) == 0) {
            return &entry->file;
        }
    }
    entry = take(files, sizeof(*entry));
    if (entry == NULL) {
        return &none;
    }
    entry->url = url;
    entry->debug_id = debug_id;
    entry->file.resolved_with = "unknown";
    find(files, url, debug_id, &entry->file);
    add(files, &files->entries, hash, entry);
    return &entry->file;
}
