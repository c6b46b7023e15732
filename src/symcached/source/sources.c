/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fd_close.h"

#include "lookup_steps.h"
#include "sentry_list.h"

static void sources_on_freed(void *arg)
{
    struct sources *sources = arg;

    if (sources->freed != NULL) {
        sources->freed(sources->freed_arg);
    }
}

void sources_watch(struct sources *sources, void (*freed)(void *arg),
                   void *arg)
{
    sources->freed = freed;
    sources->freed_arg = arg;
}

struct sources *sources_new(struct event_base *base, struct tiers *tiers)
{
    struct sources *sources = calloc(1, sizeof(*sources));

    if (sources == NULL) {
        return NULL;
    }

    sources->base = base;
    sources->tiers = tiers;
    sources->fetcher = fetcher_new(base, sources_on_freed, sources);
    if (sources->fetcher == NULL) {
        free(sources);
        return NULL;
    }

    sources->hosts = fetcher_hosts(sources->fetcher);
    return sources;
}

const char *source_place(const struct source_config *source)
{
    return source->url != NULL    ? source->url
           : source->path != NULL ? source->path
                                  : "any URL";
}

static void memory_drop(struct source_memory **at)
{
    struct source_memory *memory = *at;

    *at = memory->next;
    sentry_lists_free(memory->lists);
    fd_close(memory->index);
    free(memory);
}

/* Compares name and place, since a name may be given to another server. */
static bool memory_is_of(const struct source_memory *memory,
                         const struct source_config *source)
{
    return strcmp(memory->name, source->name) == 0 &&
           strcmp(memory->place, source_place(source)) == 0;
}

static bool memory_is_wanted(const struct source_memory *memory,
                             const struct config *config)
{
    size_t i;

    for (i = 0; i < config->nsources; i++) {
        if (memory_is_of(memory, &config->sources[i])) {
            return true;
        }
    }
    return false;
}

void sources_keep(struct sources *sources, const struct config *config)
{
    struct source_memory **at = &sources->memories;

    while (*at != NULL) {
        if (memory_is_wanted(*at, config)) {
            at = &(*at)->next;
        } else {
            memory_drop(at);
        }
    }
    hosts_keep(sources->hosts, config);
    fetcher_keep(sources->fetcher, config);
}

void sources_free(struct sources *sources)
{
    while (sources->memories != NULL) {
        memory_drop(&sources->memories);
    }
    fetcher_free(sources->fetcher);
    free(sources);
}

struct source_memory *sources_memory(struct sources *sources,
                                     const struct source_config *source)
{
    const char *place = source_place(source);
    struct source_memory *memory;
    size_t size = strlen(source->name) + strlen(place) + 2;

    for (memory = sources->memories; memory != NULL; memory = memory->next) {
        if (memory_is_of(memory, source)) {
            return memory;
        }
    }

    memory = calloc(1, sizeof(*memory) + size);
    if (memory != NULL) {
        snprintf(memory->name, size, "%s", source->name);
        memory->place = memory->name + strlen(source->name) + 1;
        memcpy(memory->place, place, strlen(place) + 1);
        memory->index = -1;
        memory->next = sources->memories;
        sources->memories = memory;
    }
    return memory;
}

unsigned source_variants(struct sources *sources,
                         const struct source_config *source)
{
    struct source_memory *memory = sources_memory(sources, source);

    return memory != NULL ? layout_answered(&memory->layout) : 0;
}

bool source_busy(const struct sources *sources, const struct config *config,
                 const struct source_config *source)
{
    return source->origin != NULL &&
           host_busy(sources->hosts, source->origin, &config->limits);
}

cJSON *source_host(const struct sources *sources,
                   const struct source_config *source)
{
    return source->origin != NULL ? host_json(sources->hosts, source->origin)
                                  : NULL;
}

void sources_print(const struct sources *sources, struct evbuffer *buf)
{
    hosts_print(sources->hosts, buf);
}
