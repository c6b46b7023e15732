/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tenants.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "tier.h"

#define MIB (1024ULL * 1024)
#define TIB (1024 * 1024 * MIB)
#define DAY (24u * 60 * 60)

/* Is it as a URL has it, such as "h:80" and "[::1]:80"? */
static bool is_tenants_host(const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t digits;

    if (colon == NULL || colon == text || strpbrk(text, "/@?#\\ ") != NULL ||
        (text[0] != '[' && strchr(text, ':') != colon)) {
        return false;
    }
    digits = strspn(colon + 1, "0123456789");
    return digits > 0 && digits <= 5 && colon[1] != '0' &&
           colon[1 + digits] == '\0' && strtoul(colon + 1, NULL, 10) <= 65535;
}

static int read_tenants_hosts(struct config_reader *r, const cJSON *item,
                              const struct config_field *field, void *at)
{
    struct tenants_config *tenants = at;
    const cJSON *child;
    const char *text;

    if (!cJSON_IsArray(item)) {
        return field_error(r, item,
                           "must be a list such as [\"sym.corp:8080\"]");
    }
    tenants->hosts = calloc((size_t)cJSON_GetArraySize(item) + 1,
                            sizeof(tenants->hosts[0]));
    if (tenants->hosts == NULL) {
        return field_error(r, item, "out of memory");
    }
    for (child = item->child; child != NULL; child = child->next) {
        text = field_text(r, child, "\"sym.corp:8080\"");
        if (text == NULL) {
            return -1;
        }
        if (!is_tenants_host(text)) {
            return field_error(r, child, "must be a host and its port");
        }
        tenants->hosts[tenants->nhosts] = strdup(text);
        if (tenants->hosts[tenants->nhosts++] == NULL) {
            return field_error(r, child, "out of memory");
        }
    }
    return 0;
}

/* A limit of releases in which the sockets of tenants were below the root. */
#define TENANTS_ROOT_MAX 64

static int read_root(struct config_reader *r, const cJSON *item,
                     const struct config_field *field, void *at)
{
    struct tenants_config *tenants = at;
    const struct config *config = r->config;
    size_t i;

    if (field_path(r, item, field, &tenants->root) != 0) {
        return -1;
    }
    if (strlen(tenants->root) > TENANTS_ROOT_MAX) {
        return field_error(r, item,
                           "is longer than %d bytes, which is too long for "
                           "the socket in it",
                           TENANTS_ROOT_MAX);
    }
    for (i = 0; i < config->nstores; i++) {
        if (config_paths_overlap(config->stores[i].root, tenants->root)) {
            return field_error(r, item, "overlaps the root of store \"%s\"",
                               config->stores[i].name);
        }
    }
    if (config->uploads.root != NULL &&
        config_paths_overlap(config->uploads.root, tenants->root)) {
        return field_error(r, item, "overlaps the root of \"uploads\"");
    }
    return config_paths_overlap(config->downloads, tenants->root)
               ? field_error(r, item, "overlaps \"downloads\"")
               : 0;
}

/*
 * Names of guests' stores are an HMAC with a key of the fleet, so that nobody
 * else can tell or try where the files of a client are.  The tier's process is
 * another one, without our environment.
 */
static int read_tenants_tier(struct config_reader *r, const cJSON *item,
                             const struct config_field *field, void *at)
{
    struct tier_config **tier = at;

    if (config_store_tier(r, item, field, at) != 0 || *tier == NULL) {
        return r->types == NULL ? 0 : -1;
    }
    if ((*tier)->kind == TIER_SYMCACHE) {
        return field_error(r, item,
                           "is another SymCache server, which has "
                           "no files of clients' sources");
    }
    if ((*tier)->mac_key == NULL) {
        return field_error(r, item,
                           "has no \"mac_key\", with which names "
                           "of clients' stores are made there");
    }
    return strstr((*tier)->written, "\"$") != NULL
               ? field_error(r, item,
                             "has variables of the environment, "
                             "where clients' sources need \"@\" "
                             "and a file")
               : 0;
}

#define TENANTS(name, type, min, max)                                         \
    {                                                                         \
#name, field_##type, offsetof(struct tenants_config, name), min, max, \
            0                                                                 \
    }

static const struct config_field tenants_fields[] = {
    {"root", read_root, 0, 0, 0, 0},
    TENANTS(count, count, 1, 100000),
    TENANTS(size, size, MIB, 1024 * TIB),
    TENANTS(public_size, size, MIB, 1024 * TIB),
    TENANTS(idle, duration, 60, DAY),
    {"hosts", read_tenants_hosts, 0, 0, 0, 0},
    {"tier", read_tenants_tier, offsetof(struct tenants_config, tier), 0, 0,
     0},
};

int config_tenants(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    return field_object(r, item, tenants_fields, COUNT(tenants_fields), at);
}

bool tenants_are_same(const struct tenants_config *x,
                      const struct tenants_config *y)
{
    size_t i;

    if (!config_same_text(x->root, y->root) || x->count != y->count ||
        x->size != y->size || x->public_size != y->public_size ||
        x->idle != y->idle || x->nhosts != y->nhosts ||
        !config_same_text(x->tier != NULL ? x->tier->name : NULL,
                          y->tier != NULL ? y->tier->name : NULL)) {
        return false;
    }
    for (i = 0; i < x->nhosts; i++) {
        if (strcmp(x->hosts[i], y->hosts[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* The port that a URL leaves out, with its colon; "" if it says one itself.  n
 * is the length of its host. */
static const char *tenants_usual_port(const char *url, const char *host,
                                      size_t n)
{
    if (n == 0 || (host[n - 1] != ']' && memchr(host, ':', n) != NULL)) {
        return "";
    }
    return strncasecmp(url, "http:", 5) == 0    ? ":80"
           : strncasecmp(url, "https:", 6) == 0 ? ":443"
                                                : "";
}

bool tenants_may_reach(const struct tenants_config *config, const char *url)
{
    const char *host = strchr(url, ':'), *port;
    size_t i, n;

    /* libcurl takes "http:/a/" for "http://a/", so what is not written in full
     * may have another host than the one after "://" */
    if (host == NULL || strncmp(host, "://", 3) != 0) {
        return false;
    }
    host += 3;
    n = strcspn(host, "/?#");
    port = tenants_usual_port(url, host, n);
    for (i = 0; i < config->nhosts; i++) {
        if (strncasecmp(config->hosts[i], host, n) == 0 &&
            strcmp(config->hosts[i] + n, port) == 0) {
            return true;
        }
    }
    return false;
}

void tenants_clear(struct tenants_config *tenants)
{
    while (tenants->nhosts > 0) {
        free(tenants->hosts[--tenants->nhosts]);
    }
    free(tenants->hosts);
    free(tenants->root);
}
