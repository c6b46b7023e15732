/*
 * Copyright (C) the ngx_symcache authors
 */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_roots.h"

/* Returns false with a sentence in error. */
static bool settings_open_all(struct settings *settings, bool locked,
                              char *error, size_t size)
{
    const struct symbolication_config *s = settings->symbolication;
    const struct symbolicator_config *symbolicator = &s->symbolicator;
    char whose[128], address[128];
    size_t i;

    for (i = 0; i < s->nstores; i++) {
        snprintf(whose, sizeof(whose), "store \"%s\"", s->stores[i]->name);
        settings->roots[i] =
            store_root_open(s->stores[i]->root, whose, locked, error, size);
        if (settings->roots[i] == -1) {
            return false;
        }
    }
    settings->tenants = -1;
    if (symbolicator->enabled &&
        symbolicator->sources == SYMBOLICATOR_SOURCES_ALLOW) {
        settings->tenants = store_root_open(symbolicator->tenants.root,
                                            "tenants", locked, error, size);
        snprintf(address, sizeof(address), "unix:%s/sock",
                 symbolicator->tenants.root);
        symcached_client_address(&settings->guests, address, NULL);
        settings->guests.is_tenant = true;
        return settings->tenants != -1;
    }
    return true;
}

struct settings *settings_new(struct config *config, bool locked, char *error,
                              size_t size)
{
    const struct symbolication_config *s = &config->symbolication;
    struct settings *settings;

    settings =
        calloc(1, sizeof(*settings) + s->nstores * sizeof(settings->roots[0]));
    if (settings == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    atomic_init(&settings->refs, 1);
    settings->config = config_ref(config);
    settings->symbolication = s;
    symcached_client_address(&settings->helper, config->listen,
                             config->listen_token);
    if (!settings_open_all(settings, locked, error, size)) {
        settings_unref(settings);
        return NULL;
    }
    return settings;
}

struct settings *settings_ref(struct settings *settings)
{
    atomic_fetch_add(&settings->refs, 1);
    return settings;
}

void settings_unref(struct settings *settings)
{
    if (settings != NULL && atomic_fetch_sub(&settings->refs, 1) == 1) {
        config_unref(settings->config);
        explicit_bzero(&settings->helper, sizeof(settings->helper));
        free(settings);
    }
}
