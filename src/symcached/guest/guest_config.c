/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guest_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symcached/source/sources.h"

static void guest_add_path(cJSON *object, const char *name, const char *scheme,
                           const char *folder, const char *file)
{
    char text[PATH_MAX];

    snprintf(text, sizeof(text), "%s%s/%s", scheme, folder, file);
    cJSON_AddStringToObject(object, name, text);
}

static void guest_add_text(cJSON *object, const char *name, const char *format,
                           unsigned long long number)
{
    char text[32];

    snprintf(text, sizeof(text), format, number);
    cJSON_AddStringToObject(object, name, text);
}

/*
 * Copies a text that may be a secret, so that it is read as it is: "$" would
 * be the name of a variable, and "@/" that of a file, of which nothing is a
 * client's business.
 */
static bool guest_add_secret(cJSON *to, const char *name, const char *text)
{
    char *written, *p;

    if (strncmp(text, "@/", 2) == 0) {
        return false;
    }
    p = written = malloc(2 * strlen(text) + 1);
    if (written == NULL) {
        return false;
    }
    for (; *text != '\0'; text++) {
        *p++ = *text;
        if (*text == '$') {
            *p++ = '$';
        }
    }
    *p = '\0';
    cJSON_AddStringToObject(to, name, written);
    explicit_bzero(written, strlen(written));
    free(written);
    return true;
}

static bool guest_add_headers(cJSON *item, const cJSON *headers)
{
    cJSON *to = cJSON_AddObjectToObject(item, "headers");
    const cJSON *header;
    bool good = cJSON_IsObject(headers);

    cJSON_ArrayForEach(header, headers)
    {
        good = good && cJSON_IsString(header) &&
               guest_add_secret(to, header->string, header->valuestring);
    }
    return good;
}

/* Only these members are taken over, and none of them is read as the name of a
 * file or a variable. */
static bool guest_add_members(cJSON *item, const cJSON *source)
{
    static const struct {
        const char *name;
        bool is_secret;
    } members[] = {
        {"type", false},      {"url", false},          {"layout", false},
        {"casing", false},    {"bucket", false},       {"prefix", false},
        {"region", false},    {"endpoint", false},     {"access_key", true},
        {"secret_key", true}, {"client_email", false}, {"private_key", true},
        {"token", true},      {"cookies", true},
    };
    const cJSON *value = cJSON_GetObjectItem(source, "headers");
    bool good = value == NULL || guest_add_headers(item, value);
    size_t i;

    for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        value = cJSON_GetObjectItem(source, members[i].name);
        if (value == NULL) {
            continue;
        }
        if (!cJSON_IsString(value)) {
            return false;
        }
        if (!members[i].is_secret) {
            cJSON_AddStringToObject(item, members[i].name, value->valuestring);
        } else {
            good = good &&
                   guest_add_secret(item, members[i].name, value->valuestring);
        }
    }
    return good;
}

static const char *guest_text_of(const cJSON *source, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(source, name));
}

/* One of the types that a client may have: not of paths of this machine. */
static bool guest_is_type(const char *type)
{
    return strcmp(type, "http") == 0 || strcmp(type, "s3") == 0 ||
           strcmp(type, "gcs") == 0 || strcmp(type, "sentry") == 0 ||
           strcmp(type, "web") == 0;
}

static bool guest_add_source(const struct tenants_config *tenants,
                             cJSON *sources, cJSON *names, const cJSON *source)
{
    static const char *const forms[] = {"packed", "plain"};
    const char *name = guest_text_of(source, "name"),
               *type = guest_text_of(source, "type");
    const char *layout = guest_text_of(source, "layout");
    const char *endpoint = guest_text_of(source, "endpoint");
    const char *bucket = guest_text_of(source, "bucket");
    const char *url =
        endpoint != NULL ? endpoint : guest_text_of(source, "url");
    cJSON *item;

    if (name == NULL || type == NULL || !guest_is_type(type) ||
        (layout == NULL && strcmp(type, "sentry") != 0 &&
         strcmp(type, "web") != 0)) {
        return false;
    }
    item = cJSON_AddObjectToObject(sources, name);
    if (!guest_add_members(item, source)) {
        return false;
    }
    if (url != NULL && tenants_may_reach(tenants, url)) {
        cJSON_AddStringToObject(item, "internal", "origin");
    }
    if (strcmp(type, "s3") == 0 &&
        (endpoint != NULL || (bucket != NULL && strchr(bucket, '.')))) {
        cJSON_AddTrueToObject(item, "path_style");
    }
    if (layout != NULL && strcmp(layout, "unified") != 0 &&
        strcmp(layout, "debuginfod") != 0 &&
        strcmp(layout, "slashsymbols") != 0) {
        cJSON_AddItemToObject(item, "forms",
                              cJSON_CreateStringArray(forms, 2));
    }
    cJSON_AddItemToArray(names, cJSON_CreateString(name));
    return true;
}

/* Hosts that files at URLs may be at, although they are internal ones. */
static void guest_add_hosts(cJSON *root, const struct tenants_config *tenants)
{
    cJSON *hosts = cJSON_AddArrayToObject(
        cJSON_AddObjectToObject(
            cJSON_AddObjectToObject(
                cJSON_AddObjectToObject(root, "symbolication"),
                "symbolicator"),
            "tenants"),
        "hosts");
    size_t i;

    for (i = 0; i < tenants->nhosts; i++) {
        cJSON_AddItemToArray(hosts, cJSON_CreateString(tenants->hosts[i]));
    }
}

/* The tier of all stores, as the operator's file has it. */
static void guest_add_tier(cJSON *root, const struct tier_config *tier)
{
    cJSON *tenants = cJSON_GetObjectItem(
        cJSON_GetObjectItem(cJSON_GetObjectItem(root, "symbolication"),
                            "symbolicator"),
        "tenants");

    cJSON_AddItemToObject(cJSON_AddObjectToObject(root, "tiers"), tier->name,
                          cJSON_Parse(tier->written));
    cJSON_AddStringToObject(tenants, "tier", tier->name);
}

/* Settings that are the same for one store and for all. */
static cJSON *guest_add_times(cJSON *root, const struct limits_config *l)
{
    cJSON *limits = cJSON_AddObjectToObject(root, "limits");

    guest_add_text(limits, "download_time", "%llus", l->download_time);
    guest_add_text(limits, "connect_time", "%llus", l->connect_time);
    guest_add_text(limits, "first_byte_time", "%llus", l->first_byte_time);
    guest_add_text(limits, "first_byte_patience", "%llus",
                   l->first_byte_patience);
    guest_add_text(limits, "stall_time", "%llus", l->stall_time);
    cJSON_AddNumberToObject(limits, "attempts", l->attempts);
    cJSON_AddNumberToObject(limits, "breaker_failures", l->breaker_failures);
    guest_add_text(limits, "breaker_window", "%llus", l->breaker_window);
    guest_add_text(limits, "breaker_pause", "%llus", l->breaker_pause);
    guest_add_text(limits, "transcode_time", "%llus", l->transcode_time);
    guest_add_text(limits, "transcode_memory", "%llu", l->transcode_memory);
    return limits;
}

static void guest_add_limits(cJSON *root, const struct guest_settings *with)
{
    const struct limits_config *l = with->limits;
    cJSON *limits = guest_add_times(root, l);
    cJSON *cache = cJSON_AddObjectToObject(root, "cache");

    cJSON_AddNumberToObject(limits, "downloads",
                            with->is_public ? l->downloads : 4);
    cJSON_AddNumberToObject(limits, "transcodes",
                            with->is_public ? l->transcodes : 1);
    cJSON_AddNumberToObject(limits, "queue",
                            with->is_public ? l->queue : 1000);
    /* a body is never larger than all that a store may have */
    guest_add_text(limits, "download_size", "%llu",
                   l->download_size < with->size ? l->download_size
                                                 : with->size);
    /* half of it, so that there is always room for what is asked for next */
    guest_add_text(cache, "max_size", "%llu", with->size / 2);
    guest_add_text(cache, "total_size", "%llu", with->size);
}

static cJSON *guest_add_transcoder(cJSON *transcoders, const char *version)
{
    static const char *const command[] = {"pdb2symcache", "-pdb", "{pdb}"};
    cJSON *transcoder = cJSON_CreateObject();

    cJSON_AddStringToObject(transcoder, "version", version);
    cJSON_AddItemToObject(transcoder, "command",
                          cJSON_CreateStringArray(command, 3));
    cJSON_AddItemToArray(transcoders, transcoder);
    return transcoder;
}

cJSON *guest_settings(const struct guest_settings *with, const char *folder,
                      const char *name, const cJSON *list)
{
    static const char *const inputs[] = {"pdb", "breakpad", "pe",
                                         "elf", "macho",    "wasm"};
    const cJSON *source;
    cJSON *root = cJSON_CreateObject(), *store, *sources, *names, *transcoders;
    bool good = true;

    guest_add_path(root, "downloads", "", folder, "downloads");
    store =
        cJSON_AddObjectToObject(cJSON_AddObjectToObject(root, "stores"), name);
    guest_add_path(store, "root", "", folder, "store");
    transcoders = cJSON_AddArrayToObject(store, "transcoders");
    cJSON_AddItemToObject(
        guest_add_transcoder(transcoders, "9.0.0"), "inputs",
        cJSON_CreateStringArray(inputs, sizeof(inputs) / sizeof(inputs[0])));
    cJSON_AddStringToObject(guest_add_transcoder(transcoders, "1.0.0"),
                            "makes", "ppdbcache");
    names = cJSON_AddArrayToObject(store, "sources");
    sources = cJSON_AddObjectToObject(root, "sources");
    cJSON_ArrayForEach(source, list)
    {
        good = good && guest_add_source(with->tenants, sources, names, source);
    }
    guest_add_limits(root, with);
    guest_add_hosts(root, with->tenants);
    if (!good) {
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

cJSON *guest_process_settings(const struct config *config)
{
    const struct tenants_config *tenants =
        &config->symbolication.symbolicator.tenants;
    const struct limits_config *l = &config->limits;
    cJSON *root = cJSON_CreateObject(), *limits;

    guest_add_path(root, "listen", "unix:", tenants->root, GUEST_SOCKET);
    guest_add_path(root, "downloads", "", tenants->root,
                   GUEST_FOLDER "/downloads");
    /* a helper has a store; in this one nobody looks */
    guest_add_path(cJSON_AddObjectToObject(
                       cJSON_AddObjectToObject(root, "stores"), "none"),
                   "root", "", tenants->root, GUEST_FOLDER "/store");
    limits = guest_add_times(root, l);
    cJSON_AddNumberToObject(limits, "downloads", l->downloads);
    cJSON_AddNumberToObject(limits, "transcodes", l->transcodes);
    cJSON_AddNumberToObject(limits, "queue", l->queue);
    guest_add_text(limits, "download_size", "%llu", l->download_size);
    guest_add_hosts(root, tenants);
    if (tenants->tier != NULL) {
        guest_add_tier(root, tenants->tier);
    }
    return root;
}

struct config *guest_read_settings(const cJSON *settings, int *fd, char *error,
                                   size_t size)
{
    struct config *config = NULL;
    char *text = cJSON_PrintUnformatted(settings), file[64];
    size_t len = text != NULL ? strlen(text) : 0;

    snprintf(error, size, "out of memory or descriptors");
    *fd = text != NULL ? memfd_create("symcached.json", MFD_CLOEXEC) : -1;
    snprintf(file, sizeof(file), "/proc/self/fd/%d", *fd);
    if (*fd != -1 && write(*fd, text, len) == (ssize_t)len &&
        config_read(file, source_types, &config, error, size) != 0) {
        config = NULL;
    }
    if (text != NULL) {
        explicit_bzero(text, len);
    }
    free(text);
    return config;
}
