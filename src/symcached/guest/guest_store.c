/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guest_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fd_close.h"

#include "symcached/source/sources.h"
#include "symcached/space/space.h"
#include "symcached/tier/tier.h"

/* Gives a source the headers of a request.  No key of the configuration does
 * this, as no operator's header may go where a client says. */
static int guest_store_add_headers(struct source_config *source,
                                   const cJSON *headers)
{
    struct transport_config *transport = &source->transport;
    struct header_config *header;
    const cJSON *item;

    if (!cJSON_IsObject(headers) || transport->headers != NULL) {
        return -1;
    }
    transport->headers =
        calloc((size_t)cJSON_GetArraySize(headers) + 1, sizeof(*header));
    if (transport->headers == NULL) {
        return -1;
    }
    source->is_scraper = true;
    cJSON_ArrayForEach(item, headers)
    {
        header = &transport->headers[transport->nheaders];
        header->name = cJSON_IsString(item) ? strdup(item->string) : NULL;
        if (header->name == NULL) {
            return -1;
        }
        transport->nheaders++;
        header->value = strdup(item->valuestring);
        if (header->value == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Takes "scraped_headers" of sources of the type web, see guests_ask(). */
static int guest_store_take_scraped(struct config *config, const cJSON *list)
{
    const cJSON *item, *headers;
    const char *name;
    size_t i;

    cJSON_ArrayForEach(item, list)
    {
        headers = cJSON_GetObjectItem(item, "scraped_headers");
        name = cJSON_GetStringValue(cJSON_GetObjectItem(item, "name"));
        for (i = 0; headers != NULL && i < config->nsources; i++) {
            if (strcmp(config->sources[i].name, name) == 0 &&
                (strcmp(config->sources[i].type->name, "web") != 0 ||
                 guest_store_add_headers(&config->sources[i], headers) != 0)) {
                return -1;
            }
        }
    }
    return 0;
}

static struct config *
guest_store_read_config(const struct guest_settings *with, const char *folder,
                        const char *name, const cJSON *list, char *error,
                        size_t size, bool *is_wrong)
{
    cJSON *settings = guest_settings(with, folder, name, list);
    struct config *config;
    int fd = -1;

    *is_wrong = settings == NULL;
    if (settings == NULL) {
        snprintf(error, size, "the sources cannot be used");
        return NULL;
    }
    config = guest_read_settings(settings, &fd, error, size);
    *is_wrong = config == NULL && fd != -1;
    fd_close(fd);
    cJSON_Delete(settings);
    if (config != NULL && guest_store_take_scraped(config, list) != 0) {
        snprintf(error, size, "out of memory, or headers that are none");
        config_unref(config);
        config = NULL;
    }
    return config;
}

static int start_store(struct guest_store *store,
                       const struct guest_context *context,
                       struct conversion_slots_party *party, char *error,
                       size_t size)
{
    store->sources = sources_new(context->base, context->tiers);
    if (store->sources == NULL || total_add(store->config) != 0) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    store->scheduler = scheduler_new(context->base, store->sources,
                                     context->tiers, store->config);
    if (store->scheduler == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    scheduler_share(store->scheduler, &store->turn, context->turns, party);
    return scheduler_configure(store->scheduler, store->config, error, size);
}

struct guest_store *guest_store_open(const struct guest_context *context,
                                     const struct guest_settings *with,
                                     const char *folder, const char *name,
                                     const cJSON *list,
                                     struct conversion_slots_party *party,
                                     char *error, size_t size, bool *is_wrong)
{
    struct guest_store *store = calloc(1, sizeof(*store));

    *is_wrong = false;
    if (store == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    store->config = guest_store_read_config(with, folder, name, list, error,
                                            size, is_wrong);
    if (store->config != NULL) {
        store->config->stores[0].tier = context->tier;
    }
    if (store->config == NULL ||
        start_store(store, context, party, error, size) != 0) {
        guest_store_close(store);
        return NULL;
    }
    return store;
}

void guest_store_close(struct guest_store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->scheduler != NULL) {
        scheduler_stop(store->scheduler);
        tiers_leave(scheduler_get_tiers(store->scheduler),
                    &store->config->stores[0]);
        conversion_slot_leave(&store->turn);
        scheduler_free(store->scheduler);
    }
    if (store->sources != NULL) {
        sources_free(store->sources);
    }
    if (store->config != NULL) {
        total_remove(store->config);
    }
    config_unref(store->config);
    free(store);
}
