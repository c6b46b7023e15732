/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tenant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash_table.h"
#include "json/json.h"
#include "symbolicated/store_roots.h"

#define NAME_SIZE 32 /* hex digits */
#define PATH_SIZE 64

/* A store is made in a moment, and many wait for the ones before. */
#define PATIENCE_SECONDS 15

struct tenant *tenant_ref(struct tenant *tenant)
{
    if (tenant != NULL) {
        atomic_fetch_add(&tenant->refs, 1);
    }
    return tenant;
}

void tenant_unref(struct tenant *tenant)
{
    size_t i;

    if (tenant == NULL || atomic_fetch_sub(&tenant->refs, 1) > 1) {
        return;
    }
    for (i = 0; i < tenant->nstores; i++) {
        close(tenant->roots[i]);
    }
    free(tenant->texts);
    free(tenant);
}

struct symcached_client *tenant_ask(struct event_base *base,
                                    const struct settings *settings,
                                    const char *text, size_t size,
                                    exchange_fn fn, void *arg)
{
    struct evbuffer *body = evbuffer_new();
    struct symcached_client *client = NULL;

    if (body != NULL && evbuffer_add(body, text, size) == 0) {
        client =
            symcached_client_start(base, &settings->guests, "POST /v1/tenants",
                                   body, PATIENCE_SECONDS, fn, arg);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
    return client;
}

/* Appends a text with its NUL. */
static char *put_tenant_text(char **at, const char *text, size_t size)
{
    char *start = *at;

    memcpy(start, text, size);
    start[size] = '\0';
    *at += size + 1;
    return start;
}

/* Reads the names of a store's sources, each after ",". */
static bool read_tenant_sources(struct tenant *tenant, const struct json *json,
                                uint32_t list, char **at)
{
    uint32_t i;

    if (list == 0 || json->values[list].type != JSON_ARRAY) {
        return false;
    }
    tenant->sources[tenant->nstores] = *at;
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        if (json->values[i].type != JSON_STRING) {
            return false;
        }
        *(*at)++ = ',';
        put_tenant_text(at, json_text(json, i), json->values[i].size);
        (*at)--; /* the next one is after it */
    }
    *(*at)++ = '\0';
    return true;
}

/* A store, whose name is a part of paths, in hex digits. */
static bool read_store(struct tenant *tenant, const struct settings *settings,
                       const struct json *json, uint32_t store, char **at)
{
    uint32_t name = json_member(json, store, "name");
    size_t n = tenant->nstores;
    char path[PATH_SIZE];

    if (n == TENANT_STORES_MAX || name == 0 ||
        json->values[name].type != JSON_STRING ||
        json->values[name].size != NAME_SIZE) {
        return false;
    }
    tenant->names[n] = put_tenant_text(at, json_text(json, name), NAME_SIZE);
    if (strspn(tenant->names[n], "0123456789abcdef") != NAME_SIZE ||
        !read_tenant_sources(tenant, json, json_member(json, store, "sources"),
                             at)) {
        return false;
    }
    tenant->numbers[n] =
        -2 - (int)(table_hash(0, tenant->names[n], NAME_SIZE) & 0x3FFFFFFF);
    snprintf(path, sizeof(path), "%s/store", tenant->names[n]);
    tenant->roots[n] =
        openat(settings->tenants, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    tenant->nstores += tenant->roots[n] != -1;
    return tenant->roots[n] != -1;
}

static bool read_stores(struct tenant *tenant, const struct settings *settings,
                        const struct json *json)
{
    uint32_t list = json_member(json, 0, "tenants"), i;
    char *at = tenant->texts;

    if (list == 0 || json->values[list].type != JSON_ARRAY) {
        return false;
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        if (json->values[i].type != JSON_OBJECT ||
            !read_store(tenant, settings, json, i, &at)) {
            return false;
        }
    }
    return tenant->nstores > 0;
}

struct tenant *tenant_open(const struct settings *settings,
                           struct evbuffer *answer)
{
    char text[TENANT_ANSWER_MAX];
    ssize_t size =
        answer != NULL ? evbuffer_copyout(answer, text, sizeof(text)) : -1;
    struct tenant *tenant = size > 0 ? calloc(1, sizeof(*tenant)) : NULL;
    struct json json = {0};
    struct json_error error;

    if (tenant == NULL) {
        return NULL;
    }
    atomic_init(&tenant->refs, 1);
    /* each text of it has two quotes, so there is room for "," and NUL */
    tenant->texts = malloc((size_t)size);
    if (tenant->texts == NULL ||
        json_read(&json, text, (size_t)size, TENANT_ANSWER_MAX / 2, &error) ==
            0 ||
        !read_stores(tenant, settings, &json)) {
        store_root_check(settings->tenants);
        tenant_unref(tenant);
        tenant = NULL;
    }
    json_free(&json);
    return tenant;
}

/* hints ------------------------------------------------------------------- */

/* Is a name, up to ":", one of the sources of a store? */
static bool tenant_has_source(const char *sources, const char *name)
{
    size_t len = strcspn(name, ":");

    while (*sources == ',') {
        sources++;
        if (strncmp(sources, name, len) == 0 &&
            (sources[len] == ',' || sources[len] == '\0')) {
            return true;
        }
        sources += strcspn(sources, ",");
    }
    return false;
}

static size_t count_tenant_sources(const char *sources)
{
    size_t n = 0;

    for (; *sources != '\0'; sources++) {
        n += *sources == ',';
    }
    return n;
}

/* Leaves the store's own names in a list of names; none if all of them are
 * asked for all.  Returns false if there are none. */
static bool filter_tenant_sources(const char *sources, char *names)
{
    char *rest = names, *to = names, *name;
    size_t n = 0, len;
    bool is_whole = true;

    while ((name = strsep(&rest, ",")) != NULL) {
        if (!tenant_has_source(sources, name)) {
            continue;
        }
        len = strlen(name);
        is_whole = is_whole && strchr(name, ':') == NULL;
        if (n++ > 0) {
            *to++ = ',';
        }
        memmove(to, name, len);
        to += len;
    }
    *to = '\0';
    if (is_whole && n == count_tenant_sources(sources)) {
        *names = '\0';
    }
    return n > 0;
}

bool tenant_hints(const struct tenant *tenant, size_t store, const char *hints,
                  char own[SYMCACHE_HINTS_MAX + 1])
{
    char value[SYMCACHE_URL_MAX + 1];
    int i;

    own[0] = '\0';
    for (i = 0; hints != NULL && i < SYMCACHE_HINTS; i++) {
        if (i == SYMCACHE_HINT_URL) {
            symcache_hint_get_url(hints, value);
        } else {
            symcache_hint_get(hints, (symcache_hint_e)i, value);
        }
        if (i == SYMCACHE_HINT_SOURCES && value[0] != '\0' &&
            !filter_tenant_sources(tenant->sources[store], value)) {
            return false;
        }
        if (value[0] != '\0') {
            (void)symcache_hint_add(own, (symcache_hint_e)i, value,
                                    strlen(value));
        }
    }
    return true;
}
