/*
 * Copyright (C) the ngx_symcache authors
 *
 * The modules that "warm" asks for, each once and in the order in which they
 * were named, and the outcome of each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symcachectl/files/identity.h"

enum module_outcome {
    MODULE_NOT_ASKED = 0,
    MODULE_CACHED,
    MODULE_MISSING, /* the helper knows that it does not exist */
    MODULE_FAILED,  /* the helper could not tell */
    MODULE_OUTCOMES
};

struct warm_module {
    struct warm_module *next; /* in the list of those that wait */
    uint64_t due; /* when a waiting one is asked for again, in ms */
    enum module_outcome outcome;
    unsigned tries;
    char *detail; /* JSON of the places where it was looked for, or NULL */
    char *reason; /* or NULL */
    char version[24];
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    char code_id[SYMCACHE_ID_TEXT_MAX + 1]; /* or "" */
    char name[];                            /* as it was named */
};

struct warm_modules {
    struct warm_module **items;
    size_t count;
    size_t room;
    size_t repeated; /* number of those that were named again */
    void *tree;
};

void warm_modules_add(struct warm_modules *modules,
                      const struct identity *identity);

size_t warm_modules_count(const struct warm_modules *modules,
                          enum module_outcome outcome);

/* "cached", "missing", "failed", "not asked": API */
const char *warm_modules_outcome(enum module_outcome outcome);
