/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_wants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/artifact_list.h"
#include "base/hex.h"
#include "base/jscache_id.h"
#include "base/url_id.h"
#include "base/utf8.h"
#include "proto/hints.h"
#include "proto/properties.h"
#include "proto/url.h"
#include "symbolication/js/js.h"

#define HOUR 3600

struct js_want {
    struct js_want *next;
    struct api_module *module; /* NULL: in the next round */
    char *hints;               /* until then */
    bool is_checked, is_utf8;
    bool is_read; /* comments are set */
    struct js_comments comments;
    symcache_key_t key;
};

/* What a URL came to: its name and its id are found once in a call, though
 * each round asks for it. */
struct js_url {
    struct js_want *want;
    uint64_t since;
    symcache_kind_e kind;
    bool is_hourly, is_scraped;
    size_t size;
    char text[];
};

/* A round, which the call has to its end. */
struct js_wants_round {
    struct api_round round; /* first */
    struct api_module modules[];
};

static struct js_want *want_file(struct js_files *files,
                                 const symcache_key_t *key, const char *hints)
{
    uint64_t hash = table_hash((uintptr_t)files, key->build, key->build_len);
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
    js_table_add(files, &files->wants_by_key, hash, want);
    return want;
}

/* The begin of the hour of a URL, which has an offset of its own. */
static uint64_t want_hour_of(const struct js_files *files, const char *url)
{
    uint8_t id[URL_ID_SIZE];
    uint64_t offset = 0;
    int i;

    url_id(id, url, "", false);
    for (i = 7; i >= 0; i--) {
        offset = offset << 8 | id[i];
    }
    offset %= HOUR;
    return (files->now - offset) / HOUR * HOUR + offset;
}

/* Sets the common members of keys whose ids are hashes of URLs.  Returns false
 * if a text is not a URL, or is too long. */
static bool set_wanted_url(symcache_key_t *key,
                           char plain[SYMCACHE_URL_MAX + 1],
                           struct symc_string url)
{
    char name[SYMCACHE_NAME_MAX + 1];
    const char *host;

    if (symcache_url_normalise(plain, url.data, url.size) == 0) {
        return false;
    }
    host = strstr(plain, "://") + 3;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":/?"), host);
    if (symcache_name_parse(name, strlen(name), key) != SYMCACHE_OK) {
        (void)symcache_name_parse(SYMCACHE_NAME_NONE, 1, key);
    }
    key->id_type = SYMCACHE_ID_HASH;
    key->build_len = URL_ID_SIZE;
    return true;
}

/* *since is set of what is hourly. */
static struct js_want *want_url(struct js_files *files, symcache_kind_e kind,
                                struct symc_string url, bool is_hourly,
                                bool is_scraped, uint64_t *since)
{
    char plain[SYMCACHE_URL_MAX + 1], hints[SYMCACHE_HINTS_MAX + 1];
    char time[24] = "";
    symcache_key_t key;

    if (!set_wanted_url(&key, plain, url)) {
        return NULL;
    }
    hints[0] = '\0';
    if (is_hourly) {
        *since = want_hour_of(files, plain);
        snprintf(time, sizeof(time), "%llu", (unsigned long long)*since);
    }
    key.kind = kind;
    url_id(key.build, plain, time, is_scraped);
    if (!symcache_hint_add(hints, SYMCACHE_HINT_URL, plain, strlen(plain)) ||
        (is_hourly &&
         !symcache_hint_add(hints, SYMCACHE_HINT_SINCE, time, strlen(time))) ||
        (is_scraped &&
         !symcache_hint_add(hints, SYMCACHE_HINT_SCRAPED, "1", 1))) {
        return NULL;
    }
    return want_file(files, &key, hints);
}

static struct js_url *wanted_url_of(const struct js_files *files,
                                    uint64_t hash, const struct js_url *asked,
                                    struct symc_string text)
{
    struct js_url *url;
    size_t at = 0;

    while ((url = (struct js_url *)table_next(&files->urls, hash, &at)) !=
           NULL) {
        if (url->kind == asked->kind && url->is_hourly == asked->is_hourly &&
            url->is_scraped == asked->is_scraped && url->size == text.size &&
            memcmp(url->text, text.data, text.size) == 0) {
            break;
        }
    }
    return url;
}

/* The same; what cannot be wanted is found out anew each time. */
static struct js_want *want_once(struct js_files *files, symcache_kind_e kind,
                                 struct symc_string text, bool is_hourly,
                                 bool is_scraped, uint64_t *since)
{
    const struct js_url asked = {NULL,      0,          kind,
                                 is_hourly, is_scraped, text.size};
    uint64_t hash = js_hash(files, text);
    struct js_url *url = wanted_url_of(files, hash, &asked, text);
    struct js_want *want;

    if (url != NULL) {
        *since = url->since;
        return url->want;
    }
    *since = 0;
    want = want_url(files, kind, text, is_hourly, is_scraped, since);
    url = want != NULL ? malloc(sizeof(*url) + text.size) : NULL;
    if (url != NULL) {
        *url = asked;
        url->want = want;
        url->since = *since;
        memcpy(url->text, text.data, text.size);
        if (table_add(&files->urls, hash, (uintptr_t)url) != 0) {
            free(url);
        }
    }
    return want;
}

struct js_want *js_want_url(struct js_files *files, struct symc_string url,
                            bool is_hourly, bool is_scraped, uint64_t *since)
{
    return want_once(files, SYMCACHE_KIND_SOURCE, url, is_hourly, is_scraped,
                     since);
}

struct js_want *js_want_bundle(struct js_files *files, struct symc_string url)
{
    uint64_t since;

    return want_once(files, SYMCACHE_KIND_SOURCECACHE, url, false, false,
                     &since);
}

struct js_want *js_want_list(struct js_files *files, const char *name)
{
    char hints[SYMCACHE_HINTS_MAX + 1];
    symcache_key_t key;

    artifact_list_key(&key, name);
    hints[0] = '\0';
    return symcache_hint_add(hints, SYMCACHE_HINT_ARTIFACTS, name,
                             strlen(name))
               ? want_file(files, &key, hints)
               : NULL;
}

struct js_want *js_want_upload(struct js_files *files, struct symc_string sum)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t key;
    int n = snprintf(id, sizeof(id), "hash-%.*s", (int)sum.size, sum.data);

    if (n < 0 || (size_t)n >= sizeof(id) ||
        symcache_name_parse(SYMCACHE_NAME_NONE, strlen(SYMCACHE_NAME_NONE),
                            &key) != SYMCACHE_OK ||
        symcache_id_parse(id, (size_t)n, &key) != SYMCACHE_OK) {
        return NULL;
    }
    key.kind = SYMCACHE_KIND_SOURCECACHE;
    return want_file(files, &key, "");
}

bool js_want_is_pending(const struct js_want *want)
{
    return want != NULL && want->module == NULL;
}

const struct api_module *js_want_module(const struct js_want *want)
{
    return want != NULL ? want->module : NULL;
}

const struct api_module *js_want_cache(struct js_files *files,
                                       const struct js_file *script,
                                       const struct js_file *map)
{
    static const struct api_module none = {.state = API_MODULE_MISSING};
    char hints[SYMCACHE_HINTS_MAX + 1], value[SYMCACHE_HINT_MAX + 1];
    const uint8_t *digests[2] = {script->digest,
                                 map != NULL ? map->digest : NULL};
    struct js_want *cache;
    symcache_key_t key;

    if (digests[0] == NULL || (map != NULL && digests[1] == NULL)) {
        return &none; /* on a file system without extended attributes */
    }
    memset(&key, 0, sizeof(key));
    jscache_id(key.build, digests[0], digests[1]);
    hex_print(key.name, key.build, 1, HEX_LOWER);
    key.name_len = 2;
    key.kind = SYMCACHE_KIND_JSCACHE;
    key.id_type = SYMCACHE_ID_HASH;
    key.build_len = JS_ID_SIZE;
    symcache_hint_print_file(value, &script->place);
    hints[0] = '\0';
    (void)symcache_hint_add(hints, SYMCACHE_HINT_SCRIPT, value, strlen(value));
    if (map != NULL) {
        symcache_hint_print_file(value, &map->place);
        (void)symcache_hint_add(hints, SYMCACHE_HINT_MAP, value,
                                strlen(value));
    }
    cache = want_file(files, &key, hints);
    return cache != NULL ? cache->module : NULL;
}

bool js_wants_round(struct js_files *files, struct api_call *call)
{
    struct api_module *module;
    struct js_wants_round *round;
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
            module = each->module = &round->modules[round->round.nmodules++];
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

static void take_wanted_properties(const struct api_module *module,
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

void js_want_take(struct js_file *file, struct js_want *want)
{
    const struct api_module *module = want != NULL ? want->module : NULL;

    if (want != NULL && module == NULL) {
        file->state = JS_FILE_PENDING;
    } else if (module != NULL && module->state == API_MODULE_FOUND) {
        file->state = JS_FILE_FOUND;
        file->want = want;
        file->digest = module->digest;
        symcache_key_copy(&file->place.key, &module->key);
        file->text = (struct symc_string){module->reader->bytes.data != NULL
                                              ? module->reader->bytes.data
                                              : "",
                                          module->reader->bytes.size};
        take_wanted_properties(module, file);
    } else {
        file->state = JS_FILE_MISSING;
    }
}

const struct js_comments *js_want_comments(struct js_files *files,
                                           const struct js_file *file)
{
    static const struct js_comments none;
    struct js_want *want = file->want;
    struct symc_string *map;

    if (want != NULL && !want->is_read) {
        want->is_read = true;
        want->comments = (struct js_comments){
            js_source_mapping_url(file->text.data, file->text.size),
            js_debug_id(file->text.data, file->text.size)};
        map = &want->comments.map;
        if (map->data != NULL && js_is_data_url(*map) &&
            !js_want_reads_data(files, *map)) {
            *map = (struct symc_string){NULL, 0};
        }
    }
    return want != NULL ? &want->comments : &none;
}

bool js_want_is_utf8(const struct js_file *file)
{
    struct js_want *want = file->want;

    if (want != NULL && !want->is_checked) {
        want->is_checked = true;
        want->is_utf8 =
            utf8_valid(file->text.data, file->text.size) == file->text.size;
    }
    return want == NULL || want->is_utf8;
}

bool js_want_reads_data(struct js_files *files, struct symc_string url)
{
    uint64_t hash = table_hash_number(&files->data_urls, (uintptr_t)url.data);
    size_t size, at = 0;
    uintptr_t known = table_next(&files->data_urls, hash, &at);
    char *text;

    if (known == 0) {
        text = malloc(url.size + 1);
        files->has_failed = files->has_failed || text == NULL;
        known = text != NULL && js_data_url_read(url, text, &size) ? 2 : 1;
        free(text);
        (void)table_add(&files->data_urls, hash, known);
    }
    return known == 2;
}

void js_wants_free(struct js_files *files)
{
    struct js_want *want;
    size_t i;

    for (i = 0; i < files->urls.num_slots; i++) {
        free((struct js_url *)files->urls.slots[i].value);
    }
    table_free(&files->urls);
    while ((want = files->wants) != NULL) {
        files->wants = want->next;
        if (want->module != NULL) {
            free(want->module->hints);
        }
        free(want->hints);
        free(want);
    }
    table_free(&files->wants_by_key);
}
