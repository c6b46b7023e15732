/*
 * Copyright (C) the ngx_symcache authors
 *
 * The block "debug" of v5.  Eliot's words for what happens here: a cache
 * lookup is a look at the disk, a download is what was not there.
 */
#include "symbolicate_call.h"

#include <stdio.h>

static void debug_write_seconds(struct json_writer *debug, uint64_t usec)
{
    char text[32];

    json_put_raw(
        debug, "time", text,
        (size_t)snprintf(text, sizeof(text), "%.6f", (double)usec / 1e6));
}

/* Modules whose state is known; by index of group. */
static const struct api_module *
debug_module_at(const struct mozilla_call *call, uint32_t group)
{
    uint32_t module = call->groups[group].module;

    return module != MOZILLA_NONE ? &call->base.round->modules[module] : NULL;
}

/* An entry of each group, as its text is needed. */
static const struct mozilla_entry *
debug_next_entry(const struct mozilla_call *call, uint32_t *i, uint32_t *group)
{
    const struct mozilla_entry *entry;

    for (; *i < call->nentries; (*i)++) {
        entry = &call->entries[*i];
        if (call->groups[entry->group].first == *i) {
            *group = entry->group;
            (*i)++;
            return entry;
        }
    }
    return NULL;
}

static void debug_write_module_map(struct mozilla_call *call,
                                   struct json_writer *debug, const char *key,
                                   bool found, bool sizes)
{
    const struct api_module *module;
    const struct mozilla_entry *entry;
    uint32_t i = 0, group;
    bool any = false;
    char text[32];
    int n;

    while ((entry = debug_next_entry(call, &i, &group)) != NULL) {
        module = debug_module_at(call, group);
        if (module == NULL || !module->missed ||
            (module->state == API_MODULE_FOUND) != found) {
            continue;
        }
        if (!any) {
            any = true;
            json_put_open(debug, key, '{');
        }
        mozilla_write_name(call, debug, entry);
        n = sizes ? snprintf(text, sizeof(text), "%llu",
                             (unsigned long long)module->size)
                  : snprintf(text, sizeof(text), "%.6f",
                             (double)module->usec / 1e6);
        json_write_raw(debug, text, (size_t)n);
    }
    if (any) {
        json_write_close(debug, '}');
    }
}

static void debug_write_cache_lookups(const struct mozilla_call *call,
                                      struct json_writer *debug)
{
    uint64_t usec = 0;
    size_t i, hits = 0;

    for (i = 0; i < call->base.round->nmodules; i++) {
        if (!call->base.round->modules[i].missed &&
            call->base.round->modules[i].state == API_MODULE_FOUND) {
            hits++;
            usec += call->base.round->modules[i].usec;
        }
    }
    json_put_open(debug, "cache_lookups", '{');
    json_put_number(debug, "count", call->base.round->nmodules);
    if (call->base.round->nmodules > 0) {
        json_put_number(debug, "hits", hits);
    }
    debug_write_seconds(debug, usec);
    json_write_close(debug, '}');
}

static void debug_write_downloads(struct mozilla_call *call,
                                  struct json_writer *debug)
{
    const struct api_module *module;
    uint64_t size = 0, usec = 0;
    size_t i, count = 0;

    for (i = 0; i < call->base.round->nmodules; i++) {
        module = &call->base.round->modules[i];
        count += module->missed;
        if (module->missed && module->state == API_MODULE_FOUND) {
            size += module->size;
            usec += module->usec;
        }
    }
    json_put_open(debug, "downloads", '{');
    json_put_number(debug, "count", count);
    debug_write_module_map(call, debug, "size_per_module", true, true);
    debug_write_module_map(call, debug, "time_per_module", true, false);
    debug_write_module_map(call, debug, "fail_time_per_module", false, false);
    json_put_number(debug, "size", size);
    debug_write_seconds(debug, usec);
    json_write_close(debug, '}');
}

static void debug_write_modules(struct mozilla_call *call,
                                struct json_writer *debug)
{
    const struct mozilla_entry *entry;
    uint32_t i = 0, group;
    uint64_t count = 0;
    bool any = false;

    for (group = 0; group < call->ngroups; group++) {
        count += debug_module_at(call, group) != NULL
                     ? call->groups[group].jobs
                     : 0;
    }
    json_put_open(debug, "modules", '{');
    json_put_number(debug, "count", count);
    while ((entry = debug_next_entry(call, &i, &group)) != NULL) {
        if (debug_module_at(call, group) == NULL) {
            continue;
        }
        if (!any) {
            any = true;
            json_put_open(debug, "stacks_per_module", '{');
        }
        mozilla_write_name(call, debug, entry);
        json_write_number(debug, call->groups[group].jobs);
    }
    if (any) {
        json_write_close(debug, '}');
    }
    json_write_close(debug, '}');
}

void mozilla_write_debug(struct mozilla_call *call, struct json_writer *debug)
{
    uint64_t usec = 0;
    const struct api_round *round = call->base.round;
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        usec = round->modules[i].usec > usec ? round->modules[i].usec : usec;
    }
    json_put_open(debug, "debug", '{');
    debug_write_cache_lookups(call, debug);
    debug_write_downloads(call, debug);
    debug_write_seconds(debug, usec);
    debug_write_modules(call, debug);
    json_put_open(debug, "parse_sym", '{');
    json_put_number(debug, "time", 0);
    json_write_close(debug, '}');
    json_put_open(debug, "save_symcache", '{');
    json_put_number(debug, "time", 0);
    json_write_close(debug, '}');
    json_write_close(debug, '}');
}
