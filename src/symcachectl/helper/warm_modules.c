/*
 * Copyright (C) the ngx_symcache authors
 */

#include "warm_modules.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "symcachectl/command.h"

static int warm_modules_compare(const void *left, const void *right)
{
    const struct warm_module *a = left, *b = right;
    int rc = strcmp(a->id, b->id);

    return rc != 0 ? rc : strcasecmp(a->name, b->name);
}

static struct warm_module *make_module(const struct identity *identity)
{
    size_t size = strlen(identity->name) + 1;
    struct warm_module *module = calloc(1, sizeof(*module) + size);

    if (module == NULL) {
        command_no_memory();
    }
    memcpy(module->name, identity->name, size);
    memcpy(module->id, identity->id, sizeof(module->id));
    memcpy(module->code_id, identity->code_id, sizeof(module->code_id));
    return module;
}

void warm_modules_add(struct warm_modules *modules,
                      const struct identity *identity)
{
    struct warm_module *module = make_module(identity), **found, **items;

    found = tsearch(module, &modules->tree, warm_modules_compare);
    if (found == NULL) {
        command_no_memory();
    }
    if (*found != module) {
        free(module);
        modules->repeated++;
        return;
    }
    if (modules->count == modules->room) {
        modules->room = 2 * modules->room + 256;
        items = reallocarray(modules->items, modules->room, sizeof(*items));
        if (items == NULL) {
            command_no_memory();
        }
        modules->items = items;
    }
    modules->items[modules->count++] = module;
}

size_t warm_modules_count(const struct warm_modules *modules,
                          enum module_outcome outcome)
{
    size_t i, n;

    n = 0;
    for (i = 0; i < modules->count; i++) {
        n += modules->items[i]->outcome == outcome;
    }
    return n;
}

const char *warm_modules_outcome(enum module_outcome outcome)
{
    static const char *const names[] = {"not asked", "cached", "missing",
                                        "failed"};

    return names[outcome];
}
