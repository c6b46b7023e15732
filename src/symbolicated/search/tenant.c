/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tenant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "json/json.h"

#define NAME_SIZE 32 /* hex digits */
#define PATH_SIZE 256

/* A tenant starts in a moment, and is given ten seconds. */
#define PATIENCE_SECONDS 15

struct tenant *tenant_new(const struct tenant *other)
{
    struct tenant *tenant = calloc(1, sizeof(*tenant));

    if (tenant != NULL) {
        tenant->root = -1;
    }
    if (tenant != NULL && other != NULL && other->root != -1) {
        tenant->helper = other->helper;
        tenant->root = fcntl(other->root, F_DUPFD_CLOEXEC, 0);
    }
    return tenant;
}

void tenant_free(struct tenant *tenant)
{
    if (tenant != NULL && tenant->root != -1) {
        close(tenant->root);
    }
    free(tenant);
}

struct exchange *tenant_ask(struct event_base *base,
                            const struct settings *settings, const char *text,
                            size_t size, exchange_fn fn, void *arg)
{
    struct evbuffer *body = evbuffer_new();
    struct exchange *exchange = NULL;

    if (body != NULL && evbuffer_add(body, text, size) == 0) {
        exchange = exchange_start(base, &settings->helper, "POST /v1/tenants",
                                  body, PATIENCE_SECONDS, fn, arg);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
    return exchange;
}

/* The name, which becomes a part of paths, in hex digits. */
static bool read_name(char name[NAME_SIZE + 1], struct evbuffer *answer)
{
    char text[TENANT_ANSWER_MAX];
    ssize_t size = evbuffer_copyout(answer, text, sizeof(text));
    struct json json = {0};
    struct json_error error;
    uint32_t value = 0;
    bool is_good = false;

    if (size > 0 && json_read(&json, text, (size_t)size, 64, &error) != 0) {
        value = json_member(&json, 0, "tenant");
    }
    if (value != 0 && json.values[value].type == JSON_STRING &&
        json.values[value].size == NAME_SIZE) {
        memcpy(name, json_text(&json, value), NAME_SIZE);
        name[NAME_SIZE] = '\0';
        is_good = strspn(name, "0123456789abcdef") == NAME_SIZE;
    }
    json_free(&json);
    return is_good;
}

bool tenant_open(struct tenant *tenant, const struct settings *settings,
                 struct evbuffer *answer)
{
    const char *root =
        settings->symbolication->symbolicator.tenants.root;
    char name[NAME_SIZE + 1], path[PATH_SIZE];

    if (answer == NULL || !read_name(name, answer)) {
        return false;
    }
    snprintf(path, sizeof(path), "unix:%s/%s/sock", root, name);
    exchange_address(&tenant->helper, path, NULL);
    tenant->helper.is_tenant = true;
    snprintf(path, sizeof(path), "%s/store", name);
    tenant->root =
        openat(settings->tenants, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return tenant->root != -1;
}
